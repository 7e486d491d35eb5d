//! Decides which tools exist, what they are called and how they are shown.
//!
//! Pure: raw definitions in, an immutable [`Catalogue`] out, and from it cards, menus and answers
//! to browsing. Nothing here connects, waits or decides who may call; the caller says what is
//! allowed to be seen, and what is not seen leaves no trace in counts, hints or scores.

mod aliases;
pub mod browse;
pub mod cards;
pub mod cost;
pub mod deed;
pub mod departure;
pub mod drift;
pub mod entry;
mod features;
pub mod find;
pub mod generation;
pub mod hints;
mod indexed;
pub mod ingest;
pub mod limits;
pub mod menu;
pub mod names;
pub mod namespace;
mod near;
pub mod offering;
pub mod path;
pub mod providers;
#[cfg(test)]
mod real_catalogues;
pub mod schema;
pub mod selection;
pub mod shelf;
mod shown;
mod spread;
pub mod stable;
mod tally;
mod template;
pub mod tokens;

pub use browse::{Browse, Query};
pub use deed::Deed;
pub use entry::Entry;
pub use find::Look;
pub use generation::{Catalogue, Source};
pub use indexed::Meant;
pub use ingest::item_from_mcp_tool;
pub use menu::{Menu, Mode, menu};
pub use namespace::infer_namespace;
pub use offering::Offering;
pub use search::{Explanation, MeaningError, Table};
pub use shelf::{Extras, Shelf, Stand};
pub use shown::{Naming, Style};
pub use tally::Tally;
