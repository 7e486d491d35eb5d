//! How many tokens a text will cost a model: guessed on the road of a call, counted elsewhere.
//!
//! The guess goes over the text once and knows no table. It is meant to err upwards; a test holds
//! it against a real tokenizer.

/// The exact count of a widely used tokenizer. Slow: never on the road of a call.
pub fn count(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

/// A guess that is seldom below the count.
pub(crate) fn estimate(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut total) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let class = Class::of(*byte);
        let rest = bytes.get(at..).unwrap_or_default();
        let run = rest.iter().take_while(|byte| Class::of(**byte) == class).count();
        total += class.tokens(rest.get(..run).unwrap_or_default());
        at += run;
    }
    total
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Alphanumeric,
    Space,
    Mark,
    Beyond,
}

impl Class {
    const fn of(byte: u8) -> Self {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => Self::Alphanumeric,
            b' ' | b'\t' | b'\r' | b'\n' => Self::Space,
            0x80.. => Self::Beyond,
            _ => Self::Mark,
        }
    }

    fn tokens(self, run: &[u8]) -> usize {
        match self {
            Self::Alphanumeric => word(run),
            // One space belongs to the word after it.
            Self::Space if run == b" " => 0,
            Self::Space => 1 + run.len() / 8,
            Self::Mark => run.len(),
            Self::Beyond => run.len().div_ceil(2),
        }
    }
}

/// Digits come in threes, words in few pieces, and what looks drawn at random in many.
fn word(run: &[u8]) -> usize {
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    let capitals = run.iter().skip(1).filter(|byte| byte.is_ascii_uppercase()).count();
    match run.len() {
        length if digits == length => length.div_ceil(3),
        length if digits > 0 || capitals > 0 || length > 16 => (7 * length).div_ceil(8),
        length => 1 + (length - 1) / 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_guess_is_near_the_count_and_seldom_below() {
        let check = |text: &str| {
            let (guess, count) = (estimate(text), count(text));
            assert!(guess >= count && guess <= 3 * count + 4, "{guess} for {count}: {text}");
        };
        check("The invoice was sent on Monday, and the customer asked whether it had been paid.");
        check("2026-11-16T01:27:16Z INFO order_id=48213 state=shipped carrier=dhl took_ms=12\n");
        check(r#"{"id":48213,"name":"Ann Example","tags":["a","b_c"],"note":"<b>fine</b>"}"#);
        check("Größe “passt” — naïve café, 漢字かな交じり文, emoji 👩‍💻 und mehr.");
        check("9f8a7b6c5d4e3f2a1b0c9f8a7b6c5d4e3f2a1b0c AKIAIOSFODNN7EXAMPLE");
        check("id,name,n\n1,\"Ann, B\",7\n2,\"Bob, C\",8\n");
        check("");
    }

    proptest! {
        #[test]
        fn even_noise_is_not_guessed_far_too_low(text in "([a-zA-Z0-9]{1,24}|[ -~]{1,12}|\n|[а-я漢字😀]{1,8}){0,60}") {
            prop_assert!(4 * estimate(&text) + 8 >= 3 * count(&text));
        }
    }
}
