//! Numbers that look random and are the same every time: invented weather, old ledger rows, tokens.

use model::canonical;

/// A number below `sides` that depends on `seed` alone; zero when there are no sides.
pub(super) fn roll(seed: &str, sides: u32) -> u32 {
    let hash = token(seed, 8);
    u32::from_str_radix(&hash, 16).unwrap_or_default().checked_rem(sides).unwrap_or_default()
}

/// `chars` hexadecimal characters that depend on `seed` alone.
pub(super) fn token(seed: &str, chars: usize) -> String {
    canonical::hash_bytes(seed.as_bytes()).chars().take(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_rolls_the_same_number() {
        assert_eq!(roll("Mumbai 2026-11-16", 1_000), roll("Mumbai 2026-11-16", 1_000));
        assert_ne!(token("a", 12), token("b", 12));
    }

    #[test]
    fn a_roll_stays_below_its_sides() {
        for seed in 0..200 {
            assert!(roll(&seed.to_string(), 6) < 6);
        }
        assert_eq!(roll("anything", 0), 0);
    }
}
