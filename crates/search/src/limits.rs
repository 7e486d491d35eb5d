//! Bounds of ranking.

/// Words of one query that are looked at; the rest is ignored.
pub(crate) const QUERY_WORDS_MAX: usize = 64;
/// Characters of one document's description that are indexed.
pub(crate) const DESCRIPTION_CHARS_MAX: usize = 8_000;
