//! Shows a part of a stored artifact, page by page, cleaned like everything a model reads.

mod page;
mod pointer;
mod selector;

use model::{Answer, Code, Fault, Selector};
use serde_json::json;

use crate::blob::encode_base64;
use crate::cleared::Cleared;
use crate::redact::Redactor;
use crate::refuse::release;
pub use selector::parse_selector;

/// One page of at most `limits::VIEW_CHARS_MAX` characters, with a note on what comes next.
///
/// Pictures and sounds come whole, by `head`.
pub fn view(
    bytes: &[u8],
    media_type: &str,
    selector: &Selector,
    redactor: &Redactor,
) -> Result<Cleared, Fault> {
    if let Some(kind) = media_kind(media_type) {
        return media(kind, bytes, media_type, selector);
    }
    let text = str::from_utf8(bytes).map_err(|error| not_text(media_type, &error))?;
    let page = match selector {
        Selector::Head { chars } => page::head(text, *chars),
        Selector::Lines { start, end } => page::lines(text, *start, *end),
        Selector::JsonPointer { pointer } => pointer::value(text, pointer),
    }?;
    Ok(release(page.into_answer(), redactor))
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

fn media_kind(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.split_once('/') {
        Some(("image", subtype)) if subtype != "svg+xml" => Some("image"),
        Some(("audio", _)) => Some("audio"),
        _ => None,
    }
}

fn media(
    kind: &str,
    bytes: &[u8],
    media_type: &str,
    selector: &Selector,
) -> Result<Cleared, Fault> {
    if !matches!(selector, Selector::Head { .. }) {
        let message = format!(
            "`{media_type}` has no lines and no JSON; use {{\"type\":\"head\"}} to get it whole"
        );
        return Err(failed(message));
    }
    let block = json!({"type": kind, "data": encode_base64(bytes), "mimeType": media_type});
    Ok(release(Answer { content: vec![block], ..Answer::default() }, &Redactor::default()))
}

fn not_text(media_type: &str, error: &std::str::Utf8Error) -> Fault {
    failed(format!(
        "`{media_type}` is not UTF-8 text, and only text, images and audio can be viewed; \
         the artifact itself is complete, ask the operator for the file"
    ))
    .logging(error)
}

fn failed(message: impl AsRef<str>) -> Fault {
    Fault::new(Code::ViewFailed, message)
}

#[cfg(test)]
mod tests;
