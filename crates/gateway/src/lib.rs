//! Lets the stages of a call meet. Read [`call`] first: it is the road.
//!
//! Nothing here knows a wire: `server` asks through [`Gateway`] and gets back only what
//! `context` has cleared.

pub mod admin;
pub mod browse;
pub mod call;
pub mod gateway;
pub mod pace;
pub mod settings;
pub mod verbs;
pub mod view;

pub use call::{CallRequest, Done, Via, Watch};
pub use catalog::menu::Mode;
pub use context::{Cleared, Html, Profile, Redactor};
pub use gateway::{Gateway, Parts, Refreshed};
pub use settings::{OnViolation, Output, Reads, RequireStructured, Settings};
pub use upstream::Progress;
pub use verbs::Verb;
