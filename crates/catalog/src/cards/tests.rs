//! Cards are bounded, ordered and the same bytes every time.

use super::*;
use crate::generation::{Catalogue, Source};
use crate::shown::Naming;
use model::UpstreamName;
use proptest::prelude::*;
use serde_json::json;

fn catalogue(definitions: Vec<Value>) -> Catalogue {
    let source = Source {
        upstream: UpstreamName::from_string("u"),
        protocol: "mcp",
        namespace: None,
        definitions,
        manifest: None,
        extras: crate::Extras::default(),
    };
    Catalogue::build(Generation(1), vec![source], Naming::Auto)
}

fn entries(definitions: Vec<Value>) -> Vec<Arc<Entry>> {
    catalogue(definitions).entries().to_vec()
}

fn one(definition: Value) -> Card {
    let scored: Vec<_> = entries(vec![definition]).into_iter().map(|entry| (entry, None)).collect();
    make_cards(&scored, 1, Generation(1)).remove(0)
}

#[test]
fn a_signature_reads_like_a_call() {
    let check = |properties: &[&str], required: &[&str], expected: &str| {
        let properties: serde_json::Map<String, Value> =
            properties.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        assert_eq!(one(json!({"name": "f", "inputSchema": schema})).signature, expected);
    };
    check(&["body", "owner", "repo"], &["repo", "owner"], "f(owner, repo, body?)");
    check(&[], &[], "f()");
    let many: Vec<String> = (0..20).map(|i| format!("p{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check(&many, &many, "f(p0, p1, p2, p3, p4, p5, p6, …)");
}

#[test]
fn a_long_description_ends_with_a_sentence_or_an_ellipsis() {
    let check = |text: &str, expected: &str| {
        assert_eq!(description("f()", text, Safety::Unknown), expected);
    };
    check("Short one.", "Short one.");
    check("a\nb\u{7}c", "a b c");
    let sentence = "One sentence that is neither short nor long, so that three of them fit.";
    let long = [sentence; 9].join(" ");
    check(&long, &[sentence; 2].join(" "));
    check(&format!("{sentence} {}", "x1y2 ".repeat(99)), sentence);
    let cut = description("f()", &"word ".repeat(400), Safety::ReadOnly);
    assert!(cut.ends_with("word…"), "{cut}");
    assert!(cut.chars().count() > 100, "{cut}");
}

#[test]
fn parameters_that_cost_too_much_become_an_ellipsis() {
    let names: Vec<String> = (0..9).map(|i| format!("qxzv{i}_Wkjq{i}_plomvx")).collect();
    let properties: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": names});
    let card = one(json!({"name": "f", "inputSchema": schema}));
    assert!(card.signature.ends_with(", …)"), "{}", card.signature);
    assert!(tokens::count(&card.signature) <= limits::SIGNATURE_TOKENS_MAX);
}

/// A name nobody can shorten by leaving words out is shown cut, and the whole one still resolves.
#[test]
fn a_name_that_would_fill_a_card_is_shown_cut() {
    let name = "Zq9".repeat(40);
    let catalogue = catalogue(vec![json!({"name": name})]);
    let card = catalogue.entries()[0].card();
    assert!(card.id.len() <= limits::CUT_NAME_CHARS_MAX, "{}", card.id);
    assert!(tokens::count(&line(card)) <= limits::CARD_TOKENS_MAX);
    for alias in [&name, &card.id] {
        assert_eq!(catalogue.resolve(alias).unwrap().item.name, name);
    }
}

/// No schema, no address, no metadata, and nothing that says nothing.
#[test]
fn the_structured_form_leaves_out_what_says_nothing() {
    let definition = json!({
        "name": "peek", "description": "Look.", "icons": [{"src": "https://example.com/i.png"}],
        "_meta": {"secret": 1}, "inputSchema": {"type": "object", "properties": {"at": {"type": "string"}}},
    });
    assert_eq!(
        structured(&one(definition)),
        json!({"id": "peek", "signature": "peek(at?)", "description": "Look.", "namespace": "mcp", "tags": ["mcp"], "side_effects": true})
    );
}

/// CW-41, CW-43, gateway-spec §4.
#[test]
fn cards_bytes_identical_across_calls() {
    let all = entries(["c", "a", "b"].map(|name| json!({"name": name})).to_vec());
    let scored: Vec<_> = all.into_iter().zip([Some(0.1), Some(0.2), Some(0.2)]).collect();
    let bytes = || serde_json::to_vec(&make_cards(&scored, 20, Generation(1))).unwrap();
    assert_eq!(bytes(), bytes());
}

/// CW-60, CW-61, CW-62, CW-63: claims are shown as claimed.
#[test]
fn claims_are_displayed() {
    let card = one(json!({"name": "rm", "annotations": {"readOnlyHint": true, "costHint": 2.5}}));
    assert_eq!((card.safety, card.side_effects, card.cost_hint), (Safety::ReadOnly, false, 2.5));
    let card = one(json!({"name": "rm", "annotations": {"destructiveHint": true}}));
    assert_eq!((card.safety, card.side_effects), (Safety::Destructive, true));
    assert_eq!(card.tags, ["destructive", "mcp"]);
    assert_eq!(one(json!({"name": "rm"})).safety, Safety::Unknown);
}

/// CW-46: items with a score each, and at most so many cards.
/// CW-42.
#[test]
fn cards_come_best_first_then_by_id() {
    let all = entries(["c", "a", "b", "d"].map(|name| json!({"name": name})).to_vec());
    let scores = [Some(1.0), Some(2.0), Some(2.0), None];
    let scored: Vec<_> = all.into_iter().zip(scores).collect();
    let ids = |max| -> Vec<String> {
        make_cards(&scored, max, Generation(1)).into_iter().map(|card| card.id).collect()
    };
    assert_eq!(ids(10), ["b", "c", "a", "d"]);
    assert_eq!(ids(2), ["b", "c"]);
}

#[test]
fn the_text_form_is_one_line_a_card() {
    let refund: Value =
        serde_json::from_str(include_str!("../../fixtures/payments_issue_refund.json")).unwrap();
    let read =
        json!({"name": "peek", "description": "Look.", "annotations": {"readOnlyHint": true}});
    let scored: Vec<_> =
        entries(vec![refund, read]).into_iter().map(|entry| (entry, None)).collect();
    insta::assert_snapshot!(render_text(&make_cards(&scored, 5, Generation(1))), @r"
    payments_issue_refund(transaction_id, amount_inr, currency, reason_code, idempotency_key) — Issue a refund against an existing settled transaction.
    peek() — Look. [read-only]
    ");
}

proptest! {
    #[test]
    fn every_card_is_bounded_and_free_of_control_characters(
        name in "\\PC{1,200}|[\\x00-\\x7f]{1,20}|[A-Za-z0-9_]{90,128}",
        description in "\\PC{0,600}",
        param in any::<String>(),
    ) {
        let mut properties = serde_json::Map::new();
        properties.insert(param, json!({}));
        let definition = json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}});
        prop_assume!(!name.trim().is_empty());
        let card = one(definition.clone());
        prop_assert!(card.name.chars().count() <= limits::CARD_NAME_CHARS_MAX);
        prop_assert!(tokens::count(&line(&card)) <= limits::CARD_TOKENS_MAX, "{}", line(&card));
        prop_assert!(card.id.len() <= limits::WIRE_NAME_CHARS_MAX);
        let text = render_text(std::slice::from_ref(&card));
        prop_assert!(!text.contains(char::is_control));
        prop_assert_eq!(serde_json::to_string(&card).unwrap(), serde_json::to_string(&one(definition)).unwrap());
    }
}
