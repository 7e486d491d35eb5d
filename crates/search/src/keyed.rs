//! A quick hash of words under a key that nobody outside knows.
//!
//! A word is looked up a hundred times for each tool that is read; the standard hash, which would
//! withstand more, takes longer than everything else done with it. Only where things lie in memory
//! hangs on it, never what is found.

use std::hash::{BuildHasher, Hasher, RandomState};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    seed: u64,
    factor: u64,
}

impl Default for Keyed {
    fn default() -> Self {
        let random = RandomState::new();
        Self { seed: random.hash_one(0), factor: random.hash_one(1) | 1 }
    }
}

impl BuildHasher for Keyed {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding { state: self.seed, factor: self.factor }
    }
}

pub(crate) struct Folding {
    state: u64,
    factor: u64,
}

impl Folding {
    /// Both halves of the product, so that every bit of the word reaches every bit of the state.
    fn take(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.factor);
        #[expect(clippy::cast_possible_truncation, reason = "one half, then the other")]
        let (low, high) = (product as u64, (product >> 64) as u64);
        self.state = low ^ high.rotate_left(23);
    }
}

impl Hasher for Folding {
    fn finish(&self) -> u64 {
        self.state
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.take(u64::from_le_bytes(*word));
        }
        // The length keeps a word apart from itself with zeros behind it.
        let length = (bytes.len() as u64) << 56;
        self.take(read(rest) | length);
    }

    fn write_u8(&mut self, byte: u8) {
        self.state ^= u64::from(byte);
    }
}

/// Up to eight bytes as a number, zeros for those that are missing.
fn read(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn words_that_differ_hash_apart_and_equal_ones_alike() {
        let keyed = Keyed::default();
        let words: Vec<String> =
            (0..20_000).map(|i| format!("{}{i}", "w".repeat(i % 19))).collect();
        let hashes: HashSet<u64> = words.iter().map(|word| keyed.hash_one(word.as_str())).collect();
        assert_eq!(hashes.len(), words.len());
        assert_eq!(keyed.hash_one("issue"), keyed.hash_one(String::from("issue")));
        assert_ne!(keyed.hash_one("a"), keyed.hash_one("a\0"));
    }
}
