//! Whether a run of characters was drawn at random rather than written by a person.

use std::sync::LazyLock;

/// Letters and digits, small and capital, that keep taking turns: words, dates, paths and version numbers do not.
pub(super) fn is_random(text: &str) -> bool {
    is_random_by(text, 2.5)
}

/// The same, with at least so many bits per character.
pub(super) fn is_random_by(text: &str, bits: f64) -> bool {
    let is_varied = || is_surely_varied(text.as_bytes(), bits) || entropy(text) >= bits;
    is_restless(text.as_bytes()) && !is_date(text) && is_varied()
}

/// Bits per character.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u16; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
    }
    let total = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    // Each is counted once, at its first place; texts this is asked about are short.
    let weight = |byte: u8| {
        let count = counts.get_mut(usize::from(byte)).map(std::mem::take).unwrap_or_default();
        weight(usize::from(count))
    };
    total.log2() - text.bytes().map(weight).sum::<f64>() / total
}

/// Whether so many different characters have as much entropy however often each comes.
///
/// It is least when one of them comes as often as it can, and all others once.
fn is_surely_varied(bytes: &[u8], bits: f64) -> bool {
    const DOUBT: f64 = 1e-6;
    let (mut low, mut high, mut all) = (0_u64, 0_u64, 0);
    for byte in bytes {
        let bit = 1 << (byte & 63);
        let upper = u64::from(byte >> 6 & 1).wrapping_neg();
        low |= bit & !upper;
        high |= bit & upper;
        all |= byte;
    }
    let different = (low.count_ones() + high.count_ones()) as usize;
    let total = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let spread = weight(bytes.len()) - weight(bytes.len() + 1 - different);
    // Beyond ASCII two bytes could share a bit.
    all.is_ascii() && different > 0 && spread >= (bits + DOUBT) * total
}

/// What a character that comes so often takes from the entropy.
fn weight(count: usize) -> f64 {
    static WEIGHTS: LazyLock<Vec<f64>> = LazyLock::new(|| (0..=256).map(weigh).collect());
    WEIGHTS.get(count).copied().unwrap_or_else(|| weigh(count))
}

fn weigh(count: usize) -> f64 {
    let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if count > 1.0 { count * count.log2() } else { 0.0 }
}

/// Letters and digits take turns three times, or those and small and capital letters very often.
fn is_restless(bytes: &[u8]) -> bool {
    let (mut digits, mut capitals) = (0, 0);
    let mut last = None;
    for byte in bytes.iter().filter(|byte| byte.is_ascii_alphanumeric()) {
        let kind = (byte.is_ascii_digit(), byte.is_ascii_uppercase());
        if let Some((digit, capital)) = last.replace(kind) {
            digits += usize::from(digit != kind.0);
            capitals += usize::from(capital != kind.1);
        }
        if digits >= 3 {
            return true;
        }
    }
    5 * (digits + capitals) >= 2 * bytes.len() + bytes.len() / 10
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    digits(0..4) && bytes.get(4) == Some(&b'-') && digits(5..7) && bytes.get(7) == Some(&b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_dates_and_versions_are_not_random() {
        let check = |text: &str, random: bool| assert_eq!(is_random(text), random, "{text}");
        check("a1b2c3d4e5f6a7b8", true);
        check("3f2504e0-4f89-11d3-9a0c-0305e82c3301", true);
        check("your-api-key-goes-here", false);
        check("2026-11-16T01:27:16Z", false);
        check("claude-sonnet-4", false);
        check("aaaaaaaaaaaaaaaa1b1b1b", false);
        check("1234567890123456", false);
        check("CFZTuaCpCWboGeP", true);
        check("getHttpResponseCodeOrElse", false);
    }

    /// The plain formula, character by character.
    fn is_random_plainly(text: &str) -> bool {
        let turns = |kind: fn(&u8) -> bool| {
            let of_token = text.as_bytes().iter().filter(|byte| byte.is_ascii_alphanumeric());
            let kinds: Vec<_> = of_token.map(kind).collect();
            kinds.windows(2).filter(|pair| pair[0] != pair[1]).count()
        };
        let (digits, capitals) = (turns(u8::is_ascii_digit), turns(u8::is_ascii_uppercase));
        let often = 5 * (digits + capitals) >= 2 * text.len() + text.len() / 10;
        !is_date(text) && (digits >= 3 || often) && entropy_plainly(text) >= 2.5
    }

    fn entropy_plainly(text: &str) -> f64 {
        let real = |count: usize| f64::from(u32::try_from(count).unwrap());
        let total = real(text.len());
        let share = |byte: u8| real(text.bytes().filter(|other| *other == byte).count()) / total;
        (0..=u8::MAX)
            .map(share)
            .filter(|share| *share > 0.0)
            .map(|share| -share * share.log2())
            .sum()
    }

    proptest! {
        #[test]
        fn the_short_way_to_randomness_agrees_with_the_formula(
            text in "([a-f0-9]{0,40}|[A-Za-z0-9+/=_-]{0,90}|[0-9]{4}-[0-9]{2}-[A-Z0-9]{0,9}|a{0,80}[0-9a-z]{0,9})"
        ) {
            prop_assume!(!text.is_empty());
            let exact = entropy_plainly(&text);
            prop_assert!((entropy(&text) - exact).abs() < 1e-9);
            // At the very bound either may be right.
            prop_assert!(is_random(&text) == is_random_plainly(&text) || (exact - 2.5).abs() < 1e-9);
        }
    }
}
