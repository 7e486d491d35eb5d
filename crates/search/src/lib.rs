//! Ranks tools for a query: words in, ordered hits out.
//!
//! No schemas, no cards, no policy. Who may see a document is asked of the caller, and a document
//! the caller may not see has no influence at all: not on the order, not on a score, not on which
//! words count as unknown.

mod index;
mod limits;
mod rank;
mod words;

pub use index::{Doc, Index};
pub use rank::{Hit, Ranking};
