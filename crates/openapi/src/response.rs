//! From a response to an answer in the shape all connectors share.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Answer;
use serde_json::{Value, json};

use crate::limits::EXCERPT_CHARS_MAX;
use crate::operation::is_json;

/// Reads a response. A JSON object becomes structured content, other text stays text, bytes that
/// are no text become a block of their media type, and any status but 2xx is the tool's error.
pub fn answer(status: u16, media_type: &str, body: &[u8]) -> Answer {
    if !(200..300).contains(&status) {
        return failure(status, body);
    }
    if body.is_empty() {
        return Answer::text(format!("status {status}, no content"));
    }
    let Ok(text) = str::from_utf8(body) else { return bytes(media_type, body) };
    match serde_json::from_str::<Value>(text) {
        Ok(value) if is_json(media_type) && value.is_object() => Answer::structured(value),
        _ => Answer::text(text),
    }
}

fn failure(status: u16, body: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let mut excerpt: String = text.chars().take(EXCERPT_CHARS_MAX).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    let colon = if excerpt.is_empty() { "" } else { ": " };
    Answer::error(format!("the service answered with status {status}{colon}{excerpt}"))
}

fn bytes(media_type: &str, body: &[u8]) -> Answer {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let data = STANDARD.encode(body);
    let block = match essence.split('/').next() {
        Some(kind @ ("image" | "audio")) => {
            json!({"type": kind, "data": data, "mimeType": essence})
        }
        _ => json!({"type": "resource", "resource": {
            "uri": "response:body", "mimeType": essence, "blob": data,
        }}),
    };
    Answer { content: vec![block], ..Answer::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_json_object_is_structured_and_text_at_once() {
        let answer = answer(200, "application/json; charset=utf-8", br#"{"id": 7}"#);
        assert_eq!(answer.structured, Some(json!({"id": 7})));
        assert_eq!(answer.full_text(), r#"{"id":7}"#);
        assert!(!answer.is_error);
    }

    #[test]
    fn everything_else_that_succeeds_is_text() {
        let check = |media_type: &str, body: &str, expected: &str| {
            let answer = answer(201, media_type, body.as_bytes());
            assert_eq!((answer.full_text().as_str(), answer.structured), (expected, None));
        };
        check("application/json", "[1, 2]", "[1, 2]");
        check("application/json", "{broken", "{broken");
        check("text/plain", r#"{"id": 7}"#, r#"{"id": 7}"#);
        check("", "hello", "hello");
        check("application/json", "", "status 201, no content");
    }

    #[test]
    fn vendor_json_counts_as_json() {
        assert!(answer(200, "application/vnd.github+json", b"{}").structured.is_some());
    }

    #[test]
    fn bytes_keep_their_media_type() {
        let picture = answer(200, "image/png", b"\x89PNG\xff");
        assert_eq!(picture.content[0]["type"], "image");
        assert_eq!(picture.content[0]["mimeType"], "image/png");
        let paper = answer(200, "application/pdf", b"%PDF\xff");
        assert_eq!(paper.content[0]["resource"]["mimeType"], "application/pdf");
    }

    #[test]
    fn a_failure_is_the_tools_error_with_an_excerpt() {
        let check = |status: u16, body: &str, expected: &str| {
            let answer = answer(status, "application/json", body.as_bytes());
            assert!(answer.is_error && answer.structured.is_none());
            assert_eq!(answer.full_text(), format!("the service answered with status {expected}"));
        };
        check(404, r#"{"error":"no such pet"}"#, r#"404: {"error":"no such pet"}"#);
        check(500, "", "500");
        check(302, "moved", "302: moved");
        let long = answer(500, "text/html", &[b'x'; 10_000]).full_text();
        assert!(long.chars().count() < EXCERPT_CHARS_MAX + 50 && long.ends_with('…'));
    }

    proptest! {
        #[test]
        fn only_2xx_is_a_success(status in any::<u16>(), kind in ".{0,20}", body in any::<Vec<u8>>()) {
            let answer = answer(status, &kind, &body);
            prop_assert_eq!(answer.is_error, !(200..300).contains(&status));
            prop_assert_eq!(answer.content.len(), 1);
        }
    }
}
