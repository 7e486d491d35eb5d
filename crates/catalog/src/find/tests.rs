//! A caller's own use decides between equals; explanations and near-duplicates reach the reader.

use model::Generation;
use serde_json::json;

use super::*;
use crate::{Naming, Query, Source};

/// The same tool at two upstreams, and another.
fn catalogue() -> Catalogue {
    among(str::to_owned)
}

fn among(namespace: fn(&str) -> String) -> Catalogue {
    let source = |upstream: &str, name: &str, about: &str| Source {
        upstream: UpstreamName::from_string(upstream),
        protocol: "mcp",
        namespace: Some(namespace(upstream)),
        definitions: vec![json!({
            "name": name, "description": about, "inputSchema": {"type": "object"},
        })],
        manifest: None,
        extras: crate::Extras::default(),
    };
    let about = "Read a file from disk and return its text.";
    let sources = vec![
        source("home", "read_file", about),
        source("work", "read_file", about),
        source("mail", "send_mail", "Send a mail to somebody."),
    ];
    Catalogue::build(Generation(1), sources, Naming::Auto)
}

fn everyone(_: &Entry) -> bool {
    true
}

/// They differ in nothing but their upstream.
fn equals() -> Catalogue {
    among(|_| "files".to_owned())
}

fn ids(look: &Look<'_>) -> Vec<String> {
    equals().find("read a file", look).cards.into_iter().map(|card| card.id).collect()
}

#[test]
fn own_use_decides_between_equals() {
    let plain = Look::new(2, &everyone);
    assert_eq!(ids(&plain), ["mcp__home__read_file", "mcp__work__read_file"]);
    let work = |entry: &Entry| u32::from(entry.item.key.upstream.as_str() == "work");
    let used = Look { uses: Some(&work), ..plain };
    assert_eq!(ids(&used), ["mcp__work__read_file", "mcp__home__read_file"]);
    let told = equals().explain("read a file", &used);
    assert!(told[0].1.from_use > 0.0 && told[1].1.from_use == 0.0);
}

#[test]
fn near_duplicates_are_told_apart_in_one_line() {
    let found = catalogue().find("read a file", &Look::new(5, &everyone));
    let line = "much like mcp__work__read_file: mcp__home__read_file; namespace `home`";
    assert_eq!(found.alike, [line]);
}

#[test]
fn an_upstream_that_is_named_is_understood() {
    let check = |query: &str, first: &str| {
        let found = catalogue().find(query, &Look::new(1, &everyone));
        assert_eq!(found.cards[0].id, first, "{query}");
    };
    check("read a file at work", "mcp__work__read_file");
    check("home: read a file", "mcp__home__read_file");
}

/// CW-42: score descending, then id ascending on ties.
#[test]
fn cards_of_one_score_stand_by_id() {
    let cards = equals().find("read a file", &Look::new(3, &everyone)).cards;
    let scores: Vec<f64> = cards.iter().map(|card| card.score.unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert_eq!(scores[0].to_bits(), scores[1].to_bits(), "they tie");
    assert!(cards[0].id < cards[1].id);
}

/// CW-68: what was asked is what is looked for; asking in other words is the caller's own affair.
#[test]
fn a_query_is_taken_as_it_is_given() {
    let found = |query: &str| {
        catalogue().browse(&Query::Words(query.to_owned()), 3, &everyone).unwrap().unmatched
    };
    assert_eq!(found("read a zebra"), ["zebra"]);
    assert!(found("read a file").is_empty());
}

/// CW-41, CW-43: the same question is answered with the same bytes.
#[test]
fn cards_bytes_identical_across_calls() {
    let bytes = || {
        let query = Query::Words("read a file".to_owned());
        serde_json::to_vec(&catalogue().browse(&query, 10, &everyone).unwrap()).unwrap()
    };
    assert_eq!(bytes(), bytes());
}

/// The cards of one question as they would stand in a prompt.
fn array(catalogue: &Catalogue, query: &str) -> String {
    let query = Query::Words(query.to_owned());
    serde_json::to_string(&catalogue.browse(&query, 10, &everyone).unwrap().cards).unwrap()
}

/// CW-40, as far as scores go: a discount is for a prefix that was sent before, and the whole array is one: no score,
/// and no other byte, hangs on when or after what it was asked.
#[test]
fn the_whole_array_is_a_prefix_sent_before() {
    let catalogue = catalogue();
    let before = array(&catalogue, "read a file");
    let other = array(&catalogue, "send a mail");
    let after = array(&catalogue, "read a file");
    let same = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    assert_eq!((same, after.len()), (before.len(), before.len()));
    assert!(before.contains("\"score\":") && before != other, "{before}");
}

/// CW-45, as far as scores go: what stands before a breakpoint must be the same whoever made it, so another gate that
/// was built from the same tools gives the same scores, to the bit.
#[test]
fn two_gates_of_the_same_tools_give_one_array() {
    for query in ["read a file", "mail at work", "mcp__home__read_file", "zebra"] {
        assert_eq!(array(&catalogue(), query), array(&catalogue(), query), "{query}");
    }
}

#[test]
fn meanings_of_another_generation_are_not_used() {
    let (one, other) = (catalogue(), catalogue());
    let vectors = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]];
    let meant = other.meant(&vectors).unwrap();
    let plain = Look::new(3, &everyone);
    let strange = Look { meaning: Some((&meant, &[0.0, 1.0])), ..plain };
    assert_eq!(one.find("text", &strange), one.find("text", &plain));
    assert_ne!(other.find("text", &strange), other.find("text", &plain));
}

/// The reader is told once an answer, in a few tokens, and of nobody whose tools are not in it.
#[test]
fn an_upstream_that_does_not_answer_is_named_beside_its_cards() {
    let catalogue = catalogue();
    let silent: BTreeSet<UpstreamName> =
        ["home", "elsewhere"].map(UpstreamName::from_string).into();
    let plain = Look::new(5, &everyone);
    let look = Look { stale: Some(&silent), ..plain };
    let among = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let query = Query::Words("read a file".to_owned());
    let found = catalogue.browse_as(&query, &look).unwrap();
    assert_eq!(found.stale, among(&["home"]));
    assert!(found.to_text().contains("not answering now, tools as last listed: home"));
    let added = found.tokens() - catalogue.browse_as(&query, &plain).unwrap().tokens();
    assert!(added <= 15, "{added}");
    let root = catalogue.browse_as(&Query::Path("/".to_owned()), &look).unwrap();
    assert_eq!(root.stale, among(&["home"]));
    let hidden = Look { allowed: &|entry| entry.item.key.upstream.as_str() != "home", ..look };
    assert_eq!(catalogue.browse_as(&query, &hidden).unwrap().stale, among(&[]));
}
