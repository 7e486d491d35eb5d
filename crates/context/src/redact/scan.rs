//! Finds many fixed texts in one pass: a table of how they begin, then a look at each.
//!
//! Case is folded by setting one bit of every byte, and no place waits for the one before it, so a
//! harmless text costs one lookup a byte. The few texts of two bytes would fill the table and are
//! searched for beside it.

mod index;
mod pairs;

use super::table::{Anchor, Shape};
use index::Index;
use pairs::{Pair, Pairs};

/// One fixed text and what it announces.
#[derive(Clone, Debug)]
struct Pattern {
    literal: Vec<u8>,
    anchor: Anchor,
    /// Letters count as they are written, not in either case.
    exact: bool,
    /// The first eight bytes, which bits of them count, and which are set first to fold case.
    head: u64,
    mask: u64,
    fold: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Scanner {
    /// By the first four bytes.
    index: Index,
    pairs: Vec<Pair>,
    patterns: Vec<Pattern>,
}

/// A fixed text that stands at `start`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit<'s> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) anchor: &'s Anchor,
}

/// Sets the bit in which small and capital letters differ; of signs this may make other signs.
const FOLD: u32 = 0x2020_2020;

impl Scanner {
    /// Every text has at least three bytes; at most [`pairs::MAX`] shapes have two.
    pub(super) fn new(literals: impl IntoIterator<Item = (Vec<u8>, Anchor)>) -> Self {
        let patterns: Vec<_> =
            literals.into_iter().map(|(literal, anchor)| Pattern::new(literal, anchor)).collect();
        let keyed = patterns.iter().enumerate();
        let keys =
            keyed.flat_map(|(at, pattern)| pattern.keys().into_iter().map(move |key| (key, at)));
        let index = Index::new(keys);
        let pairs = patterns.iter().filter_map(Pair::of).collect();
        Self { index, pairs, patterns }
    }

    /// The same, and these too.
    pub(super) fn with(&self, literals: impl IntoIterator<Item = (Vec<u8>, Anchor)>) -> Self {
        let mine =
            self.patterns.iter().map(|pattern| (pattern.literal.clone(), pattern.anchor.clone()));
        Self::new(mine.chain(literals))
    }

    /// Calls `see` with every pattern at every place, in the order of places.
    ///
    /// A token of two or three bytes is passed over where it cannot go on.
    pub(super) fn each<'s>(&'s self, text: &str, mut see: impl FnMut(Hit<'s>)) {
        let bytes = text.as_bytes();
        let mut pairs = Pairs::new(&self.pairs, bytes);
        for (start, window) in bytes.windows(4).enumerate() {
            let begins = window.first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
            if self.index.has(begins | FOLD) {
                pairs.up_to(start, &mut see);
                self.look(bytes, start, &mut see);
            }
        }
        let last = bytes.len().saturating_sub(3);
        for (start, begins) in (last..).zip(ends(bytes.get(last..).unwrap_or_default())) {
            if self.index.has(begins | FOLD) {
                pairs.up_to(start, &mut see);
                self.look(bytes, start, &mut see);
            }
        }
        pairs.up_to(usize::MAX, &mut see);
    }

    fn look<'s>(&'s self, bytes: &[u8], start: usize, see: &mut impl FnMut(Hit<'s>)) {
        let begins = first_eight(bytes.get(start..).unwrap_or_default());
        for at in self.index.bucket(low_half(begins) | FOLD) {
            if let Some(pattern) = self.patterns.get(*at)
                && pattern.stands(begins, bytes, start)
            {
                let end = start + pattern.literal.len();
                see(Hit { start, end, anchor: &pattern.anchor });
            }
        }
    }
}

impl Pattern {
    fn new(literal: Vec<u8>, anchor: Anchor) -> Self {
        let exact = match anchor {
            Anchor::Known | Anchor::Shape(Shape { exact_case: true, .. }) => true,
            Anchor::Shape(_) | Anchor::Name(_) | Anchor::Phrase(_) => false,
        };
        let mask = u64::MAX >> (8 * 8_usize.saturating_sub(literal.len()));
        let bit = |byte: u8| if byte.is_ascii_alphabetic() && !exact { 0x20 } else { 0 };
        let fold = first_eight(&literal.iter().map(|byte| bit(*byte)).collect::<Vec<_>>());
        let head = first_eight(&literal) | fold;
        Self { literal, anchor, exact, head, mask, fold }
    }

    /// What a text that begins with this one may begin with, folded.
    fn keys(&self) -> Vec<u32> {
        let key = low_half(first_eight(&self.literal)) | FOLD;
        match self.literal.len() {
            // Sought as a pair.
            2 => Vec::new(),
            3 => {
                let fourth = |next: u32| key & 0x00FF_FFFF | (next | 0x20) << 24;
                (0..=u8::MAX)
                    .filter(|next| self.goes_on(*next))
                    .map(u32::from)
                    .map(fourth)
                    .collect()
            }
            _ => vec![key],
        }
    }

    const fn goes_on(&self, next: u8) -> bool {
        match self.anchor {
            Anchor::Shape(shape) => shape.least == 0 || shape.alphabet.has(next),
            Anchor::Name(_) | Anchor::Phrase(_) | Anchor::Known => true,
        }
    }

    #[inline]
    fn stands(&self, begins: u64, bytes: &[u8], start: usize) -> bool {
        (begins | self.fold) & self.mask == self.head && self.ends(bytes, start)
    }

    /// Whether what the first eight bytes do not tell is there, too.
    fn ends(&self, bytes: &[u8], start: usize) -> bool {
        let Some(found) = bytes.get(start..start + self.literal.len()) else { return false };
        match (found.get(8..), self.literal.get(8..)) {
            (Some(found), Some(rest)) if self.exact => found == rest,
            (Some(found), Some(rest)) => found.eq_ignore_ascii_case(rest),
            _ => true,
        }
    }
}

/// What stands at each of the last three places, with zeros behind the end.
fn ends(last: &[u8]) -> impl Iterator<Item = u32> {
    let begins = low_half(first_eight(last));
    (0..last.len()).map(move |place| begins >> (8 * place))
}

/// Zeros stand for what is behind the end.
fn first_eight(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[expect(clippy::cast_possible_truncation, reason = "the other half is not asked for")]
const fn low_half(word: u64) -> u32 {
    word as u32
}

#[cfg(test)]
mod tests;
