//! How numbers are spelled in a JSON text that has been read already.

/// Whether some number would be written differently than it stands here: `1e2`, `1.10`, or more
/// digits than a number of ours holds.
pub(super) fn any_odd(text: &[u8]) -> bool {
    some_number(text, is_odd)
}

pub(super) fn any_longer(text: &[u8], chars_max: usize) -> bool {
    some_number(text, |number| number.len() > chars_max)
}

fn some_number(text: &[u8], is: impl Fn(&[u8]) -> bool) -> bool {
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        match byte {
            b'"' => rest = behind_string(behind),
            b'-' | b'0'..=b'9' => {
                let end = rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len());
                let (number, behind) = rest.split_at(end);
                if is(number) {
                    return true;
                }
                rest = behind;
            }
            _ => rest = behind,
        }
    }
    false
}

/// INVARIANT: the text is sound, so every string ends.
fn behind_string(mut text: &[u8]) -> &[u8] {
    while let Some((byte, behind)) = text.split_first() {
        match byte {
            b'"' => return behind,
            b'\\' => text = behind.get(1..).unwrap_or_default(),
            _ => text = behind,
        }
    }
    text
}

const fn is_part(byte: u8) -> bool {
    matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
}

fn is_odd(number: &[u8]) -> bool {
    let read = serde_json::from_slice::<serde_json::Number>(number);
    read.map_or(true, |read| read.to_string().as_bytes() != number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_odd_when_we_would_write_it_otherwise() {
        let check = |text: &str, odd: bool| assert_eq!(any_odd(text.as_bytes()), odd, "{text}");
        check("1", false);
        check("1.0", false);
        check("[0.5,-3,18446744073709551615]", false);
        check("1e2", true);
        check("1.10", true);
        check("-0", true);
        check("18446744073709551616", true);
        check(r#"{"a\"1e2":"1e2"}"#, false);
        check(r#"{"a":"\\","b":1E5}"#, true);
    }

    proptest! {
        #[test]
        fn what_is_not_odd_comes_back_digit_for_digit(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let text = serde_json::to_string(&value).unwrap();
            prop_assert!(!any_odd(text.as_bytes()));
        }
    }
}
