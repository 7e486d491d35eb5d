//! Decides whether a call may be made. The only maker of a [`Permit`].
//!
//! Pure: facts come in, a verdict goes out. No I/O, no clock, no hints: what a server claims about
//! its own tools is not among the facts (CW-64).

pub mod cases;
pub mod decide;
pub mod facts;
pub mod grants;
mod needs;
mod owed;
pub mod permit;
pub mod question;
pub mod rules;
pub mod schema;
pub mod sight;

pub use decide::{Action, Verdict, Way, decide, may, may_list};
pub use facts::Facts;
pub use model::Spent;
pub use needs::DESTRUCTIVE;
pub use permit::Permit;
pub use question::{Question, freeze};
pub use rules::{PolicyError, Rules};
pub use sight::{Looks, Sight};
