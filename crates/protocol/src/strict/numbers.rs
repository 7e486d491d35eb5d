//! How numbers are spelled in a JSON text that has been read already.

use model::numbers::find;

/// Whether some number would be written differently than it stands here: `1e2`, `1.10`, or more
/// digits than a number of ours holds.
pub(super) fn any_odd(text: &[u8]) -> bool {
    find(text, is_odd).is_some()
}

pub(super) fn any_longer(text: &[u8], chars_max: usize) -> bool {
    find(text, |number| number.len() > chars_max).is_some()
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
