//! What reaches the model, and what is kept, for answers short and long.

use super::*;
use model::ArtifactKind;
use proptest::prelude::*;
use serde_json::json;

fn cleared(answer: Answer, profile: Profile, size: Size) -> Clearing {
    let source = Provenance { tool: "list_orders".into(), ..Provenance::default() };
    clear(answer, &Rules { source: &source, profile, size, redactor: &Redactor::default() })
}

fn firewall(inline_chars: usize) -> Size {
    let handle = Handle::from_string("art_1");
    Size::Firewall { inline_chars, budget_tokens: inline_chars / 4 + 320, handle }
}

fn shaped(answer: &Value, inline_chars: usize) -> Clearing {
    let answer = serde_json::from_value(answer.clone()).unwrap();
    cleared(answer, Profile::Plain, firewall(inline_chars))
}

fn log(lines: usize) -> String {
    (1..=lines).map(|n| format!("{n:04} order shipped\n")).collect::<Vec<_>>().concat()
}

#[test]
fn a_short_answer_passes_untouched() {
    let answer: Answer = serde_json::from_value(json!({
        "content": [
            {"type": "text", "text": "two\r\nlines", "annotations": {"priority": 1}},
            {"type": "image", "data": "A".repeat(9_000), "mimeType": "image/png"},
            {"type": "chart", "points": [1, 2]},
        ],
        "structuredContent": {"z": 1, "a": [null]},
        "isError": true,
        "_meta": {"vendor": "x"},
    }))
    .unwrap();
    for size in [Size::Whole, firewall(2_000)] {
        let clearing = cleared(answer.clone(), Profile::Plain, size);
        let wire = |answer: &Answer| serde_json::to_string(answer).unwrap();
        assert_eq!(wire(clearing.cleared.get()), wire(&answer));
        assert_eq!((clearing.blobs.len(), clearing.cleaning.changed_leaves), (0, 0));
    }
}

/// CW-35: the bound itself.
#[test]
fn text_is_set_aside_from_one_character_above_the_bound() {
    let check = |chars: usize, blobs: usize| {
        let clearing = cleared(Answer::text("é".repeat(chars)), Profile::Plain, firewall(2_000));
        assert_eq!(clearing.blobs.len(), blobs, "{chars}");
    };
    check(2_000, 0);
    check(2_001, 1);
}

#[test]
fn whole_means_whole() {
    let answer = Answer::text("x".repeat(1_000_000));
    let clearing = cleared(answer.clone(), Profile::Plain, Size::Whole);
    assert_eq!(*clearing.cleared.get(), answer);
    assert!(clearing.lossy && clearing.blobs.is_empty());
}

#[test]
fn long_text_leaves_its_first_and_last_lines() {
    let clearing = shaped(&json!({"content": [{"type": "text", "text": log(500)}]}), 300);
    insta::assert_snapshot!(clearing.cleared.get().full_text());
    assert_eq!(clearing.cleared.get().structured, None);
    let [blob] = clearing.blobs.as_slice() else { panic!("{:?}", clearing.blobs) };
    assert_eq!((blob.kind, blob.media_type.as_str()), (ArtifactKind::Text, "text/plain"));
    assert_eq!(blob.bytes, log(500).as_bytes());
    assert_eq!(clearing.views.len(), 2);
}

#[test]
fn long_structured_content_leaves_an_outline_and_a_stand_in() {
    let orders: Vec<_> = (0..100).map(|n| json!({"id": n, "state": "open"})).collect();
    let data = json!({"total": 100, "orders": orders});
    let clearing = shaped(
        &json!({"content": [{"type": "text", "text": data.to_string()}], "structuredContent": data}),
        300,
    );
    insta::assert_json_snapshot!(clearing.cleared.get());
    let [blob] = clearing.blobs.as_slice() else { panic!("{:?}", clearing.blobs) };
    assert_eq!(serde_json::from_slice::<Value>(&blob.bytes).unwrap(), data);
    insta::assert_json_snapshot!(clearing.views);
}

#[test]
fn csv_is_named_as_such() {
    let rows = (0..200).map(|n| format!("{n},\"Ann, B\",7\n")).collect::<Vec<_>>().concat();
    let clearing =
        shaped(&json!({"content": [{"type": "text", "text": format!("id,name,n\n{rows}")}]}), 200);
    insta::assert_snapshot!(clearing.cleared.get().full_text());
    assert_eq!(clearing.blobs[0].media_type, "text/csv");
}

#[test]
fn json_text_without_structured_content_is_kept_as_json() {
    let text = json!({"items": vec!["x"; 500]}).to_string();
    let clearing = shaped(&json!({"content": [{"type": "text", "text": text}]}), 200);
    assert_eq!(clearing.blobs[0].media_type, "application/json");
    assert_eq!(clearing.blobs[0].bytes, text.as_bytes());
    let said = clearing.cleared.get().full_text();
    assert!(said.contains("items: an array of 500, the first is string"), "{said}");
    assert!(said.contains(" of 500 at /items]\n\"x\"\n"), "{said}");
    assert!(said.contains(r#""pointer":"/items""#), "{said}");
}

/// A server that repeats its structured content as text says it once.
#[test]
fn the_same_json_twice_counts_once() {
    let data = json!({"a": "x".repeat(150)});
    let text = data.to_string();
    let twice = json!({"content": [{"type": "text", "text": text}], "structuredContent": data});
    assert_eq!(shaped(&twice, 200).blobs, []);
    let other = json!({"content": [{"type": "text", "text": log(8)}], "structuredContent": data});
    assert_ne!(shaped(&other, 200).blobs, []);
}

#[test]
fn a_short_text_beside_long_data_is_shown_whole() {
    let data = json!({"rows": vec![1; 500]});
    let clearing = shaped(
        &json!({"content": [{"type": "text", "text": "500 rows"}], "structuredContent": data}),
        200,
    );
    let said = clearing.cleared.get().full_text();
    assert!(said.contains("[all of it]\n500 rows\n"), "{said}");
    assert_eq!(clearing.blobs.len(), 1);
}

#[test]
fn short_data_beside_long_text_stays_where_it_is() {
    let data = json!({"total": 500});
    let clearing = shaped(
        &json!({"content": [{"type": "text", "text": log(500)}], "structuredContent": data}),
        200,
    );
    assert_eq!(clearing.cleared.get().structured, Some(data));
    assert_eq!(clearing.blobs.len(), 1);
}

/// Images and links stay; files, unknown parts and annotations are named and kept.
#[test]
fn nothing_of_a_long_answer_is_lost() {
    let answer = json!({
        "content": [
            {"type": "text", "text": log(100), "annotations": {"priority": 1}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "from a file"}},
            {"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "aGkh".repeat(50)}},
            {"type": "resource_link", "uri": "https://x/y", "name": "y"},
            {"type": "chart", "points": vec![1; 100]},
        ],
        "structuredContent": {"orders": log(20)},
        "isError": true,
        "_meta": {"vendor": "x"},
    });
    let clearing = shaped(&answer, 400);
    insta::assert_json_snapshot!(clearing.cleared.get());
    let kept: Vec<_> = clearing
        .blobs
        .iter()
        .map(|blob| {
            format!("{} {} {} {}", blob.handle, blob.media_type, blob.label, blob.bytes.len())
        })
        .collect();
    insta::assert_snapshot!(kept.join("\n"));
    let leftover: Vec<Value> =
        serde_json::from_slice(&clearing.blobs.last().unwrap().bytes).unwrap();
    let parts: Vec<_> = leftover.iter().map(|left| &left["part_index"]).collect();
    assert_eq!(parts, [0, 2, 5]);
    assert_eq!(leftover[0]["part"], json!({"type": "text", "annotations": {"priority": 1}}));
}

/// C4: the hash and the blobs see what was sent, the model sees a clean copy.
#[test]
fn the_evidence_is_raw_and_the_copy_is_clean() {
    let dirty = format!("\u{1b}[1mstate: ok\u{7}\n{}", log(50));
    let answer = Answer::text(dirty.clone());
    let raw_hash = canonical::hash(&serde_json::to_value(&answer).unwrap());
    let clearing = cleared(answer, Profile::Plain, firewall(100));
    assert_eq!(clearing.result_hash, raw_hash);
    assert_eq!(clearing.blobs[0].bytes, dirty.as_bytes());
    assert!(!clearing.cleared.get().full_text().contains(['\u{1b}', '\u{7}']));
    assert_eq!(clearing.cleaning.changed_leaves, 1);
    assert_eq!(clearing.facts, ["state: ok"]);
    assert!(clearing.summary.starts_with("state: ok\n0001"));
}

#[test]
fn a_trusted_upstream_passes_verbatim_and_its_summary_is_still_clean() {
    let clearing = cleared(Answer::text("a\u{7}"), Profile::Verbatim, Size::Whole);
    assert_eq!(clearing.cleared.get(), &Answer::text("a\u{7}"));
    assert_eq!(clearing.summary, "a");
    assert_eq!(clearing.cleaning.profile, "verbatim");
}

#[test]
fn a_thousand_files_do_not_make_a_thousand_artifacts() {
    let file = json!({"type": "resource", "resource": {"uri": "f", "blob": "aGkh".repeat(50)}});
    let clearing = shaped(&json!({"content": vec![file; 1_000]}), 400);
    assert_eq!(clearing.blobs.len(), 17);
}

proptest! {
    #[test]
    fn a_shaped_answer_keeps_to_its_budget_and_the_text_can_be_had_back(
        text in "[a-z, \n{}é]{0,800}", inline_chars in 0_usize..600, data in prop::collection::vec("[a-z]{0,30}", 0..20)
    ) {
        let answer = Answer { structured: Some(json!({"data": data})), ..Answer::text(text.clone()) };
        let clearing = cleared(answer.clone(), Profile::Plain, firewall(inline_chars));
        let out = clearing.cleared.get();
        if clearing.blobs.is_empty() {
            prop_assert_eq!(out, &answer);
        } else {
            // Framing included; what passes as structured content is not part of the text.
            let tokens = crate::tokens::count(&out.full_text());
            prop_assert!(tokens <= inline_chars / 4 + 320, "{} tokens", tokens);
            let whole = out.full_text().contains(text.trim_end_matches('\n'));
            prop_assert!(whole || clearing.blobs.iter().any(|blob| blob.bytes == text.as_bytes()));
            let kept = clearing.blobs.iter().any(|blob| serde_json::from_slice::<Value>(&blob.bytes).ok() == answer.structured);
            prop_assert!(kept || out.structured == answer.structured);
        }
    }
}
