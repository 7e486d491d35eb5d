//! Numbers as a JSON text spells them, and whether a value holds what their digits say.
//!
//! `1e2` and `100` are one number in two spellings. `100.00000000000000001` is another one than any
//! value of ours, which would take it for `100`: nobody could judge what its upstream would read.

use serde_json::Number;

/// The first number of a sound JSON text that no value of ours holds.
pub fn inexact(text: &str) -> Option<&str> {
    let found = find(text.as_bytes(), |number| {
        let value = serde_json::from_slice::<Number>(number);
        value.map_or(true, |value| !are_same(number, value.to_string().as_bytes()))
    });
    found.and_then(|number| std::str::from_utf8(number).ok())
}

/// Whether two texts spell the same number, digit for digit; text that spells none is like nothing.
pub fn are_same(one: &[u8], other: &[u8]) -> bool {
    matches!((Decimal::read(one), Decimal::read(other)), (Some(one), Some(other)) if one == other)
}

/// The first number of a sound JSON text, outside of strings, that is like this.
pub fn find(text: &[u8], is: impl Fn(&[u8]) -> bool) -> Option<&[u8]> {
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        match byte {
            b'"' => rest = behind_string(behind),
            b'-' | b'0'..=b'9' => {
                let end = rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len());
                let (number, behind) = rest.split_at(end);
                if is(number) {
                    return Some(number);
                }
                rest = behind;
            }
            _ => rest = behind,
        }
    }
    None
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

/// What a number's digits say: `0.digits` times ten to the power of `exponent`, and nothing at either
/// end of the digits that could be left out.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn read(text: &[u8]) -> Option<Self> {
        let negative = text.first() == Some(&b'-');
        let text = text.get(usize::from(negative)..)?;
        let at = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let (mantissa, power) = text.split_at(at.unwrap_or(text.len()));
        let power = match power.get(1..) {
            None => 0,
            Some(power) => std::str::from_utf8(power).ok()?.parse::<i64>().ok()?,
        };
        let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
        let (whole, fraction) = mantissa.split_at(point);
        let fraction = fraction.get(1..).unwrap_or_default();
        let mut digits = [whole, fraction].concat();
        if whole.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        let kept = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        digits.truncate(kept);
        if digits.is_empty() {
            return Some(Self { negative: false, digits, exponent: 0 });
        }
        let before = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
        Some(Self { negative, digits, exponent: power.checked_add(before)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_its_digits_say() {
        let check = |one: &str, other: &str, same: bool| {
            assert_eq!(are_same(one.as_bytes(), other.as_bytes()), same, "{one} {other}");
            assert_eq!(are_same(other.as_bytes(), one.as_bytes()), same, "{other} {one}");
        };
        check("7", "7.0", true);
        check("100", "1e2", true);
        check("100", "1.00E+2", true);
        check("0.01", "1e-2", true);
        check("007", "7", true);
        check("-0", "0.00e9", true);
        check("-7", "7", false);
        check("0.1", "0.10000000000000000001", false);
        check("18446744073709551617", "18446744073709551618", false);
        check("18446744073709551617", "1.8446744073709551617e19", true);
        for none in ["", "-", "x", "1x", ".5", "1e", "1e99999999999999999999", "inf", "NaN", "--1"]
        {
            check(none, none, false);
        }
    }

    #[test]
    fn what_no_value_holds_is_found() {
        let check = |text: &str, wanted: Option<&str>| assert_eq!(inexact(text), wanted, "{text}");
        check("[1, -2, 0.5, 1e2, 1.10, -0, 1E-7, 18446744073709551615]", None);
        check("[0.1, 0.30000000000000004, 1.7976931348623157e+308, 5e-324]", None);
        check(r#"{"18446744073709551617": "1e-400"}"#, None);
        check("[1, 18446744073709551617]", Some("18446744073709551617"));
        check("[1, -9223372036854775809]", Some("-9223372036854775809"));
        check("100.00000000000000001", Some("100.00000000000000001"));
        check(r#"{"a": "\"", "b": 1e-400}"#, Some("1e-400"));
        check("1e400", Some("1e400"));
    }
}
