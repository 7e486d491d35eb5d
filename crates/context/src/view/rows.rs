//! Whole rows of a table under its header, or whole items of a JSON array.

use model::Fault;
use model::limits::VIEW_CHARS_MAX;
use serde_json::{Value, json};

use super::page::first_chars;
use super::{Page, failed, pointer};
use crate::json::sort_of;
use crate::sanitise::Cleaner;

/// From the first to the last row, counted from 1.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

pub(super) fn rows(
    text: &str,
    pointer: &str,
    span: Span,
    cleaner: &Cleaner<'_>,
) -> Result<Page, Fault> {
    if span.start == 0 || span.end < span.start {
        return Err(failed(
            "rows count from 1, and `end` is the last one shown, not below `start`",
        ));
    }
    let json = text.trim_start().starts_with(['[', '{']) || !pointer.is_empty();
    if !json {
        let text = cleaner.text(text);
        let mut lines = text.split_inclusive('\n');
        let header = lines.next().unwrap_or_default();
        return pack(header, lines.map(str::to_owned), span, pointer);
    }
    match pointer::find_in(text, pointer, cleaner)? {
        Value::Array(items) => {
            pack("", items.iter().map(|item| format!("{item}\n")), span, pointer)
        }
        other => Err(failed(format!(
            "`{}` is {}, not an array; point to one with `pointer`, or use `json_keys`",
            first_chars(pointer, 60),
            sort_of(&other)
        ))),
    }
}

fn pack(
    header: &str,
    rows: impl Iterator<Item = String>,
    span: Span,
    pointer: &str,
) -> Result<Page, Fault> {
    let rows: Vec<String> = rows.collect();
    let (total, Span { start, end }) = (rows.len(), span);
    if start > total {
        return Err(failed(format!("row {start} is beyond the end; there are {total} rows"))
            .with("total_rows", total));
    }
    let end = end.min(total);
    let mut text = header.to_owned();
    let mut left = VIEW_CHARS_MAX.saturating_sub(header.chars().count());
    let mut last = start - 1;
    for row in rows.iter().skip(start - 1).take(end + 1 - start) {
        let Some(less) = left.checked_sub(row.chars().count()) else { break };
        left = less;
        text.push_str(row);
        last += 1;
    }
    if last < start {
        let row = rows.get(start - 1).map(String::as_str).unwrap_or_default();
        text.push_str(first_chars(row, left));
        let on = selector(start + 1, end.max(start + 1), pointer);
        let note =
            format!("[row {start} of {total} is longer than a page and cut; to go on: {on}]");
        return Ok(Page { text, note: Some(note) });
    }
    let on = if last == total {
        "that is the end".to_owned()
    } else {
        format!("to go on: {}", selector(last + 1, last + 1 + end - start, pointer))
    };
    Ok(Page { text, note: Some(format!("[rows {start} to {last} of {total}; {on}]")) })
}

fn selector(start: usize, end: usize, pointer: &str) -> String {
    if pointer.is_empty() {
        return json!({"type": "rows", "start": start, "end": end}).to_string();
    }
    json!({"type": "rows", "start": start, "end": end, "pointer": pointer}).to_string()
}
