//! What an answer says in short: a summary and a handful of facts.
//!
//! Neither is evidence: that is taken from structured content, never from here.

use std::borrow::Cow;

use model::fault::one_line;
use model::limits::{FACTS_MAX, SUMMARY_CHARS_MAX};
use serde_json::Value;

use crate::json::{self, field};
use crate::limits::{FACT_CHARS_MAX, SUMMARY_SOURCE_CHARS};
use crate::redact::REDACTED;
use crate::sanitise::Cleaner;

/// Stands for the text of an answer that has none.
pub(crate) const NO_CONTENT: &str = "(no content)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Free of control characters, at most 500 characters.
    pub(crate) summary: String,
    /// The summary leaves something out.
    pub(crate) lossy: bool,
    /// `key: value`, at most twenty: structured keys first, then lines of the text.
    pub(crate) facts: Vec<String>,
}

/// Cleans more than it keeps, so that no secret is cut in two and half of it stays.
pub(crate) fn digest(
    content: &[Value],
    structured: Option<&Value>,
    cleaner: &Cleaner<'_>,
) -> Digest {
    let (start, more) = summary(content, structured);
    let clean = cleaner.text(&start);
    let (summary, cut) = match first(&clean, SUMMARY_CHARS_MAX) {
        Some(summary) => (summary.to_owned(), true),
        None => (clean.into_owned(), false),
    };
    Digest { summary, lossy: more || cut, facts: facts(content, structured, cleaner) }
}

/// So many characters of the text; nothing where that is all of it.
fn first(text: &str, chars: usize) -> Option<&str> {
    // No character is shorter than a byte.
    let cut = (text.len() > chars).then(|| text.char_indices().nth(chars)).flatten()?;
    text.get(..cut.0)
}

/// The texts a reader would see, in order: text parts and texts of embedded resources.
pub(crate) fn texts(content: &[Value]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(part_text)
}

fn part_text(part: &Value) -> Option<&str> {
    match field(part, "type")?.as_str()? {
        "text" => field(part, "text")?.as_str(),
        "resource" => {
            let text = field(field(part, "resource")?, "text")?.as_str();
            text.filter(|text| !text.is_empty())
        }
        _ => None,
    }
}

/// The start of what there is to say, and whether there is more.
fn summary<'v>(content: &'v [Value], structured: Option<&Value>) -> (Cow<'v, str>, bool) {
    let mut texts = texts(content);
    // Most answers are one text, of which nothing need be copied.
    let (text, more): (Cow<'_, str>, _) = if let (Some(only), None) = (texts.next(), texts.next()) {
        let start = first(only, SUMMARY_SOURCE_CHARS);
        (start.unwrap_or(only).into(), start.is_some())
    } else {
        let mut chars = joined(content);
        let start: String = chars.by_ref().take(SUMMARY_SOURCE_CHARS).collect();
        (start.into(), chars.next().is_some())
    };
    match structured {
        _ if !text.is_empty() => (text, more),
        Some(value) if !value.is_null() => {
            let (start, whole) = json::start(value, 4 * SUMMARY_SOURCE_CHARS);
            (start.into(), !whole)
        }
        _ => (NO_CONTENT.into(), false),
    }
}

fn joined(content: &[Value]) -> impl Iterator<Item = char> {
    let separator = |index: usize| (index > 0).then_some('\n');
    texts(content)
        .enumerate()
        .flat_map(move |(index, text)| separator(index).into_iter().chain(text.chars()))
}

fn facts(content: &[Value], structured: Option<&Value>, cleaner: &Cleaner<'_>) -> Vec<String> {
    let keys = structured.and_then(Value::as_object).into_iter().flatten();
    let fields = keys.filter_map(|(key, value)| field_fact(key, value, cleaner));
    // A server that sends structured content repeats it as JSON text, which has no facts to add.
    let repeats = |text: &str| structured.is_some() && text.trim_start().starts_with(['{', '[']);
    let lines = texts(content)
        .filter(|text| !repeats(text))
        .flat_map(lines_with_values)
        .filter_map(|line| line_fact(line, cleaner));
    let mut facts = Vec::new();
    for fact in fields.chain(lines) {
        if facts.len() == FACTS_MAX {
            break;
        }
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    facts
}

/// The lines that have `: ` in them, found without looking at the others.
fn lines_with_values(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = memchr::memmem::find(rest.as_bytes(), b": ")?;
        let (before, after) = rest.split_at_checked(at)?;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = after.find('\n').map_or(rest.len(), |newline| at + newline);
        let line = rest.get(start..end)?;
        rest = rest.get(end..).unwrap_or_default();
        Some(line)
    })
}

fn field_fact(key: &str, value: &Value, cleaner: &Cleaner<'_>) -> Option<String> {
    let fact = match value {
        Value::String(text) if cleaner.redactor.is_assigned(key, text) => {
            format!("{key}: {REDACTED}")
        }
        Value::String(text) if text.len() < 4 * FACT_CHARS_MAX => format!("{key}: {text}"),
        Value::String(_) => return None,
        other => match json::start(other, 4 * FACT_CHARS_MAX) {
            (rendered, true) => format!("{key}: {rendered}"),
            (_, false) => return None,
        },
    };
    short(&fact, cleaner)
}

fn line_fact(line: &str, cleaner: &Cleaner<'_>) -> Option<String> {
    let line = line.trim();
    let (key, value) =
        line.get(..).filter(|line| line.len() < 4 * FACT_CHARS_MAX)?.split_once(": ")?;
    if key.trim().is_empty() || value.trim().is_empty() { None } else { short(line, cleaner) }
}

fn short(fact: &str, cleaner: &Cleaner<'_>) -> Option<String> {
    let clean = cleaner.text(fact);
    let brief = clean.chars().nth(FACT_CHARS_MAX - 1).is_none();
    let fold = |text: &str| {
        if text.contains(char::is_control) {
            one_line(text, FACT_CHARS_MAX)
        } else {
            text.to_owned()
        }
    };
    brief.then(|| fold(&clean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;
    use serde_json::json;

    fn digest(content: &[Value], structured: Option<&Value>) -> Digest {
        super::digest(content, structured, &Cleaner::strict(&Redactor::default()))
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    /// CW-15, C44: the bound, also with letters of several bytes.
    #[test]
    fn a_summary_is_cut_at_500_characters_and_says_so() {
        let check = |letter: &str, count: usize, lossy: bool| {
            let digest = digest(&[text(&letter.repeat(count))], None);
            assert_eq!(digest.summary, letter.repeat(count.min(500)));
            assert_eq!(digest.lossy, lossy, "{count}");
        };
        for letter in ["x", "é", "漢", "🦀"] {
            check(letter, 499, false);
            check(letter, 500, false);
            check(letter, 501, true);
        }
    }

    /// CW-19, CW-22
    #[test]
    fn texts_are_joined_by_newlines_in_order_with_those_of_resources() {
        let resource = json!({"type": "resource", "resource": {"uri": "a", "text": "two"}});
        assert_eq!(
            digest(&[text("one"), resource, text("three")], None).summary,
            "one\ntwo\nthree"
        );
    }

    #[test]
    fn without_text_the_summary_is_the_structured_content() {
        let check = |structured: Option<Value>, summary: &str, lossy: bool| {
            let digest = digest(&[], structured.as_ref());
            assert_eq!((digest.summary.as_str(), digest.lossy), (summary, lossy));
        };
        check(None, "(no content)", false);
        check(Some(Value::Null), "(no content)", false);
        check(Some(json!({"count": 42})), r#"{"count":42}"#, false);
        check(Some(json!("漢".repeat(600))), &format!("\"{}", "漢".repeat(499)), true);
    }

    #[test]
    fn summary_and_facts_carry_no_control_characters() {
        let digest =
            digest(&[text("state: \u{1b}[32mok\u{1b}[0m\u{7}")], Some(&json!({"a": "b\nc"})));
        assert_eq!(digest.summary, "state: ok");
        assert_eq!(digest.facts, ["a: b c", "state: ok"]);
    }

    /// E7: a secret at the cut, and one that only its key gives away.
    #[test]
    fn summary_and_facts_carry_no_secret() {
        let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        let long = format!("{} {token} and more", "x".repeat(490));
        let digest = digest(&[text(&long)], Some(&json!({"password": "hunter22", "t": token})));
        assert_eq!(
            digest.summary,
            format!("{} [redacted", "x".repeat(490)).chars().take(500).collect::<String>()
        );
        assert_eq!(digest.facts, ["password: [redacted]", "t: [redacted]"]);
    }

    /// CW-26, C27
    #[test]
    fn facts_are_structured_keys_then_lines_of_text() {
        let check = |content: &[Value], structured: Option<Value>, expected: &[&str]| {
            assert_eq!(digest(content, structured.as_ref()).facts, expected);
        };
        check(&[], Some(json!({"count": 42, "status": "done"})), &["count: 42", "status: done"]);
        check(&[], Some(json!({"z": true, "a": {"b": [1]}})), &["z: true", r#"a: {"b":[1]}"#]);
        check(
            &[text("name: x\nno fact\n: none\nat 10:30\n  size: 3 ")],
            None,
            &["name: x", "size: 3"],
        );
        check(&[text("{\n  \"count\": 42\n}")], Some(json!({"count": 42})), &["count: 42"]);
        check(&[text("count: 42")], Some(json!({"count": 42})), &["count: 42"]);
        check(&[text("count: 42")], Some(json!([1])), &["count: 42"]);
    }

    #[test]
    fn long_values_are_no_facts_and_twenty_is_enough() {
        let long = "x".repeat(300);
        let structured = json!({"long": long, "deep": [long], "ok": 1});
        assert_eq!(digest(&[text(&format!("line: {long}"))], Some(&structured)).facts, ["ok: 1"]);
        let check = |value_chars: usize, count: usize| {
            let line = format!("k: {}", "x".repeat(value_chars));
            assert_eq!(digest(&[text(&line)], None).facts.len(), count, "{value_chars}");
        };
        check(196, 1);
        check(197, 0);
        let many = (0..30).map(|n| format!("k{n}: v\n")).collect::<Vec<_>>().concat();
        assert_eq!(digest(&[text(&many)], None).facts.len(), 20);
    }
}
