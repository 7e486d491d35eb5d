//! Lines that match a pattern, with their numbers and the lines around them.

use model::Fault;
use model::limits::VIEW_CHARS_MAX;
use regex::{Regex, RegexBuilder};
use serde_json::json;

use super::page::first_chars;
use super::{Page, failed};
use crate::limits::{GREP_CONTEXT_MAX, GREP_LINE_CHARS_MAX, GREP_PROGRAM_BYTES_MAX};

pub(super) struct Search<'a> {
    pub(super) pattern: &'a str,
    pub(super) ignore_case: bool,
    pub(super) context: usize,
}

/// From line `start` on, as many matches as fit a page. The time is linear in the text.
pub(super) fn grep(text: &str, search: &Search<'_>, start: usize) -> Result<Page, Fault> {
    let regex = compile(search)?;
    let lines: Vec<&str> = text.lines().collect();
    let matches = |(index, line): (usize, &&str)| regex.is_match(line).then_some(index);
    let hits: Vec<usize> = lines.iter().enumerate().filter_map(matches).collect();
    let from = hits.partition_point(|hit| hit + 1 < start);
    let due = hits.get(from..).unwrap_or_default();
    let (shown, count) = write(&lines, due, search.context.min(GREP_CONTEXT_MAX));
    let next = due.get(count);
    Ok(Page { text: shown, note: Some(note(search, hits.len(), (from, count), next)) })
}

fn compile(search: &Search<'_>) -> Result<Regex, Fault> {
    RegexBuilder::new(search.pattern)
        .case_insensitive(search.ignore_case)
        .size_limit(GREP_PROGRAM_BYTES_MAX)
        .build()
        .map_err(|error| {
            let pattern = first_chars(search.pattern, 60);
            failed(format!(
                "`{pattern}` is no pattern this can search for; lookaround and back references \
                 are not known, and `\\` escapes"
            ))
            .logging(error)
        })
}

/// `7: hit` and `8- around`; a gap is `--`.
fn write(lines: &[&str], hits: &[usize], context: usize) -> (String, usize) {
    let mut shown = String::new();
    let (mut left, mut written) = (VIEW_CHARS_MAX, 0);
    for (count, hit) in hits.iter().enumerate() {
        let first = hit.saturating_sub(context).max(written);
        let last = (hit + context + 1).min(lines.len());
        let mut block = String::new();
        if written > 0 && first > written && context > 0 {
            block.push_str("--\n");
        }
        for (index, line) in lines.iter().enumerate().take(last).skip(first) {
            let mark = if hits.binary_search(&index).is_ok() { ':' } else { '-' };
            let cut = first_chars(line, GREP_LINE_CHARS_MAX);
            let dots = if cut.len() < line.len() { " …" } else { "" };
            block.push_str(
                &[&(index + 1).to_string(), &mark.to_string(), " ", cut, dots, "\n"].concat(),
            );
        }
        let Some(less) = left.checked_sub(block.chars().count()) else { return (shown, count) };
        left = less;
        written = written.max(last);
        shown.push_str(&block);
    }
    (shown, hits.len())
}

fn note(search: &Search<'_>, total: usize, shown: (usize, usize), next: Option<&usize>) -> String {
    let (from, count) = shown;
    let on = match next {
        None => "that is the end".to_owned(),
        Some(next) => {
            let Search { pattern, ignore_case, context } = search;
            let selector = json!({
                "type": "grep", "pattern": pattern, "ignore_case": ignore_case,
                "context": context, "start": next + 1,
            });
            format!("the page is full; to go on: {selector}")
        }
    };
    match count {
        0 => format!("[no match; {total} matches in all]"),
        _ => format!("[matches {} to {} of {total}; {on}]", from + 1, from + count),
    }
}
