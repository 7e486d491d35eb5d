//! Bounds that only this crate needs. Those shared with others stand in `model::limits`.

/// A fact is shorter than this; what is longer is no fact.
pub(crate) const FACT_CHARS_MAX: usize = 200;
/// What one write can be on record to have changed.
pub(crate) const MUTATIONS_MAX: usize = 100;
/// What a summary is taken from: long enough that a secret at its end is seen whole.
pub(crate) const SUMMARY_SOURCE_CHARS: usize = 3 * model::limits::SUMMARY_CHARS_MAX;
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
/// Bytes looked at before text is called CSV.
pub(crate) const CSV_SAMPLE_BYTES: usize = 16 * 1024;
/// Lines a proposed view shows of one end of a text.
pub(crate) const VIEW_LINES: usize = 20;
/// A longer key is not offered as a way to go.
pub(crate) const KEY_BYTES_MAX: usize = 200;
/// Base64 in a field for it is passed over from this length on; a shorter text could be a token.
pub(crate) const OPAQUE_BYTES_MIN: usize = 1_024;
/// A shorter known secret would be found in every other word.
pub(crate) const KNOWN_SECRET_BYTES_MIN: usize = 6;
/// The value of a fact that is kept with it.
pub(crate) const EVIDENCE_CHARS_MAX: usize = 200;
/// Bytes of one page of a binary artifact.
pub(crate) const BINARY_VIEW_BYTES_MAX: usize = 1024 * 1024;
/// Lines shown around a match.
pub(crate) const GREP_CONTEXT_MAX: usize = 20;
/// Characters shown of one line.
pub(crate) const GREP_LINE_CHARS_MAX: usize = 400;
/// What a pattern may compile to.
pub(crate) const GREP_PROGRAM_BYTES_MAX: usize = 1024 * 1024;
/// How far down a large JSON value is described.
pub(crate) const SKETCH_DEPTH_MAX: usize = 4;
/// Fields of one object that are described.
pub(crate) const SKETCH_FIELDS_MAX: usize = 64;
/// Items of one list that may be shown.
pub(crate) const SKETCH_ITEMS_MAX: usize = 200;
/// Characters of such items altogether, and of a text among them.
pub(crate) const SKETCH_ITEM_CHARS_MAX: usize = 16_000;
/// Tokens of the frame around an excerpt: what is kept, and how to read on.
pub(crate) const FRAME_TOKENS: usize = 220;
