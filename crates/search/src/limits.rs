//! Bounds of ranking.

/// Words of one query that are looked at; the rest is ignored.
pub(crate) const QUERY_WORDS_MAX: usize = 64;
/// Characters of one query; the rest is ignored.
pub(crate) const QUERY_CHARS_MAX: usize = 4_000;
/// Characters of one document's description that are indexed by word.
pub(crate) const DESCRIPTION_CHARS_MAX: usize = 8_000;
/// Characters of one document's description that take part in its meaning.
pub(crate) const MEANING_CHARS_MAX: usize = 1_000;
/// Characters of one document's parameter names that take part in its meaning.
pub(crate) const MEANING_PARAMS_CHARS_MAX: usize = 400;
/// Words that one unknown word may be a misspelling of.
pub(crate) const SPELLINGS_MAX: usize = 3;
/// Tokens of one text that take part in its meaning.
pub(crate) const TOKENS_MAX: usize = 512;
/// Numbers of one vector.
pub(crate) const DIMS_MAX: usize = 8_192;
/// Characters of one document that are given to an embedding from elsewhere.
pub(crate) const OUTSIDE_CHARS_MAX: usize = 1_200;
/// Words of a query beyond which those that stand for themselves need no synonyms.
pub(crate) const SYNONYMS_WORDS_MAX: usize = 10;
