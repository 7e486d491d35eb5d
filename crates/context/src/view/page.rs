//! Pages of plain text: from the top or the end, by lines that count from one, by characters or
//! bytes that count from zero.

use model::Fault;
use model::limits::VIEW_CHARS_MAX;
use serde_json::json;

use super::{Page, failed};

pub(super) fn head(text: &str, chars: usize) -> Result<Page, Fault> {
    if chars == 0 {
        return Err(failed("`chars` must be at least 1"));
    }
    let shown = first_chars(text, chars.min(VIEW_CHARS_MAX));
    let note = (shown.len() < text.len()).then(|| head_note(text, shown));
    Ok(Page { text: shown.to_owned(), note })
}

pub(super) fn lines(text: &str, start: usize, end: usize) -> Result<Page, Fault> {
    let total = text.split_inclusive('\n').count();
    if start == 0 || end < start {
        let message = "lines count from 1, and `end` is the last line shown, not below `start`";
        return Err(failed(message));
    }
    if start > total {
        return Err(failed(format!("line {start} is beyond the end; there are {total} lines"))
            .with("total_lines", total));
    }
    let span = Span { start, end: end.min(total), total };
    Ok(whole_lines(text, &span).unwrap_or_else(|| long_line(text, &span)))
}

/// The last lines, as many as fit a page, with the way to those before.
pub(super) fn tail(text: &str, lines: usize) -> Result<Page, Fault> {
    if lines == 0 {
        return Err(failed("`lines` must be at least 1"));
    }
    let total = text.split_inclusive('\n').count();
    let mut left = VIEW_CHARS_MAX;
    let mut shown: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n').rev().take(lines) {
        let Some(less) = left.checked_sub(line.chars().count()) else { break };
        left = less;
        shown.push(line);
    }
    if shown.is_empty() && total > 0 {
        let chars = text.chars().count();
        return self::chars(text, chars.saturating_sub(VIEW_CHARS_MAX), VIEW_CHARS_MAX);
    }
    let first = total - shown.len();
    shown.reverse();
    let before = match first {
        0 => "that is all".to_owned(),
        _ => format!("to go back: {}", selector(first.saturating_sub(lines) + 1, first, total)),
    };
    let note = format!("[lines {} to {total} of {total}; {before}]", first + 1);
    Ok(Page { text: shown.concat(), note: Some(note) })
}

/// Characters from `offset` on: the way through lines that are longer than a page.
pub(super) fn chars(text: &str, offset: usize, chars: usize) -> Result<Page, Fault> {
    let total = text.chars().count();
    if chars == 0 || offset >= total.max(1) {
        return Err(failed(format!(
            "`chars` is at least 1, and `offset` counts from 0; there are {total} characters"
        ))
        .with("total_chars", total));
    }
    let at = text.char_indices().nth(offset).map_or(text.len(), |(at, _)| at);
    let rest = text.get(at..).unwrap_or_default();
    let shown = first_chars(rest, chars.min(VIEW_CHARS_MAX));
    let end = offset + shown.chars().count();
    Ok(stretch(
        shown,
        "characters",
        (offset, end, total),
        |next, length| json!({"type": "chars", "offset": next, "chars": length}),
    ))
}

/// Bytes of a text; a character cut in two belongs to the page it begins in.
pub(super) fn bytes(text: &str, start: usize, end: usize) -> Result<Page, Fault> {
    let total = text.len();
    if start >= end || start >= total {
        return Err(failed(format!(
            "bytes count from 0 and `end` is above `start`; there are {total}"
        ))
        .with("total_bytes", total));
    }
    let whole = |at: usize| (at..=total).find(|at| text.is_char_boundary(*at)).unwrap_or(total);
    let start = whole(start);
    let end = whole(end.min(total).max(start));
    let shown = first_chars(text.get(start..end).unwrap_or_default(), VIEW_CHARS_MAX);
    Ok(stretch(
        shown,
        "bytes",
        (start, start + shown.len(), total),
        |next, length| json!({"type": "bytes", "start": next, "end": next + length}),
    ))
}

fn stretch(
    shown: &str,
    unit: &str,
    (start, end, total): (usize, usize, usize),
    next: impl Fn(usize, usize) -> serde_json::Value,
) -> Page {
    let on = if end >= total {
        "that is the end".to_owned()
    } else {
        format!("to go on: {}", next(end, (end - start).max(1)))
    };
    let note = format!("[{unit} {start} to {end} of {total}; {on}]");
    Page { text: shown.to_owned(), note: Some(note) }
}

/// The longest prefix of at most `chars` characters.
pub(super) fn first_chars(text: &str, chars: usize) -> &str {
    let at = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(at).map_or(text, |(head, _)| head)
}

fn head_note(text: &str, shown: &str) -> String {
    let (shown_chars, chars) = (shown.chars().count(), text.chars().count());
    let total = text.split_inclusive('\n').count();
    let next = shown.matches('\n').count() + 1;
    let on = match next {
        1 => format!(
            "the first line is longer than that; to go on: {}",
            json!({"type": "chars", "offset": shown_chars, "chars": VIEW_CHARS_MAX})
        ),
        _ => format!("to go on: {}", selector(next, next + 99, total)),
    };
    format!("[characters 1 to {shown_chars} of {chars}, {total} lines in all; {on}]")
}

struct Span {
    start: usize,
    end: usize,
    total: usize,
}

/// As many lines as fit a page; `None` when not even the first does.
fn whole_lines(text: &str, span: &Span) -> Option<Page> {
    let Span { start, end, total } = *span;
    let mut left = VIEW_CHARS_MAX;
    let mut shown = String::new();
    let mut last = start - 1;
    for line in text.split_inclusive('\n').skip(start - 1).take(end - last) {
        let Some(less) = left.checked_sub(line.chars().count()) else { break };
        left = less;
        shown.push_str(line);
        last += 1;
    }
    let full = if last < end { "the page is full; " } else { "" };
    let on = if last == total {
        "that is the end".to_owned()
    } else {
        format!("{full}to go on: {}", selector(last + 1, last + 1 + end - start, total))
    };
    let note = Some(format!("[lines {start} to {last} of {total}; {on}]"));
    (last >= start).then_some(Page { text: shown, note })
}

fn long_line(text: &str, span: &Span) -> Page {
    let Span { start, end, total } = *span;
    let line = text.split_inclusive('\n').nth(start - 1).unwrap_or_default();
    let shown = first_chars(line, VIEW_CHARS_MAX);
    let chars = line.chars().count();
    let on = if start == total {
        "it is the last line".to_owned()
    } else {
        format!("to go on: {}", selector(start + 1, end.max(start + 1), total))
    };
    let before: usize = text.split_inclusive('\n').take(start - 1).map(|l| l.chars().count()).sum();
    let rest = json!({"type": "chars", "offset": before + VIEW_CHARS_MAX, "chars": VIEW_CHARS_MAX});
    let note = format!(
        "[line {start} of {total}, its first {VIEW_CHARS_MAX} of {chars} characters; \
         the rest of it: {rest}; {on}]"
    );
    Page { text: shown.to_owned(), note: Some(note) }
}

fn selector(start: usize, end: usize, total: usize) -> String {
    json!({"type": "lines", "start": start, "end": end.min(total)}).to_string()
}
