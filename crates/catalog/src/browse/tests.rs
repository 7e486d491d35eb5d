//! Browsing finds what may be seen, and says what to do when there is nothing.

use super::*;
use crate::generation::Source;
use crate::shown::Naming;
use model::{Generation, UpstreamName};
use serde_json::json;

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn catalogue() -> Catalogue {
    let source = |upstream: &str, definitions| Source {
        upstream: UpstreamName::from_string(upstream),
        protocol: "mcp",
        namespace: None,
        definitions,
        manifest: None,
        extras: crate::Extras::default(),
    };
    let broken = json!({"name": "github.broken_issue", "inputSchema": {"type": 1}});
    let git = vec![
        tool("github.create_issue", "Open a new issue."),
        tool("github.listIssues", "List issues."),
        broken,
    ];
    let other =
        vec![tool("slack_send_message", "Send a message."), tool("drop_database", "Destroy.")];
    Catalogue::build(Generation(1), vec![source("git", git), source("chat", other)], Naming::None)
}

fn everything(_: &Entry) -> bool {
    true
}

fn tame(entry: &Entry) -> bool {
    entry.item.name != "drop_database"
}

fn path(text: &str) -> Result<Browse, Fault> {
    catalogue().browse(&Query::Path(text.to_owned()), 10, &tame)
}

fn words(text: &str, allowed: &dyn Fn(&Entry) -> bool) -> Browse {
    catalogue().browse(&Query::Words(text.to_owned()), 10, allowed).unwrap()
}

fn ids(browse: &Browse) -> Vec<&str> {
    browse.cards.iter().map(|card| card.id.as_str()).collect()
}

#[test]
fn words_find_tools_best_first() {
    let found = words("create an issue on Mars", &everything);
    assert_eq!(ids(&found), ["github.create_issue", "github.listIssues"]);
    assert_eq!(found.unmatched, ["Mars"]);
    assert!(found.cards[0].score > found.cards[1].score);
    assert_eq!(ids(&words("GITHUB.LISTISSUES", &everything)).first(), Some(&"github.listIssues"));
}

#[test]
fn a_search_without_a_hit_says_so_and_lists_namespaces() {
    let found = words("quantum", &tame);
    assert_eq!(ids(&found), [""; 0]);
    assert_eq!(found.unmatched, ["quantum"]);
    assert_eq!(found.folders, [("github".to_owned(), 2), ("slack".to_owned(), 1)]);
    assert!(found.hint.contains("nothing matches"));
    assert!(found.hint.contains("by path"));
}

/// gateway-spec §2: browsing never answers with silence: words, neighbours and the way by path.
#[test]
fn a_search_without_a_hit_names_what_is_near() {
    let near = |text: &str| words(text, &tame).near;
    assert_eq!(near("isuee").first().map(String::as_str), Some("github.create_issue"));
    assert!(!near("drp_databas").contains(&"drop_database".to_owned()));
    for text in ["", " ", "\u{0}", "zzzz", "\u{1f980}", &"x ".repeat(500)] {
        assert!(!words(text, &tame).to_text().is_empty(), "{text:?}");
        assert!(!words(text, &|_| false).to_text().is_empty(), "{text:?}");
    }
}

/// CW-44: the same browse is the same bytes, as text and as JSON.
#[test]
fn a_browse_is_byte_stable() {
    let bytes = || {
        let found = words("create an issue on Mars", &everything);
        format!("{}\n{}", found.to_text(), found.to_json())
    };
    assert_eq!(bytes(), bytes());
    insta::assert_snapshot!(words("create an issue on Mars", &everything).to_text());
}

#[test]
fn the_root_lists_namespaces_with_counts() {
    let root = path("/").unwrap();
    assert_eq!(root.folders, [("github".to_owned(), 2), ("slack".to_owned(), 1)]);
    assert_eq!(root.cards, []);
}

#[test]
fn paths_lead_to_namespaces_and_tools() {
    let check =
        |text: &str, expected: &[&str]| assert_eq!(ids(&path(text).unwrap()), expected, "{text}");
    check("/github", &["github.create_issue", "github.listIssues"]);
    check("/github/*", &["github.create_issue", "github.listIssues"]);
    check("/github/create_issue", &["github.create_issue"]);
    check("/github/listissues", &["github.listIssues"]);
}

/// Groups are the dots and slashes within a name; `*` stands for any of them.
#[test]
fn groups_lead_from_namespaces_to_tools() {
    let names = ["aws.s3.get", "aws.s3.put", "aws.ec2.start", "aws.login", "fs/dir/list"];
    let source = Source {
        upstream: UpstreamName::from_string("cloud"),
        protocol: "mcp",
        namespace: None,
        definitions: names.map(|name| tool(name, "Does it.")).to_vec(),
        manifest: None,
        extras: crate::Extras::default(),
    };
    let catalogue = Catalogue::build(Generation(1), vec![source], Naming::None);
    let walk = |path: &str, top_k| {
        catalogue.browse(&Query::Path(path.to_owned()), top_k, &everything).unwrap()
    };
    let check =
        |path: &str, expected: &[&str]| assert_eq!(ids(&walk(path, 10)), expected, "{path}");
    check("/aws/s3", &["aws.s3.get", "aws.s3.put"]);
    check("/aws/s3/get", &["aws.s3.get"]);
    check("/aws/s3/*", &["aws.s3.get", "aws.s3.put"]);
    check("/aws", &["aws.ec2.start", "aws.login", "aws.s3.get", "aws.s3.put"]);
    let narrow = walk("/aws", 3);
    assert_eq!(ids(&narrow), ["aws.login"]);
    assert_eq!(narrow.folders, [("aws/ec2".to_owned(), 1), ("aws/s3".to_owned(), 2)]);
    for entry in catalogue.entries() {
        assert_eq!(ids(&walk(&path_of(entry), 10)), [entry.shown_name.as_str()]);
    }
}

#[test]
fn a_long_folder_says_how_much_is_left_out() {
    let query = Query::Path("/github".to_owned());
    let browse = catalogue().browse(&query, 1, &everything).unwrap();
    assert_eq!(browse.cards.len(), 1);
    assert!(browse.hint.starts_with("1 more here"));
}

/// CW-85.
#[test]
fn a_malformed_path_is_invalid() {
    assert_eq!(path("github").unwrap_err().code, Code::PathInvalid);
}

/// CW-86.
#[test]
fn an_absent_path_names_near_ones() {
    let fault = path("/github/create_isue").unwrap_err();
    assert_eq!((fault.code, fault.path.as_str()), (Code::PathNotFound, "/github/create_isue"));
    assert_eq!(fault.details["near"][0], "/github/create_issue");
    assert!(fault.message.contains("/github/create_issue"), "{}", fault.message);
    assert_eq!(path("/github/a/b").unwrap_err().code, Code::PathNotFound);
}

#[test]
fn hidden_and_quarantined_tools_leave_no_trace() {
    let hidden = path("/mcp/drop_database").unwrap_err();
    assert_eq!(hidden.code, Code::PathNotFound);
    assert!(!hidden.details["near"].to_string().contains("drop"));
    assert_eq!(path("/mcp").unwrap_err().code, Code::PathNotFound);
    assert_eq!(words("drop database", &tame).unmatched, ["drop", "database"]);
    assert_eq!(words("broken", &everything).unmatched, ["broken"]);
    assert_eq!(path("/github/broken_issue").unwrap_err().code, Code::PathNotFound);
}

/// CW-87: a bad combination of selectors.
#[test]
fn exactly_one_of_query_and_path_is_needed() {
    let text = || Some("x".to_owned());
    assert_eq!(Query::from_args(text(), None).unwrap(), Query::Words("x".to_owned()));
    assert_eq!(Query::from_args(None, text()).unwrap(), Query::Path("x".to_owned()));
    assert_eq!(Query::from_args(text(), text()).unwrap_err().code, Code::ArgsInvalid);
    assert_eq!(Query::from_args(None, None).unwrap_err().code, Code::ArgsInvalid);
}

/// However many namespaces there are, an answer stays one that can be read.
#[test]
fn folders_are_bounded_and_the_rest_is_counted() {
    let names = (0..600).map(|n| tool(&format!("place{n}.do"), "Does it.")).collect();
    let source = Source {
        upstream: UpstreamName::from_string("many"),
        protocol: "mcp",
        namespace: None,
        definitions: names,
        manifest: None,
        extras: crate::Extras::default(),
    };
    let catalogue = Catalogue::build(Generation(1), vec![source], Naming::None);
    let check = |query: Query, shown: usize| {
        let found = catalogue.browse(&query, 10, &everything).unwrap();
        assert_eq!(found.folders.len(), shown);
        let more = format!("{} more are not listed", 600 - shown);
        assert!(found.hint.starts_with(&more), "{}", found.hint);
    };
    check(Query::Path("/".to_owned()), limits::FOLDERS_MAX);
    check(Query::Words("flurble".to_owned()), limits::NAMESPACES_NAMED_MAX);
}

/// The menu names upstreams, so a reader may ask for one: as a word, or as if it were a place.
#[test]
fn the_name_of_an_upstream_is_understood() {
    assert_eq!(words("chat message", &everything).unmatched, [""; 0]);
    assert_eq!(words("chat", &|_| false).unmatched, ["chat"]);
    let fault = path("/chat").unwrap_err();
    assert_eq!(fault.code, Code::PathNotFound);
    assert!(fault.message.ends_with("near: /slack"), "{}", fault.message);
}
