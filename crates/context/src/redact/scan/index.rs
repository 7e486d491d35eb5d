//! Which patterns may begin with four bytes: a bit for each hash, and the patterns behind it.
//!
//! Keys may share a bit, and bits a bucket, so a hit is a reason to look and no more; a key is never missed.

#[derive(Clone, Debug)]
pub(super) struct Index {
    bits: Box<[u64; WORDS]>,
    /// Where the patterns of each word of bits begin in `buckets`, and where the last ones end.
    starts: Vec<usize>,
    buckets: Vec<usize>,
}

/// 16 KB: half of the nearest cache.
const WORDS: usize = 1 << 11;

impl Index {
    pub(super) fn new(keys: impl IntoIterator<Item = (u32, usize)>) -> Self {
        let mut bits = Box::new([0_u64; WORDS]);
        let mut entries = Vec::new();
        for (key, at) in keys {
            let hash = hash(key);
            if let Some(word) = bits.get_mut(hash >> 6) {
                *word |= 1 << (hash & 63);
            }
            entries.push((hash >> 6, at));
        }
        entries.sort_unstable();
        entries.dedup();
        let start = |word: usize| entries.partition_point(|entry| entry.0 < word);
        let starts = (0..=WORDS).map(start).collect();
        Self { bits, starts, buckets: entries.into_iter().map(|(_, at)| at).collect() }
    }

    #[inline]
    pub(super) fn has(&self, key: u32) -> bool {
        let hash = hash(key);
        self.bits.get(hash >> 6).is_some_and(|word| word >> (hash & 63) & 1 != 0)
    }

    /// In the order they were given.
    pub(super) fn bucket(&self, key: u32) -> &[usize] {
        let word = hash(key) >> 6;
        let place = |word: usize| self.starts.get(word).copied().unwrap_or_default();
        self.buckets.get(place(word)..place(word + 1)).unwrap_or_default()
    }
}

/// So many bits that each hash has its word, without a check.
#[inline]
const fn hash(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> 15) as usize
}
