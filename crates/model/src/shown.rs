//! Text before people's eyes: what cannot be seen is spelt out, so that nobody says yes to what they
//! did not see.

/// Whether a character shows nothing of itself, or changes how others are shown.
#[rustfmt::skip]
pub fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// The same JSON with everything hidden in its texts spelt as `\uXXXX`. It means what it meant.
pub fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Between its texts JSON has no other hidden characters than these.
        if !is_hidden(c) || matches!(c, '\n' | '\r' | '\t') {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            shown.push_str(&["\\u", &format!("{unit:04x}")].concat());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{is_hidden, json as shown_json};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_hidden_is_spelt_out() {
        let check = |text: &str, wanted: &str| {
            assert_eq!(shown_json(&json!(text).to_string()), format!("\"{wanted}\""));
        };
        check("plain é 漢 😀", "plain é 漢 😀");
        check("a\u{202e}b", "a\\u202eb");
        check("pass\u{200b}wd", "pass\\u200bwd");
        check("x\u{e0041}", "x\\udb40\\udc41");
        check("\u{9b}31m", "\\u009b31m");
    }

    proptest! {
        #[test]
        fn it_still_means_the_same_and_shows_everything(text in any::<String>()) {
            let written = serde_json::to_string_pretty(&json!({text.clone(): [text]})).unwrap();
            let shown = shown_json(&written);
            prop_assert!(!shown.chars().any(|c| is_hidden(c) && c != '\n'));
            let (then, now): (Value, Value) =
                (serde_json::from_str(&written).unwrap(), serde_json::from_str(&shown).unwrap());
            prop_assert_eq!(then, now);
        }
    }
}
