//! Which characters of one string go: control characters, and terminal sequences as wholes.
//!
//! Every scan for the end of a sequence stops at the next control character, so the work is linear
//! however many sequences are opened and never closed.

use std::borrow::Cow;

/// Takes control characters and whole ANSI sequences out; copies only what must change.
///
/// Line feeds, tabs and `\r\n` stay. A sequence that is broken off loses its control characters
/// only, so that no text can hide behind one that never ends.
pub fn scrub(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let Some(mut at) = next_control(bytes, 0) else { return Cow::Borrowed(text) };
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    while let Some(from) = text.get(at..) {
        clean.push_str(text.get(kept..at).unwrap_or_default());
        kept = text.len() - after_sequence(from).len();
        match next_control(bytes, kept) {
            Some(next) => at = next,
            None => break,
        }
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(clean)
}

/// The next control character that must go.
fn next_control(bytes: &[u8], from: usize) -> Option<usize> {
    // Branch-free over 64 bytes, so that base64 and prose run at memory speed.
    let suspect = |byte: &u8| matches!(byte, 0..=8 | 11..=0x1F | 0x7F | 0xC2);
    let mut at = from;
    for chunk in bytes.get(from..)?.chunks(64) {
        if chunk.iter().fold(false, |bad, byte| bad | suspect(byte)) {
            let places = (at..).zip(chunk);
            let mut found = places.filter(|(at, byte)| suspect(byte) && is_control(bytes, *at));
            if let Some((found, _)) = found.next() {
                return Some(found);
            }
        }
        at += chunk.len();
    }
    None
}

fn is_control(bytes: &[u8], at: usize) -> bool {
    let next = bytes.get(at + 1);
    match bytes.get(at) {
        Some(b'\n' | b'\t') | None => false,
        Some(b'\r') => next != Some(&b'\n'),
        Some(0..0x20 | 0x7F) => true,
        // U+0080 to U+009F in UTF-8.
        Some(0xC2) => next.is_some_and(|next| *next < 0xA0),
        Some(_) => false,
    }
}

/// What follows the control character `from` starts with, or the sequence it opens.
fn after_sequence(from: &str) -> &str {
    let mut chars = from.chars();
    let control = chars.next();
    let after = chars.as_str();
    let (introducer, body) = match control {
        Some('\u{1B}') => (chars.next(), chars.as_str()),
        Some('\u{9B}') => (Some('['), after),
        Some('\u{90}' | '\u{98}' | '\u{9D}' | '\u{9E}' | '\u{9F}') => (Some(']'), after),
        _ => (None, after),
    };
    let end = match introducer {
        Some('[') => after_parameters(body),
        Some(']' | 'P' | 'X' | '^' | '_') => after_terminator(body),
        Some('(' | ')' | '*' | '+') => body.strip_prefix(|c: char| c.is_ascii_alphanumeric()),
        _ => None,
    };
    end.unwrap_or(after)
}

fn after_parameters(body: &str) -> Option<&str> {
    body.trim_start_matches(|c| matches!(c, '0'..='?'))
        .trim_start_matches(|c| matches!(c, ' '..='/'))
        .strip_prefix(|c| matches!(c, '@'..='~'))
}

fn after_terminator(body: &str) -> Option<&str> {
    let (_, end) = body.split_at_checked(body.find(char::is_control)?)?;
    ["\u{7}", "\u{1B}\\", "\u{9C}"].into_iter().find_map(|terminator| end.strip_prefix(terminator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_and_sequences_go_and_text_stays() {
        let check = |dirty: &str, clean: &str| assert_eq!(scrub(dirty), clean, "{dirty:?}");
        check("plain", "plain");
        check("a\tb\r\nc\n", "a\tb\r\nc\n");
        check("10%\r20%\r\r\n", "10%20%\r\n");
        check("bell\u{7} null\0 del\u{7f}", "bell null del");
        check("c1 \u{80}\u{85}\u{9f}", "c1 ");
        check("nbsp\u{a0}© stays", "nbsp\u{a0}© stays");
        check("\u{1b}[31mred\u{1b}[0m", "red");
        check("\u{9b}1;31mred", "red");
        check("\u{1b}[?25l\u{1b}[2 q", "");
        check("\u{1b}]0;title\u{7}text", "text");
        check("\u{1b}]8;;https://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link");
        check("\u{1b}Pdevice\u{9c}text", "text");
        check("\u{1b}(B\u{1b}[mdone", "done");
        check("\u{1b}", "");
    }

    /// A sequence without an end must not swallow what the model should see.
    #[test]
    fn a_broken_sequence_loses_only_its_control_characters() {
        let check = |dirty: &str, clean: &str| assert_eq!(scrub(dirty), clean, "{dirty:?}");
        check("\u{1b}]0;never closed", "]0;never closed");
        check("\u{1b}]0;two\nlines\u{7}", "]0;two\nlines");
        check("\u{1b}[31", "[31");
        check("\u{1b}\u{7}[31m", "[31m");
        check("\u{1b}Hello", "Hello");
    }

    #[test]
    fn a_clean_string_is_not_copied() {
        for text in ["", "prose\r\nwith\ttabs\n", "ünï © \u{a0}"] {
            assert!(matches!(scrub(text), Cow::Borrowed(_)), "{text:?}");
        }
    }

    #[test]
    fn a_million_unclosed_sequences_take_no_quadratic_time() {
        let dirty = "\u{1b}]a\u{9b}1".repeat(500_000);
        assert_eq!(scrub(&dirty).len(), 3 * 500_000);
    }

    proptest! {
        #[test]
        fn scrubbing_is_idempotent_and_leaves_no_control_character(
            text in "([a-z0-9;\\[\\]\\\\mBP(]|[\u{0}-\u{1f}\u{7f}-\u{a0}]|\u{1b}|\r|\n|é){0,60}"
        ) {
            let once = scrub(&text).into_owned();
            let calm = once.replace("\r\n", "").replace(['\n', '\t'], "");
            prop_assert!(!calm.contains(char::is_control), "{once:?}");
            prop_assert!(matches!(scrub(&once), Cow::Borrowed(_)), "{once:?}");
        }

        #[test]
        fn text_without_control_characters_is_left_alone(text in "\\PC{0,60}") {
            prop_assert_eq!(scrub(&text), text.as_str());
        }
    }
}
