//! Bounds that only this crate needs. Those shared with others stand in `model::limits`.

/// A fact is shorter than this; what is longer is no fact.
pub(crate) const FACT_CHARS_MAX: usize = 200;
/// Bytes that surely hold a whole summary, whatever its alphabet.
pub(crate) const SUMMARY_BYTES_MAX: usize = 4 * model::limits::SUMMARY_CHARS_MAX;
/// Binary parts of one answer that get an artifact each; the rest share one.
pub(crate) const BINARY_PARTS_MAX: usize = 16;
/// Fields of an image or sound beside its data.
pub(crate) const MEDIA_FIELDS_CHARS_MAX: usize = 1_000;
/// Keys, columns or views named to describe a large value.
pub(crate) const NAMES_MAX: usize = 10;
/// One such name.
pub(crate) const NAME_CHARS_MAX: usize = 40;
/// Keys named when a pointer leads nowhere.
pub(crate) const SIBLINGS_MAX: usize = 20;
/// Lines looked at before text is called CSV.
pub(crate) const CSV_SAMPLE_LINES: usize = 10;
/// Lines a proposed view shows of one end of a text.
pub(crate) const VIEW_LINES: usize = 20;
/// A longer key is not offered as a way to go.
pub(crate) const KEY_BYTES_MAX: usize = 200;
