//! Text into the rows of a static table: the normalising and the pieces of `BERT`, nothing else.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::limits;

/// The pieces a table knows, by text; pieces within a word are kept without their `##`.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    starts: Pieces,
    inner: Pieces,
    unknown: Option<u32>,
}

/// The pieces are fixed, so nobody can choose them to collide, and the plainest hash will do.
type Pieces = HashMap<Box<str>, u32, BuildHasherDefault<Fnv>>;

/// FNV-1a.
#[derive(Debug)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Vocabulary {
    pub(crate) fn new<'a>(pieces: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut vocabulary = Self::default();
        for (piece, row) in pieces {
            match piece.strip_prefix("##") {
                Some(inner) if !inner.is_empty() => vocabulary.inner.insert(inner.into(), row),
                _ => vocabulary.starts.insert(piece.into(), row),
            };
        }
        vocabulary.unknown = vocabulary.starts.get("[UNK]").copied();
        vocabulary
    }

    /// Leaves out words that are no pieces, instead of counting them all as one.
    pub(crate) fn without_unknown(self) -> Self {
        Self { unknown: None, ..self }
    }

    /// Pieces that can stand alone.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.starts.keys().map(AsRef::as_ref)
    }

    pub(crate) fn row(&self, word: &str) -> Option<u32> {
        self.starts.get(word).copied()
    }

    /// Whether a lower-case word is one piece.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.starts.contains_key(word)
    }

    /// The rows of a text in order, at most `TOKENS_MAX`.
    pub(crate) fn rows(&self, text: &str) -> Vec<u32> {
        let mut rows =
            if text.is_ascii() { self.rows_of_ascii(text) } else { self.rows_of_any(text) };
        rows.truncate(limits::TOKENS_MAX);
        rows
    }

    /// What stands between the words of a plain text: a mark counts, white space does not.
    pub(crate) fn mark(&self, mark: &str) -> Option<u32> {
        let counts = mark.len() == 1 && mark.bytes().all(|byte| byte.is_ascii_punctuation());
        counts.then(|| self.starts.get(mark).copied().or(self.unknown)).flatten()
    }

    /// The same as `rows_of_any`, without a copy of words in lower case.
    fn rows_of_ascii(&self, text: &str) -> Vec<u32> {
        let mut rows = Vec::with_capacity(text.len() / 4);
        let mut lower = String::new();
        let mut rest = text;
        while rows.len() < limits::TOKENS_MAX && !rest.is_empty() {
            let end = rest.bytes().position(|byte| !byte.is_ascii_alphanumeric());
            let (word, after) =
                rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or_default();
            if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
                lower.clear();
                lower.push_str(word);
                lower.make_ascii_lowercase();
                self.take(&lower, &mut rows);
            } else {
                self.take(word, &mut rows);
            }
            let (mark, after) = after.split_at_checked(1).unwrap_or_default();
            if mark.bytes().all(|byte| byte.is_ascii_punctuation()) {
                self.take(mark, &mut rows);
            }
            rest = after;
        }
        rows
    }

    fn rows_of_any(&self, text: &str) -> Vec<u32> {
        let mut rows = Vec::new();
        let mut word = String::new();
        for c in normal(text) {
            if c.is_alphanumeric() && !is_ideograph(c) {
                word.push(c);
                continue;
            }
            self.take(&word, &mut rows);
            word.clear();
            if !c.is_whitespace() && !c.is_control() {
                word.push(c);
                self.take(&word, &mut rows);
                word.clear();
            }
            if rows.len() >= limits::TOKENS_MAX {
                break;
            }
        }
        self.take(&word, &mut rows);
        rows
    }

    fn take(&self, word: &str, rows: &mut Vec<u32>) {
        const WORD_CHARS_MAX: usize = 100;
        if word.is_empty() {
            return;
        }
        if let Some(row) = self.starts.get(word) {
            rows.push(*row);
            return;
        }
        let before = rows.len();
        let whole = word.chars().count() <= WORD_CHARS_MAX && self.pieces(word, rows);
        if !whole {
            rows.truncate(before);
            rows.extend(self.unknown);
        }
    }

    /// Longest piece first; false when some part of the word is no piece at all.
    fn pieces(&self, word: &str, rows: &mut Vec<u32>) -> bool {
        let (mut rest, mut known) = (word, &self.starts);
        while !rest.is_empty() {
            let ends = rest.char_indices().rev().map(|(at, c)| at + c.len_utf8());
            let longest = ends
                .filter_map(|end| rest.split_at_checked(end))
                .find_map(|(piece, left)| known.get(piece).map(|row| (*row, left)));
            let Some((row, left)) = longest else { return false };
            rows.push(row);
            (rest, known) = (left, &self.inner);
        }
        true
    }
}

/// Lower case without accents.
fn normal(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase).nfd().filter(|c| !is_combining_mark(*c))
}

pub(crate) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vocabulary() -> Vocabulary {
        let pieces = ["[UNK]", "git", "##hub", "cafe", "-", "中"];
        Vocabulary::new(pieces.into_iter().zip(0_u32..))
    }

    #[test]
    fn words_come_apart_into_the_longest_pieces() {
        let check = |text: &str, rows: &[u32]| assert_eq!(vocabulary().rows(text), rows, "{text}");
        check("GitHub", &[1, 2]);
        check("git-hub", &[1, 4, 0]);
        check("Café", &[3]);
        check("中git", &[5, 1]);
        check("gitlab hub", &[0, 0]);
        check("", &[]);
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in any::<String>()) {
            prop_assert!(vocabulary().rows(&text).len() <= limits::TOKENS_MAX);
        }

        #[test]
        fn plain_text_reads_the_same_both_ways(text in "[ -~\t\n]{0,60}") {
            prop_assert_eq!(vocabulary().rows_of_ascii(&text), vocabulary().rows_of_any(&text));
        }
    }
}
