//! The fields of an object: some of them by name, or the names of all.

use model::Fault;
use model::limits::VIEW_CHARS_MAX;
use serde_json::{Map, Value, json};

use super::page::first_chars;
use super::{Page, failed};
use crate::json::{chars, sort_of};
use crate::limits::SIBLINGS_MAX;

pub(super) fn fields(
    value: Value,
    pointer: &str,
    keys: &[String],
    offset: usize,
) -> Result<Page, Fault> {
    let Value::Object(fields) = value else {
        return Err(failed(format!(
            "`{}` is {}, not an object; use `rows` or `json_pointer`",
            first_chars(pointer, 60),
            sort_of(&value)
        )));
    };
    if keys.is_empty() { names(&fields, pointer, offset) } else { chosen(fields, keys) }
}

/// One line for each field: its name, what it holds and how long that is.
fn names(fields: &Map<String, Value>, pointer: &str, offset: usize) -> Result<Page, Fault> {
    let total = fields.len();
    if offset > 0 && offset >= total {
        return Err(failed(format!("there are {total} keys, counted from 0")));
    }
    let mut left = VIEW_CHARS_MAX;
    let mut text = String::new();
    let mut shown = offset;
    for (key, value) in fields.iter().skip(offset) {
        let size = chars(value, 1_000_000);
        let line = format!("{}: {}, {size} characters\n", first_chars(key, 200), sort_of(value));
        let Some(less) = left.checked_sub(line.chars().count()) else { break };
        left = less;
        text.push_str(&line);
        shown += 1;
    }
    let on = if shown == total {
        "that is the end".to_owned()
    } else {
        format!("to go on: {}", json!({"type": "json_keys", "pointer": pointer, "offset": shown}))
    };
    Ok(Page { text, note: Some(format!("[keys {offset} to {shown} of {total}; {on}]")) })
}

/// As many of the fields as fit, each whole; the note names those left out.
fn chosen(mut fields: Map<String, Value>, keys: &[String]) -> Result<Page, Fault> {
    let (mut picked, mut absent, mut unshown) = (Map::new(), Vec::new(), Vec::new());
    let mut left = VIEW_CHARS_MAX;
    for key in keys {
        let Some(value) = fields.swap_remove(key) else {
            absent.push(first_chars(key, 60));
            continue;
        };
        let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
        match left.checked_sub(key.len() + pretty.chars().count() + 8) {
            Some(less) => {
                left = less;
                picked.insert(key.clone(), value);
            }
            None => unshown.push(first_chars(key, 60)),
        }
    }
    if picked.is_empty() && unshown.is_empty() {
        let names: Vec<_> =
            fields.keys().take(SIBLINGS_MAX).map(|key| first_chars(key, 40)).collect();
        return Err(failed(format!("none of these keys is there; there are {}", names.join(", "))));
    }
    let text = serde_json::to_string_pretty(&picked).unwrap_or_default();
    let mut notes = Vec::new();
    if !absent.is_empty() {
        notes.push(format!("not there: {}", absent.join(", ")));
    }
    if !unshown.is_empty() {
        notes.push(format!("too long for this page, read by json_pointer: {}", unshown.join(", ")));
    }
    Ok(Page { text, note: (!notes.is_empty()).then(|| format!("[{}]", notes.join("; "))) })
}
