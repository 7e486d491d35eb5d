//! Words one slip away from a word: a letter missing, added, changed, or two swapped.

/// Every known word under itself and under itself less one letter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spellings {
    words: Vec<Box<str>>,
    /// Keys with the words they stand for, in order.
    near: Vec<(u64, u32)>,
}

const WORD_BYTES: std::ops::RangeInclusive<usize> = 4..=24;

impl Spellings {
    pub(crate) fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut kept: Vec<Box<str>> = words.filter(|word| is_plain(word)).map(Box::from).collect();
        kept.sort_unstable();
        let numbered = (0_u32..).zip(&kept);
        let mut near: Vec<(u64, u32)> =
            numbered.flat_map(|(number, word)| keys(word).map(move |key| (key, number))).collect();
        near.sort_unstable();
        Self { words: kept, near }
    }

    /// Known words one slip from this one, in order of the alphabet.
    pub(crate) fn near(&self, word: &str) -> Vec<&str> {
        if !is_plain(word) {
            return Vec::new();
        }
        let mut numbers: Vec<u32> = keys(word).flat_map(|key| self.under(key)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let words =
            numbers.into_iter().filter_map(|number| self.words.get(usize::try_from(number).ok()?));
        words.map(AsRef::as_ref).filter(|other| strsim::osa_distance(word, other) == 1).collect()
    }

    fn under(&self, key: u64) -> impl Iterator<Item = u32> {
        let start = self.near.partition_point(|(other, _)| *other < key);
        let rest = self.near.get(start..).unwrap_or_default().iter();
        rest.take_while(move |(other, _)| *other == key).map(|(_, number)| *number)
    }
}

fn is_plain(word: &str) -> bool {
    WORD_BYTES.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// FNV-1a of the word and of the word without each of its letters.
fn keys(word: &str) -> impl Iterator<Item = u64> + '_ {
    let without = move |gap: Option<usize>| {
        let letters = word.bytes().enumerate().filter(move |(at, _)| Some(*at) != gap);
        letters.fold(0xcbf2_9ce4_8422_2325, |hash: u64, (_, byte)| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    std::iter::once(None).chain((0..word.len()).map(Some)).map(without)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_seen_through() {
        let words = ["weather", "leather", "refund", "list"].map(str::to_owned);
        let spellings = Spellings::new(words.iter().map(String::as_str));
        let check =
            |word: &str, expected: &[&str]| assert_eq!(spellings.near(word), expected, "{word}");
        check("wether", &["weather"]);
        check("waether", &["weather"]);
        check("weatherr", &["weather"]);
        check("heather", &["leather", "weather"]);
        check("rfnd", &[]);
        check("weather", &["leather"]);
        check("", &[]);
    }
}
