//! Whether an answer is too long to pass whole.

use model::Answer;
use serde_json::Value;

use crate::digest::texts;
use crate::json;
use crate::limits::MEDIA_FIELDS_CHARS_MAX;

/// Counts characters a model would have to read; pictures and sounds cost it none.
pub(super) fn exceeds(answer: &Answer, chars_max: usize) -> bool {
    let content: usize = answer.content.iter().map(|part| part_chars(part, chars_max)).sum();
    let data = answer.structured.as_ref().map_or(0, |value| json::chars(value, chars_max));
    let longer = content.max(data);
    content + data > chars_max && (longer > chars_max || !repeats(answer))
}

pub(super) fn part_chars(part: &Value, chars_max: usize) -> usize {
    let Some(fields) = part.as_object() else { return json::chars(part, chars_max) };
    let media = is_media(part);
    // INVARIANT: `sort` keeps exactly the media parts that weigh nothing here.
    let free = if media { MEDIA_FIELDS_CHARS_MAX } else { 0 };
    let field_chars = |(name, value): (&String, &Value)| match (name.as_str(), value) {
        ("type", Value::String(kind)) if kind.len() < 16 => 0,
        ("data", Value::String(_)) if media => 0,
        ("text", Value::String(text)) => text.chars().count(),
        _ => json::chars(value, chars_max),
    };
    match fields.iter().map(field_chars).sum() {
        chars if chars <= free => 0,
        chars => chars,
    }
}

fn is_media(part: &Value) -> bool {
    matches!(part.get("type").and_then(Value::as_str), Some("image" | "audio"))
}

/// Servers send structured content once more as text; the same words twice count once.
fn repeats(answer: &Answer) -> bool {
    let mut texts = texts(&answer.content);
    let (first, second) = (texts.next(), texts.next());
    let only = first.filter(|_| second.is_none());
    only.zip(answer.structured.as_ref()).is_some_and(|(text, value)| json::spells(text, value))
}
