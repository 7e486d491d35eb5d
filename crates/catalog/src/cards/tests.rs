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
    make_cards(&scored, 1, 0, Generation(1)).remove(0)
}

fn schema(properties: &[String], required: &[String]) -> Value {
    let properties: serde_json::Map<String, Value> =
        properties.iter().map(|name| (name.clone(), json!({}))).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn a_signature_reads_like_a_call() {
    let check = |properties: &[&str], required: &[&str], expected: &str| {
        let owned =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let schema = schema(&owned(properties), &owned(required));
        assert_eq!(one(json!({"name": "f", "inputSchema": schema})).signature, expected);
    };
    check(&["body", "owner", "repo"], &["repo", "owner"], "f(owner, repo, body?)");
    check(&[], &[], "f()");
    let many: Vec<String> = (0..20).map(|i| format!("p{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check(&many, &[], "f(p0?, p1?, p2?, p3?, p4?, p5?, p6?, p7?, p8?, p9?, p10?, p11?, …)");
    check(&many, &many, &format!("f({})", many.join(", ")));
}

/// A card of each form of one tool, with what it costs.
fn forms_of(definition: Value) -> [(Card, usize); 3] {
    let entry = entries(vec![definition]).remove(0);
    [Form::Bare, Form::Short, Form::Full].map(|form| {
        let card = entry.card(form);
        assert_eq!(entry.drawn().face(form).tokens, tokens::count(&line(&card)), "{}", line(&card));
        let tokens = tokens::count(&line(&card));
        (card, tokens)
    })
}

#[test]
fn a_long_description_ends_with_a_sentence_or_an_ellipsis() {
    let check = |text: &str, bare: &str, full: &str| {
        let [bare_card, _, full_card] = forms_of(json!({"name": "f", "description": text}));
        assert_eq!(
            (bare_card.0.description.as_str(), full_card.0.description.as_str()),
            (bare, full)
        );
    };
    check("Short one.", "Short one.", "Short one.");
    check("a\nb\u{7}c", "a b c", "a b c");
    let sentence = "One sentence that is neither short nor long, so that three of them fit.";
    let long = [sentence; 9].join(" ");
    let two = [sentence; 2].join(" ");
    check(&long, &two, &two);
    check(&format!("{sentence} {}", "x1y2 ".repeat(99)), sentence, sentence);
    let [bare, _, full] = forms_of(json!({"name": "f", "description": "word ".repeat(400)}));
    for (card, _) in [&bare, &full] {
        assert!(card.description.ends_with("word…"), "{}", card.description);
        assert!(card.description.chars().count() > 100, "{}", card.description);
    }
    assert!(full.1 > bare.1);
}

/// A model that cannot see a required parameter must ask once more before it can call.
#[test]
fn every_required_parameter_is_shown_where_a_card_has_room() {
    let required: Vec<String> = (0..14).map(|i| format!("shipping_address_{i}")).collect();
    let definition = json!({"name": "f", "description": "Sends it.", "inputSchema": schema(&required, &required)});
    let [(bare, bare_tokens), (short, short_tokens), (full, full_tokens)] = forms_of(definition);
    let whole = format!("f({})", required.join(", "));
    assert_eq!((&short.signature, &full.signature), (&whole, &whole));
    assert!(bare.signature.ends_with(", …)"), "{}", bare.signature);
    assert!(bare_tokens <= limits::BARE_CARD_TOKENS_TARGET);
    assert!(short_tokens.max(full_tokens) <= limits::CARD_TOKENS_MAX);
}

#[test]
fn parameters_that_cost_too_much_become_an_ellipsis() {
    let names: Vec<String> = (0..9).map(|i| format!("qxzv{i}_Wkjq{i}_plomvx")).collect();
    let definition = json!({"name": "f", "inputSchema": schema(&names, &names)});
    for (card, tokens) in forms_of(definition) {
        assert!(card.signature.ends_with(", …)"), "{}", card.signature);
        assert!(tokens <= limits::CARD_TOKENS_MAX);
    }
}

/// The first cards get what room there is, and ten never cost more than an answer may.
#[test]
fn the_best_cards_say_the_most_and_ten_keep_to_the_limit() {
    let required: Vec<String> = (0..9).map(|i| format!("parameter_{i}")).collect();
    let about = "Carries out one of many deeds that need a long line to be told apart. ".repeat(4);
    let definition = |i: usize| json!({"name": format!("deed_{i}"), "description": about, "inputSchema": schema(&required, &required)});
    let scored: Vec<_> =
        entries((0..10).map(definition).collect()).into_iter().map(|entry| (entry, None)).collect();
    let beside = 30;
    let cards = make_cards(&scored, 10, beside, Generation(1));
    let costs: Vec<usize> = cards.iter().map(|card| tokens::count(&line(card))).collect();
    assert!(costs.is_sorted_by(|one, next| one >= next), "{costs:?}");
    assert!(costs[0] > costs[9], "{costs:?}");
    assert!(tokens::count(&render_text(&cards)) + beside <= limits::ANSWER_TOKENS_MAX);
    assert_eq!(make_cards(&scored[..3], 3, beside, Generation(1)), {
        let full = |(entry, _): &(Arc<Entry>, _)| Card {
            generation: Generation(1),
            ..entry.card(Form::Full)
        };
        scored[..3].iter().map(full).collect::<Vec<_>>()
    });
}

/// A name nobody can shorten by leaving words out is shown cut, and the whole one still resolves.
#[test]
fn a_name_that_would_fill_a_card_is_shown_cut() {
    let name = "Zq9".repeat(40);
    let catalogue = catalogue(vec![json!({"name": name})]);
    let card = catalogue.entries()[0].card(Form::Full);
    assert!(card.id.len() <= limits::CUT_NAME_CHARS_MAX, "{}", card.id);
    assert!(tokens::count(&line(&card)) <= limits::CARD_TOKENS_MAX);
    for alias in [&name, &card.id] {
        assert_eq!(catalogue.resolve(alias).unwrap().item.name, name);
    }
}

/// gateway-spec §4: a card is words, never an address, wherever a server wrote one.
#[test]
fn no_card_holds_an_address() {
    let check = |description: &str, expected: &str| {
        let card = one(json!({"name": "t", "description": description, "inputSchema": {}}));
        assert_eq!(card.description, expected);
    };
    check("See https://in.example/docs?token=abc. Then go.", "See [link]. Then go.");
    check("Reads (http://a.example/x) and more", "Reads ([link]) and more");
    check("Reads [the page](https://a.example/x), too", "Reads [the page]([link]), too");
    check("Fetches any http or https:// address", "Fetches any http or [link] address");
    check("See HTTPS://In.Example/x.", "See [link].");
    check("Asks postgres://user:pw@host/db, then ftp://a", "Asks [link], then [link]");
    check("Go seehttps://a.example/x now", "Go [link] now");
    check("Is url=jdbc+x://h;b=//c", "Is url=[link]");
    check("Either http://a|https://b", "Either [link]");
    check("Says a: // b", "Says a: // b");
}

/// A dot that shortens a word ends no sentence.
#[test]
fn a_cut_falls_behind_a_whole_sentence() {
    let filler = "word ".repeat(120);
    let check = |begin: &str, expected: &str| {
        let description = format!("{begin} {filler}");
        let card = one(json!({"name": "t", "description": description, "inputSchema": {}}));
        assert!(card.description.starts_with(expected), "{}", card.description);
        assert_eq!(card.description.len() == expected.len(), expected.ends_with('.'));
    };
    check("Looks it up. Then", "Looks it up.");
    check("Looks up the company No. 7 of", "Looks up the company No. 7 of word");
    check("Takes any field, e.g. Its", "Takes any field, e.g. Its word");
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
    let bytes = || serde_json::to_vec(&make_cards(&scored, 20, 0, Generation(1))).unwrap();
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
        make_cards(&scored, max, 0, Generation(1)).into_iter().map(|card| card.id).collect()
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
    insta::assert_snapshot!(render_text(&make_cards(&scored, 5, 0, Generation(1))), @r"
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
        for (card, tokens) in forms_of(definition.clone()) {
            prop_assert!(tokens <= limits::CARD_TOKENS_MAX, "{}", line(&card));
        }
        let card = one(definition.clone());
        prop_assert!(card.name.chars().count() <= limits::CARD_NAME_CHARS_MAX);
        prop_assert!(tokens::count(&line(&card)) <= limits::CARD_TOKENS_MAX, "{}", line(&card));
        prop_assert!(card.id.len() <= limits::WIRE_NAME_CHARS_MAX);
        let text = render_text(std::slice::from_ref(&card));
        prop_assert!(!text.contains(char::is_control));
        prop_assert_eq!(serde_json::to_string(&card).unwrap(), serde_json::to_string(&one(definition)).unwrap());
    }
}
