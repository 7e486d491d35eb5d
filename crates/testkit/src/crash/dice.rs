//! Chance that can be repeated: the same seed gives the same throws.

#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % end.max(1)
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let index = self.below(u64::try_from(from.len()).unwrap_or(1));
        from.get(usize::try_from(index).unwrap_or_default()).copied()
    }
}
