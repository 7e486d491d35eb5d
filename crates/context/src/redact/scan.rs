//! Finds many fixed texts in one pass: a table of their first three letters, then a look at each.
//!
//! Letters are told apart by class alone (case is folded), so the table fits the nearest cache and
//! nearly every place of a harmless text is passed over by one lookup.

use super::table::Anchor;

/// One fixed text and what it announces.
#[derive(Clone, Debug)]
struct Pattern {
    literal: Vec<u8>,
    anchor: Anchor,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scanner {
    /// One bit for each three classes in a row.
    filter: Vec<u64>,
    /// How many bits are set before each word of the filter.
    ranks: Vec<usize>,
    /// Where the patterns of each set bit begin in `buckets`, and where the last ones end.
    starts: Vec<usize>,
    /// By the first three classes of a pattern, sorted.
    buckets: Vec<(u32, usize)>,
    patterns: Vec<Pattern>,
}

/// A fixed text that stands at `start`.
pub(super) struct Hit<'s> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) anchor: &'s Anchor,
}

const CLASS_BITS: u32 = 6;
const GRAM_BITS: u32 = 3 * CLASS_BITS;
const GRAM_MASK: u32 = (1 << GRAM_BITS) - 1;

impl Scanner {
    /// Every text has at least two bytes.
    pub(super) fn new(literals: impl IntoIterator<Item = (Vec<u8>, Anchor)>) -> Self {
        let patterns = literals.into_iter().map(|(literal, anchor)| Pattern { literal, anchor });
        Self { patterns: patterns.collect(), ..Self::default() }.indexed()
    }

    /// The same, and these too.
    pub(super) fn with(&self, literals: impl IntoIterator<Item = (Vec<u8>, Anchor)>) -> Self {
        let mine =
            self.patterns.iter().map(|pattern| (pattern.literal.clone(), pattern.anchor.clone()));
        Self::new(mine.chain(literals))
    }

    fn indexed(mut self) -> Self {
        let grams_of = |(at, pattern): (usize, &Pattern)| {
            grams(&pattern.literal).into_iter().map(move |gram| (gram, at))
        };
        self.buckets = self.patterns.iter().enumerate().flat_map(grams_of).collect();
        self.buckets.sort_unstable();
        self.filter = vec![0; 1 << (GRAM_BITS - 6)];
        let mut before = None;
        for (at, (gram, _)) in self.buckets.iter().enumerate() {
            if before.replace(*gram) != Some(*gram) {
                self.starts.push(at);
            }
            if let Some(word) = self.filter.get_mut(*gram as usize >> 6) {
                *word |= 1 << (gram & 63);
            }
        }
        self.starts.push(self.buckets.len());
        let mut rank = 0;
        for word in &self.filter {
            self.ranks.push(rank);
            rank += word.count_ones() as usize;
        }
        self
    }

    /// Calls `see` with every pattern at every place, in the order of places.
    pub(super) fn each<'s>(&'s self, text: &str, mut see: impl FnMut(Hit<'s>)) {
        let bytes = text.as_bytes();
        let mut gram = 0;
        for (last, byte) in bytes.iter().enumerate() {
            gram = (gram << CLASS_BITS | class(*byte)) & GRAM_MASK;
            let word = self.filter.get(gram as usize >> 6).copied().unwrap_or_default();
            let bit = 1 << (gram & 63);
            if word & bit != 0
                && let Some(start) = last.checked_sub(2)
            {
                let rank = self.ranks.get(gram as usize >> 6).copied().unwrap_or_default();
                let rank = rank + (word & (bit - 1)).count_ones() as usize;
                self.look(bytes, start, rank, &mut see);
            }
        }
    }

    fn look<'s>(&'s self, bytes: &[u8], start: usize, rank: usize, see: &mut impl FnMut(Hit<'s>)) {
        let place = |rank: usize| self.starts.get(rank).copied().unwrap_or_default();
        let bucket = self.buckets.get(place(rank)..place(rank + 1)).unwrap_or_default();
        for pattern in bucket.iter().filter_map(|(_, pattern)| self.patterns.get(*pattern)) {
            let end = start + pattern.literal.len();
            if let Some(found) = bytes.get(start..end)
                && pattern.is(found)
            {
                see(Hit { start, end, anchor: &pattern.anchor });
            }
        }
    }
}

impl Pattern {
    fn is(&self, found: &[u8]) -> bool {
        match self.anchor {
            Anchor::Known => found == self.literal,
            _ => found.eq_ignore_ascii_case(&self.literal),
        }
    }
}

/// The classes a text may begin with; a text of two bytes may be followed by anything.
fn grams(literal: &[u8]) -> Vec<u32> {
    let [first, second] = [0, 1].map(|at| literal.get(at).copied().map_or(0, class));
    let start = first << (2 * CLASS_BITS) | second << CLASS_BITS;
    match literal.get(2) {
        Some(third) => vec![start | class(*third)],
        None => (0..1 << CLASS_BITS).map(|third| start | third).collect(),
    }
}

/// Letters by themselves, digits by themselves, and the signs that tokens are made of.
#[expect(clippy::indexing_slicing, reason = "a byte is always within 256 places")]
const fn class(byte: u8) -> u32 {
    CLASSES.0[byte as usize] as u32
}

struct Classes([u8; 256]);

static CLASSES: Classes = Classes(classes());

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated by the compiler, which checks it; all counts are small"
)]
const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut letter = 0;
    while letter < 26 {
        table[b'a' as usize + letter] = 1 + letter as u8;
        table[b'A' as usize + letter] = 1 + letter as u8;
        letter += 1;
    }
    let mut digit = 0;
    while digit < 10 {
        table[b'0' as usize + digit] = 27 + digit as u8;
        digit += 1;
    }
    let signs = *b"_-.:/~= +%\"\\,;<>@#&()";
    let mut sign = 0;
    while sign < signs.len() {
        table[signs[sign] as usize] = 37 + sign as u8;
        sign += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(literals: &[&str], text: &str) -> Vec<(usize, usize)> {
        let known = |literal: &&str| (literal.as_bytes().to_vec(), Anchor::Known);
        let scanner = Scanner::new(literals.iter().map(known));
        let mut hits = Vec::new();
        scanner.each(text, |hit| hits.push((hit.start, hit.end)));
        hits
    }

    #[test]
    fn the_first_and_the_last_places_count() {
        assert_eq!(found(&["abc"], "abc"), [(0, 3)]);
        assert_eq!(found(&["ab"], "xab "), [(1, 3)]);
        assert_eq!(found(&["abc", "abcd", "bcd"], "abcd"), [(0, 3), (0, 4), (1, 4)]);
        assert_eq!(found(&["abc"], "ABC ab"), []);
    }

    proptest! {
        /// Not one is missed, wherever it stands.
        #[test]
        fn every_occurrence_is_found(
            literals in prop::collection::btree_set("[ab_é]{3,5}", 1..6), text in "[ab_é]{0,60}"
        ) {
            let literals: Vec<&str> = literals.iter().map(String::as_str).collect();
            let mut naive: Vec<_> = literals
                .iter()
                .flat_map(|l| (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(l.as_bytes())).map(|at| (at, at + l.len())))
                .collect();
            naive.sort_unstable();
            let mut hits = found(&literals, &text);
            hits.sort_unstable();
            prop_assert_eq!(hits, naive);
        }
    }
}
