//! Lets the stages of a call meet. Read [`call`] first: it is the road.
//!
//! Nothing here knows a wire: `server` asks through [`Gateway`] and gets back only what
//! `context` has cleared.

pub mod admin;
pub mod browse;
pub mod call;
pub mod changes;
mod doubt;
pub mod gateway;
mod in_force;
pub mod lineage;
pub mod listing;
pub mod meaning;
mod memory;
pub mod news;
mod offers;
mod origins;
pub mod pace;
mod pins;
mod questions;
pub mod queue;
pub mod refresh;
mod remarks;
pub mod replay;
pub mod rounds;
pub mod runs;
pub mod sessions;
pub mod settings;
pub mod shift;
mod sights;
mod spans;
mod tasks;
mod tend;
mod unknown;
pub mod verbs;
pub mod view;
mod visits;

pub use call::{CallRequest, Done, Via, Watch};
pub use catalog::menu::Mode;
pub use changes::Change;
pub use context::{Cleared, Html, Profile, Redactor};
pub use gateway::{Gateway, Parts};
pub use lineage::{KnownTool, known_policy, known_tool};
pub use listing::{Page, Reader};
pub use meaning::{Heard, Meaning, Meanings};
pub use news::{News, Question};
pub use pace::{Rate, Rates};
pub use refresh::{Health, Refreshed, State};
pub use replay::{Replayed, Transcript, replay};
pub use rounds::bound_to;
pub use runs::RunLimits;
pub use sessions::Introduction;
pub use settings::{
    Critic, DriftRule, DriftRules, OnViolation, Output, Reads, RequireStructured, Search, Settings,
};
pub use shift::Shift;
pub use verbs::Verb;
