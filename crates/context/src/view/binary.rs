//! Bytes that are no text: as image, sound or resource, whole or a stretch of them.

use model::{Answer, Fault, Selector, canonical};
use serde_json::{Value, json};

use super::failed;
use crate::blob::encode_base64;
use crate::cleared::Cleared;
use crate::limits::BINARY_VIEW_BYTES_MAX;
use crate::redact::Redactor;
use crate::refuse::release;

/// The kind of content block, for what is no text by its media type.
pub(super) fn kind(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.split_once('/') {
        Some(("image", subtype)) if subtype != "svg+xml" => Some("image"),
        Some(("audio", _)) => Some("audio"),
        _ => None,
    }
}

pub(super) fn view(bytes: &[u8], media_type: &str, selector: &Selector) -> Result<Cleared, Fault> {
    let (block, note) = match selector {
        Selector::Head { .. } => (whole(bytes, media_type)?, None),
        Selector::Bytes { start, end } => stretch(bytes, media_type, *start, *end)?,
        _ => return Err(no_text(media_type)),
    };
    let mut answer = Answer { content: vec![block], ..Answer::default() };
    answer.content.extend(note.map(|note| json!({"type": "text", "text": note})));
    Ok(release(answer, &Redactor::default()))
}

fn whole(bytes: &[u8], media_type: &str) -> Result<Value, Fault> {
    if bytes.len() > BINARY_VIEW_BYTES_MAX {
        let total = bytes.len();
        return Err(failed(format!(
            "`{media_type}` of {total} bytes is more than one page; read it in parts: {}",
            selector(0, BINARY_VIEW_BYTES_MAX)
        ))
        .with("total_bytes", total));
    }
    Ok(match kind(media_type) {
        Some(kind) => json!({"type": kind, "data": encode_base64(bytes), "mimeType": media_type}),
        None => resource(bytes, bytes, media_type),
    })
}

fn stretch(
    bytes: &[u8],
    media_type: &str,
    start: usize,
    end: usize,
) -> Result<(Value, Option<String>), Fault> {
    let total = bytes.len();
    let end = end.min(total).min(start.saturating_add(BINARY_VIEW_BYTES_MAX));
    let part = bytes.get(start..end).filter(|part| !part.is_empty()).ok_or_else(|| {
        failed(format!("bytes count from 0 and `end` is above `start`; there are {total}"))
            .with("total_bytes", total)
    })?;
    let on = if end == total {
        "that is the end".to_owned()
    } else {
        format!("to go on: {}", selector(end, end + (end - start)))
    };
    let note = format!("[bytes {start} to {end} of {total}; {on}]");
    Ok((resource(bytes, part, media_type), Some(note)))
}

/// The address says what the whole is, so that parts can be put together.
fn resource(all: &[u8], part: &[u8], media_type: &str) -> Value {
    let uri = format!("artifact:sha256:{}", canonical::hash_bytes(all));
    let resource = json!({"uri": uri, "mimeType": media_type, "blob": encode_base64(part)});
    json!({"type": "resource", "resource": resource})
}

fn no_text(media_type: &str) -> Fault {
    failed(format!(
        "`{media_type}` is no text and has no lines and no JSON; use {{\"type\":\"head\"}} to get \
         it whole or {} for a part",
        selector(0, 1024)
    ))
}

fn selector(start: usize, end: usize) -> String {
    json!({"type": "bytes", "start": start, "end": end}).to_string()
}
