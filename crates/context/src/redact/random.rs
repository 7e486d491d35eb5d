//! Whether a run of characters was drawn at random rather than written by a person.

/// Letters and digits, small and capital, that keep taking turns: words, dates, paths and version numbers do not.
pub(super) fn is_random(text: &str) -> bool {
    let restless = turns(text, u8::is_ascii_digit) >= 3
        || 5 * (turns(text, u8::is_ascii_digit) + turns(text, u8::is_ascii_uppercase))
            >= 2 * text.len() + text.len() / 10;
    !is_date(text) && restless && entropy(text) >= 2.5
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
        if count > 1 { f64::from(count) * f64::from(count).log2() } else { 0.0 }
    };
    total.log2() - text.bytes().map(weight).sum::<f64>() / total
}

/// How often letters and digits of the one kind and of the other follow each other.
fn turns(text: &str, kind: fn(&u8) -> bool) -> usize {
    let kinds = text.as_bytes().iter().filter(|byte| byte.is_ascii_alphanumeric()).map(kind);
    let mut last = None;
    kinds.filter(|kind| last.replace(*kind).is_some_and(|before| before != *kind)).count()
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
}
