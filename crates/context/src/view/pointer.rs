//! One value inside a JSON artifact, found by an RFC 6901 pointer.

use model::Fault;
use model::limits::VIEW_CHARS_MAX;
use serde_json::Value;

use super::page::first_chars;
use super::{Page, failed};
use crate::json::pointer_token;
use crate::limits::{KEY_BYTES_MAX, SIBLINGS_MAX};
use crate::sanitise::Cleaner;

pub(super) fn value(text: &str, pointer: &str, cleaner: &Cleaner<'_>) -> Result<Page, Fault> {
    Ok(page(&find_in(text, pointer, cleaner)?, pointer))
}

/// What the pointer leads to, cleaned. The way there is that of the raw keys.
pub(super) fn find_in(text: &str, pointer: &str, cleaner: &Cleaner<'_>) -> Result<Value, Fault> {
    let root: Value = serde_json::from_str(text).map_err(|error| {
        failed("this artifact is not JSON; use `head` or `lines` instead").logging(error)
    })?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(failed("a JSON pointer is empty or starts with `/`, such as `/items/0/name`"));
    }
    let key = pointer.rsplit('/').next().unwrap_or_default();
    let mut found = find(&root, pointer)?.clone();
    cleaner.field(key, &mut found);
    Ok(found)
}

/// Follows the pointer; a refusal names the last place that exists and what is there.
fn find<'v>(root: &'v Value, pointer: &str) -> Result<&'v Value, Fault> {
    let mut place = root;
    let mut walked = String::new();
    for token in pointer.split('/').skip(1) {
        let Some(next) = step(place, token) else { return Err(dead_end(pointer, &walked, place)) };
        place = next;
        walked.push('/');
        walked.push_str(token);
    }
    Ok(place)
}

fn step<'v>(place: &'v Value, token: &str) -> Option<&'v Value> {
    match place {
        Value::Object(fields) => fields.get(&token.replace("~1", "/").replace("~0", "~")),
        Value::Array(items) => {
            let plain = token == "0" || !token.starts_with(['0', '+']);
            items.get(token.parse::<usize>().ok().filter(|_| plain)?)
        }
        _ => None,
    }
}

fn dead_end(pointer: &str, walked: &str, place: &Value) -> Fault {
    failed(format!(
        "nothing at `{}`; `{}` is {}",
        first_chars(pointer, 60),
        first_chars(walked, 60),
        inside(place)
    ))
    .with("found", walked)
    .with("inside", children(place, walked))
}

fn page(value: &Value, pointer: &str) -> Page {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    };
    let shown = first_chars(&text, VIEW_CHARS_MAX);
    let note = (shown.len() < text.len()).then(|| cut_note(value, pointer, text.chars().count()));
    Page { text: shown.to_owned(), note }
}

fn cut_note(value: &Value, pointer: &str, chars: usize) -> String {
    let deeper = match children(value, pointer) {
        pointers if pointers.is_empty() => {
            "`head` and `lines` page through the whole artifact".to_owned()
        }
        pointers => format!("go deeper with a pointer such as {}", pointers.join(", ")),
    };
    let inside = inside(value);
    format!("[the first {VIEW_CHARS_MAX} of {chars} characters; the value is {inside}; {deeper}]")
}

fn inside(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let names: Vec<_> =
                fields.keys().take(SIBLINGS_MAX).map(|key| first_chars(key, 40)).collect();
            format!("an object of {} with {}", fields.len(), names.join(", "))
        }
        Value::Array(items) => format!("an array of {}, counted from 0", items.len()),
        Value::String(_) => "a text".to_owned(),
        _ => "a single value".to_owned(),
    }
}

/// Pointers to what is inside, the first few.
fn children(value: &Value, pointer: &str) -> Vec<String> {
    let child = |token: String| format!("{pointer}/{token}");
    match value {
        Value::Object(fields) => {
            let short = fields.keys().filter(|key| key.len() <= KEY_BYTES_MAX);
            short.take(SIBLINGS_MAX).map(|key| child(pointer_token(key))).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let last = items.len() - 1;
            let ends = if last == 0 { vec![0] } else { vec![0, last] };
            ends.into_iter().map(|index| child(index.to_string())).collect()
        }
        _ => Vec::new(),
    }
}
