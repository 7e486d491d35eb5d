//! One row for each kind of part and for each way a result can be odd.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn blobs(normalised: &Normalised) -> Vec<(&str, ArtifactKind, &str, &str, &[u8])> {
    let row = |(handle, blob): (&'_ Handle, &'_ Blob)| {
        assert_eq!(*handle, blob.handle);
    };
    normalised.blobs.iter().for_each(row);
    normalised
        .blobs
        .values()
        .map(|b| (b.handle.as_str(), b.kind, &*b.media_type, &*b.label, &*b.bytes))
        .collect()
}

/// CW-1, CW-14, CW-16, CW-18, CW-19: the parts of the seed's example.
#[test]
fn a_result_becomes_summary_blobs_and_full_text() {
    let result = json!({
        "content": [{"type": "text", "text": "Found 42 rows"}, {"type": "text", "text": "done"}],
        "structuredContent": {"status": "done", "count": 42},
        "isError": false,
    });
    let normalised = normalise(&result, "query");
    assert_eq!(normalised.outcome, Outcome::Ok);
    assert_eq!(normalised.full_text, "Found 42 rows\ndone");
    assert_eq!(normalised.summary, normalised.full_text);
    assert_eq!(normalised.facts, ["status: done", "count: 42"]);
    // CW-24, CW-25: sorted keys under the documented handle.
    assert_eq!(
        blobs(&normalised),
        [(
            "mcp:query:structured_content",
            ArtifactKind::Json,
            "application/json",
            "structured content from query",
            br#"{"count":42,"status":"done"}"#.as_slice(),
        )]
    );
    assert_eq!(normalised.findings, []);
}

/// CW-17
#[test]
fn the_error_flag_is_the_outcome() {
    let check = |result: Value, outcome: Outcome| {
        assert_eq!(normalise(&result, "t").outcome, outcome, "{result}");
    };
    check(json!({"content": []}), Outcome::Ok);
    check(json!({"content": [], "isError": false}), Outcome::Ok);
    check(json!({"content": [], "isError": true}), Outcome::Error);
}

/// CW-16
#[test]
fn a_megabyte_of_text_comes_through_unchanged() {
    let text = "long line \u{1b}[1m é\r\n".repeat(50_000);
    let result = json!({"content": [{"type": "text", "text": text}]});
    let normalised = normalise(&result, "t");
    assert_eq!(normalised.full_text, text);
    assert!(normalised.lossy);
}

/// CW-20, CW-21, CW-22, CW-23: each kind of part and its artifact.
#[test]
fn every_part_that_is_not_text_becomes_an_artifact() {
    let check = |part: Value, text: &str, expected: (&str, ArtifactKind, &str, &str, &[u8])| {
        let normalised = normalise(&json!({"content": [part]}), "t");
        assert_eq!(blobs(&normalised), [expected]);
        assert_eq!(normalised.full_text, text);
        assert_eq!(normalised.findings, []);
    };
    check(
        json!({"type": "image", "data": "aGk=", "mimeType": "image/gif"}),
        "(no content)",
        ("mcp:t:image:0", ArtifactKind::Blob, "image/gif", "image from t", b"hi"),
    );
    check(
        json!({"type": "image", "data": "aGk"}),
        "(no content)",
        ("mcp:t:image:0", ArtifactKind::Blob, "image/png", "image from t", b"hi"),
    );
    check(
        json!({"type": "audio", "data": "aGk="}),
        "(no content)",
        ("mcp:t:audio:0", ArtifactKind::Blob, "audio/wav", "audio from t", b"hi"),
    );
    check(
        json!({"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/x", "text": "words"}}),
        "words",
        ("mcp:t:resource:0", ArtifactKind::Text, "text/x", "file:///a", b"words"),
    );
    check(
        json!({"type": "resource", "resource": {"blob": "aGk="}}),
        "(no content)",
        (
            "mcp:t:resource:0",
            ArtifactKind::Blob,
            "application/octet-stream",
            "resource from t",
            b"hi",
        ),
    );
    check(
        json!({"type": "resource_link", "uri": "https://x/y", "name": "y", "mimeType": "text/html"}),
        "(no content)",
        ("mcp:t:resource_link:0", ArtifactKind::Link, "text/uri-list", "y", b"https://x/y"),
    );
}

#[test]
fn what_is_odd_is_kept_and_reported() {
    let check = |result: Value, rule: &str, handle: &str, bytes: &[u8]| {
        let normalised = normalise(&result, "t");
        let rules: Vec<_> = normalised.findings.iter().map(|finding| &*finding.rule).collect();
        assert_eq!(rules, [rule], "{result}");
        let blob = &normalised.blobs[&Handle::from_string(handle)];
        assert_eq!(blob.bytes, bytes, "{result}");
    };
    let part = |part: Value| json!({"content": [part]});
    check(part(json!({"type": "image", "data": "no!"})), "bad_base64", "mcp:t:image:0", b"no!");
    let chart = json!({"type": "chart", "points": [1]});
    check(part(chart.clone()), "part_unknown", "mcp:t:unknown:0", chart.to_string().as_bytes());
    check(part(json!(7)), "part_unknown", "mcp:t:unknown:0", b"7");
    for broken in [
        json!({"type": "text"}),
        json!({"type": "image"}),
        json!({"type": "resource", "resource": {"uri": "a"}}),
        json!({"type": "resource_link", "name": "a"}),
    ] {
        let bytes = broken.to_string();
        check(part(broken), "part_malformed", "mcp:t:unknown:0", bytes.as_bytes());
    }
    check(json!([1]), "result_malformed", "mcp:t:unknown", b"[1]");
    check(json!({"content": 1}), "result_malformed", "mcp:t:unknown", br#"{"content":1}"#);
}

/// CW-27
#[test]
fn annotations_are_gathered_with_the_index_of_their_part() {
    let annotations = json!({"audience": ["human"], "priority": 0.9});
    let result = json!({"content": [{"type": "text", "text": "x", "annotations": annotations}, {"type": "text", "text": "y"}]});
    assert_eq!(
        Value::from(normalise(&result, "t").content_annotations),
        json!([{"part_index": 0, "audience": ["human"], "priority": 0.9}])
    );
}

proptest! {
    #[test]
    fn no_part_is_lost_without_text_or_artifact(kinds in prop::collection::vec("text|image|chart|resource", 0..8)) {
        let parts: Vec<_> = kinds.iter().map(|kind| json!({"type": kind, "text": "x"})).collect();
        let texts = kinds.iter().filter(|kind| *kind == "text").count();
        let normalised = normalise(&json!({"content": parts}), "t");
        prop_assert_eq!(normalised.blobs.len() + texts, kinds.len());
        prop_assert_eq!(normalised.findings.len() + texts, kinds.len());
    }
}
