//! An upstream that did not change keeps its part, and the answers are those of a fresh build.

use model::Generation;
use serde_json::json;

use super::*;
use crate::{Naming, Query, Source};

fn source(upstream: &str, tools: &[(&str, &str)]) -> Source {
    let definition = |(name, about): &(&str, &str)| -> Value {
        json!({"name": name, "description": about, "inputSchema": {"type": "object"}})
    };
    Source {
        upstream: UpstreamName::from_string(upstream),
        protocol: "mcp",
        namespace: None,
        definitions: tools.iter().map(definition).collect(),
        manifest: None,
        extras: crate::Extras::default(),
    }
}

const MAIL: &[(&str, &str)] = &[("send_mail", "Send a mail."), ("list_mails", "List mails.")];
const FILES: &[(&str, &str)] = &[("read_file", "Read a file.")];
const MORE_FILES: &[(&str, &str)] = &[("read_file", "Read a file."), ("drop_file", "Drop one.")];

fn build(sources: Vec<Source>) -> Catalogue {
    Catalogue::build(Generation(1), sources, Naming::Auto)
}

fn part(catalogue: &Catalogue, upstream: &str) -> Arc<Part> {
    let parts = &catalogue.indexed().parts;
    Arc::clone(&parts.iter().find(|(name, _)| name.as_str() == upstream).unwrap().1)
}

#[test]
fn a_changed_upstream_updates_its_own_part_alone() {
    let before = build(vec![source("files", FILES), source("mail", MAIL)]);
    let sources = || vec![source("files", MORE_FILES), source("mail", MAIL)];
    let after = before.rebuild(Generation(2), sources(), Naming::Auto);
    assert!(Arc::ptr_eq(&part(&before, "mail"), &part(&after, "mail")));
    assert!(!Arc::ptr_eq(&part(&before, "files"), &part(&after, "files")));
    let fresh = Catalogue::build(Generation(2), sources(), Naming::Auto);
    for words in ["drop a file", "send mail", "list_mails", "nothing"] {
        let answer = |catalogue: &Catalogue| {
            catalogue.browse(&Query::Words(words.to_owned()), 10, &|_| true).unwrap()
        };
        assert_eq!(answer(&after), answer(&fresh), "{words}");
    }
}

#[test]
fn a_tool_that_is_shown_by_another_name_is_found_by_it() {
    let before = build(vec![source("files", FILES)]);
    let sources = vec![source("files", FILES), source("mail", MAIL)];
    let after = before.rebuild(Generation(2), sources, Naming::Auto);
    let found = after.browse(&Query::Words("mcp__files__read_file".to_owned()), 1, &|_| true);
    assert_eq!(found.unwrap().cards[0].id, "mcp__files__read_file");
}

#[test]
fn every_tool_gives_one_text_to_embed() {
    let texts = build(vec![source("files", MORE_FILES)]).texts();
    assert_eq!(texts.len(), 2);
    assert!(texts[1].contains("read file: Read a file."), "{texts:?}");
}
