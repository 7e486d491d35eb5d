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
/// Numbers of one vector: more could overflow a sum of products of int8 and int16.
pub(crate) const DIMS_MAX: usize = 512;
/// Words of a query beyond which those that stand for themselves need no synonyms.
pub(crate) const SYNONYMS_WORDS_MAX: usize = 10;
