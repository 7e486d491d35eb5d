//! Ranks tools for a query: words in, ordered hits out.
//!
//! No schemas, no cards, no policy, no I/O. Who may see a document is asked of the caller, and a
//! document the caller may not see has no influence at all: not on the order, not on a score, not
//! on which words count as unknown.

mod doc;
mod embed;
mod explain;
mod glossary;
mod index;
mod keyed;
mod lexicon;
mod limits;
mod log;
mod names;
mod outside;
mod part;
mod query;
mod rank;
mod score;
mod sight;
mod spelling;
mod synonyms;
mod table;
mod twins;
mod wordpiece;
mod words;

pub use doc::{Doc, Field};
pub use explain::{Explanation, Reason};
pub use index::{Index, MeaningError};
pub use lexicon::Lexicon;
pub use part::Part;
pub use query::Via;
pub use rank::{Ask, Hit, Ranking};
pub use table::{Table, TableError};
pub use twins::Twin;
