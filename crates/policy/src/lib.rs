//! Decides whether a call may be made. The only maker of a [`Permit`].
//!
//! Pure: facts come in, a verdict goes out. No I/O, no clock, no hints: what a server claims about
//! its own tools is not among the facts (CW-64).

pub mod decide;
pub mod facts;
pub mod grants;
pub mod permit;
pub mod question;
pub mod rules;

pub use decide::{Verdict, Way, decide, may_list};
pub use facts::Facts;
pub use permit::Permit;
pub use question::Question;
pub use rules::{PolicyError, Rules};
