//! The only maker of a [`Cleared`] answer: decides what a model may read.
//!
//! Two lanes leave here. The evidence lane (hash, blobs) holds what the upstream sent, unaltered;
//! the model lane (`Cleared`) holds a cleaned and sized copy. Pure: no I/O, no async, no clock;
//! storing the blobs and finding them again is the caller's work.

mod cleared;

pub mod brief;
pub mod session;

pub mod clear;
pub mod evidence;
pub mod keep;
pub mod normalise;
pub mod redact;
pub mod refuse;
pub mod resource;
pub mod sanitise;
pub mod tokens;
pub mod view;
pub mod window;

mod blob;
mod digest;
mod json;
mod limits;
mod shape;

pub use blob::Blob;
pub use brief::{Brief, BriefRules, Phase, brief};
pub use clear::{Clearing, Rules, Size, clear, raw_hash};
pub use cleared::Cleared;
pub use evidence::{Witness, evidence, mutation_refs};
pub use keep::{holds_secret, without_secrets};
pub use normalise::{Normalised, normalise};
pub use redact::Redactor;
pub use refuse::{lines, menu, pass, pass_error, refuse, say};
pub use resource::{ResourceRead, resource};
pub use sanitise::{Html, Profile, scrub};
pub use session::{SessionError, load_session};
pub use view::{parse_selector, view};
pub use window::{ContextStore, EventKind, SessionItem, WindowError};
