//! Shows a part of a stored artifact, page by page, cleaned like everything a model reads.

mod binary;
mod grep;
mod keys;
mod page;
mod pointer;
mod rows;
mod selector;

use std::borrow::Cow;

use model::{Answer, Code, Fault, Selector};
use serde_json::json;

use crate::cleared::Cleared;
use crate::json::parse_container;
use crate::redact::Redactor;
use crate::refuse::release;
use crate::sanitise::Cleaner;
pub use selector::parse_selector;

/// One page of at most `limits::VIEW_CHARS_MAX` characters, with a note on what comes next.
///
/// Pictures, sounds and other binaries come whole, by `head`, or a stretch of them by `bytes`.
/// Text is cleaned before it is cut into pages, so that no cut divides what must not be seen.
pub fn view(
    bytes: &[u8],
    media_type: &str,
    selector: &Selector,
    redactor: &Redactor,
) -> Result<Cleared, Fault> {
    let text = match str::from_utf8(bytes) {
        Ok(text) if binary::kind(media_type).is_none() => text,
        _ => return binary::view(bytes, media_type, selector),
    };
    let cleaner = Cleaner::strict(redactor);
    let page = match selector {
        Selector::JsonPointer { pointer } => pointer::value(text, pointer, &cleaner),
        Selector::JsonKeys { pointer, keys, offset } => {
            keys::fields(pointer::find_in(text, pointer, &cleaner)?, pointer, keys, *offset)
        }
        Selector::Rows { start, end, pointer } => {
            rows::rows(text, pointer, rows::Span { start: *start, end: *end }, &cleaner)
        }
        plain => plain_text(&cleaner.text(&laid_out(text, plain)), plain),
    }?;
    Ok(release(page.into_answer(), redactor))
}

/// JSON on one line has no lines to page through, so it is spread out for views by line.
fn laid_out<'t>(text: &'t str, selector: &Selector) -> Cow<'t, str> {
    let by_line = !matches!(selector, Selector::Chars { .. } | Selector::Bytes { .. });
    let one_line = by_line && !text.contains('\n');
    match one_line.then(|| parse_container(text)).flatten() {
        Some(value) => serde_json::to_string_pretty(&value).map_or(Cow::Borrowed(text), Cow::Owned),
        None => Cow::Borrowed(text),
    }
}

fn plain_text(text: &str, selector: &Selector) -> Result<Page, Fault> {
    match selector {
        Selector::Lines { start, end } => page::lines(text, *start, *end),
        Selector::Tail { lines } => page::tail(text, *lines),
        Selector::Chars { offset, chars } => page::chars(text, *offset, *chars),
        Selector::Bytes { start, end } => page::bytes(text, *start, *end),
        Selector::Grep { pattern, ignore_case, context, start } => {
            let search = grep::Search { pattern, ignore_case: *ignore_case, context: *context };
            grep::grep(text, &search, *start)
        }
        Selector::Head { chars } => page::head(text, *chars),
        Selector::JsonPointer { .. } | Selector::JsonKeys { .. } | Selector::Rows { .. } => {
            Err(failed("this selector reads JSON or tables"))
        }
    }
}

/// The text of a page, and what a reader must know beside it.
#[derive(Debug)]
struct Page {
    text: String,
    note: Option<String>,
}

impl Page {
    /// The note is a block of its own, so that the text stays what it is.
    fn into_answer(self) -> Answer {
        let mut answer = Answer::text(self.text);
        answer.content.extend(self.note.map(|note| json!({"type": "text", "text": note})));
        answer
    }
}

fn failed(message: impl AsRef<str>) -> Fault {
    Fault::new(Code::ViewFailed, message)
}

#[cfg(test)]
mod tests;
