//! The little that JSON files hold and YAML does not know: comments, as VS Code writes them, and
//! characters escaped as surrogate pairs. Lines stay where they are.

use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

/// The text is JSON by the name of its file.
pub(super) fn is_json(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| matches!(extension, "json" | "jsonc"))
}

/// The same value in words that YAML shares.
pub(super) fn as_yaml(text: &str) -> String {
    let mut yaml = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(char) = chars.next() {
        match (char, in_string) {
            ('"', _) => in_string = !in_string,
            ('\\', true) => {
                escape(&mut chars, &mut yaml);
                continue;
            }
            ('/', false) if chars.peek() == Some(&'/') => {
                while chars.next_if(|char| *char != '\n').is_some() {}
                continue;
            }
            ('/', false) if chars.next_if_eq(&'*').is_some() => {
                block_comment(&mut chars, &mut yaml);
                continue;
            }
            _ => {}
        }
        yaml.push(char);
    }
    yaml
}

fn block_comment(chars: &mut Peekable<Chars<'_>>, yaml: &mut String) {
    yaml.push(' ');
    while let Some(char) = chars.next() {
        if char == '\n' {
            yaml.push('\n');
        }
        if char == '*' && chars.next_if_eq(&'/').is_some() {
            return;
        }
    }
}

/// What follows a backslash in a string. Two halves of one character become that character.
fn escape(chars: &mut Peekable<Chars<'_>>, yaml: &mut String) {
    let mut ahead = chars.clone();
    if let Some(high) = unit(&mut ahead)
        && ahead.next() == Some('\\')
        && let Some(low) = unit(&mut ahead)
        && let Some(Ok(char)) = char::decode_utf16([high, low]).next()
        && u32::from(char) > 0xffff
    {
        yaml.push(char);
        *chars = ahead;
        return;
    }
    yaml.push('\\');
    yaml.extend(chars.next());
}

/// The number of a `uXXXX`.
fn unit(chars: &mut Peekable<Chars<'_>>) -> Option<u16> {
    chars.next_if_eq(&'u')?;
    let digits = chars.by_ref().take(4).collect::<String>();
    u16::from_str_radix(&digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_yaml_does_not_know_changes() {
        let check = |json: &str, expected: &str| assert_eq!(as_yaml(json), expected);
        check(r#"{"a": "http://x/*y*/"}"#, r#"{"a": "http://x/*y*/"}"#);
        check("{ // note\n\"a\": 1 }", "{ \n\"a\": 1 }");
        check("{/* one\ntwo */\"a\": 1}", "{ \n\"a\": 1}");
        check(
            r#"{"a": "\ud83d\ude00 \u00e9 \n \" \\ud83d"}"#,
            r#"{"a": "😀 \u00e9 \n \" \\ud83d"}"#,
        );
        check(r#"{"half": "\ud83d"}"#, r#"{"half": "\ud83d"}"#);
        check("/", "/");
        check("\"\\", "\"\\");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_and_lines_stay(text in "[/*\\\\\"u0-9a-f\n ]{0,60}") {
            let (before, after) = (text.matches('\n').count(), as_yaml(&text).matches('\n').count());
            proptest::prop_assert!(after <= before);
        }
    }
}
