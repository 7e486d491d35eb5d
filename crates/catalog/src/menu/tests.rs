//! What each mode lists, byte for byte where it matters.

use super::*;
use crate::generation::Source;
use crate::schema::Schema;
use crate::shown::Naming;
use model::{Generation, Selector, UpstreamName};

const REFUND: &str = include_str!("../../fixtures/payments_issue_refund.json");

fn catalogue(naming: Naming) -> Catalogue {
    let definitions = vec![
        serde_json::from_str(REFUND).unwrap(),
        json!({"name": "secret", "inputSchema": {"type": "object"}}),
        json!({"name": "broken", "inputSchema": {"type": 1}}),
    ];
    let upstream = UpstreamName::from_string("pay");
    let source = Source {
        upstream,
        protocol: "mcp",
        namespace: None,
        definitions,
        manifest: None,
        extras: crate::Extras::default(),
    };
    Catalogue::build(Generation(1), vec![source], naming)
}

fn open(entry: &Entry) -> bool {
    entry.item.name != "secret"
}

fn list(mode: Mode) -> Vec<Value> {
    menu(mode, &catalogue(Naming::Auto), &open)
}

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn native_lists_definitions_as_they_are() {
    let definition: Value = serde_json::from_str(REFUND).unwrap();
    let listed = list(Mode::Native);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].to_string(), definition.to_string());
    let renamed = menu(Mode::Native, &catalogue(Naming::Wire), &open);
    let expected = definition.to_string().replacen(
        "payments_issue_refund",
        "mcp__pay__payments_issue_refund",
        1,
    );
    assert_eq!(renamed[0].to_string(), expected);
}

/// CW-69, CW-70, CW-71, gateway-spec §1.
#[test]
fn transparent_lists_stripped_tools_and_three_of_ours() {
    let listed = list(Mode::Transparent);
    assert_eq!(
        names(&listed),
        ["payments_issue_refund", "tool_hydrate", "tool_execute", "tool_view"]
    );
    let description = "Issue a refund against an existing settled transaction.";
    let stripped = json!({"name": "payments_issue_refund", "description": description, "inputSchema": {"type": "object"}});
    assert_eq!(listed[0], stripped);
    assert!(!serde_json::to_string(&listed).unwrap().contains("transaction_id"));
}

/// gateway-spec §1: a stripped list holds names that MCP allows; a native one the upstream's own.
#[test]
fn stripped_tools_have_legal_names() {
    let names_own = ["colon:hash#x", "quote\"name", "a(b)", "a/b", "fine.name-1"];
    let definitions: Vec<Value> = names_own
        .iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
        .collect();
    let source = Source {
        upstream: UpstreamName::from_string("odd"),
        protocol: "mcp",
        namespace: None,
        definitions,
        manifest: None,
        extras: crate::Extras::default(),
    };
    let catalogue = Catalogue::build(Generation(1), vec![source], Naming::None);
    let listed = menu(Mode::Transparent, &catalogue, &|_| true);
    for name in names(&listed) {
        assert!(is_legal(name), "{name}");
        assert!(name.starts_with("tool_") || catalogue.resolve(name).is_some(), "{name}");
    }
    assert!(names(&listed).contains(&"fine.name-1"));
    let native = menu(Mode::Native, &catalogue, &|_| true);
    assert!(names_own.iter().all(|name| names(&native).contains(name)));
}

/// CW-72, CW-73, CW-74, gateway-spec §1.
#[test]
fn gateway_lists_exactly_three_tools() {
    let listed = list(Mode::Gateway);
    assert_eq!(names(&listed), ["tool_browse", "tool_execute", "tool_view"]);
    insta::assert_json_snapshot!("gateway_menu", listed);
}

/// Reads, writes and destructions have a door each, so that clients can prompt by it.
#[test]
fn execute_can_be_split_by_what_is_done() {
    let shown = Menu { mode: Mode::Gateway, doors: Doors::ByDeed, ..Menu::default() };
    let listed = menu(shown, &catalogue(Naming::Auto), &open);
    assert_eq!(
        names(&listed),
        ["tool_browse", "tool_read", "tool_write", "tool_destroy", "tool_view"]
    );
    let claims = |at: usize| {
        let claims = &listed[at]["annotations"];
        (claims["readOnlyHint"].as_bool().unwrap(), claims["destructiveHint"].as_bool().unwrap())
    };
    assert_eq!([claims(1), claims(2), claims(3)], [(true, false), (false, false), (false, true)]);
}

/// A catalogue of a server with resources, one with prompts and one with tools.
fn shelves(resources: bool, prompts: bool) -> Catalogue {
    let source = |name: &str, definitions: Vec<Value>, extras: crate::Extras| Source {
        upstream: UpstreamName::from_string(name),
        protocol: "mcp",
        namespace: None,
        definitions,
        manifest: None,
        extras,
    };
    let list = |there: bool, one: Value| if there { vec![one] } else { Vec::new() };
    let files = crate::Extras {
        resources: list(resources, json!({"uri": "a:b"})),
        ..crate::Extras::default()
    };
    let texts =
        crate::Extras { prompts: list(prompts, json!({"name": "p"})), ..crate::Extras::default() };
    let tool = json!({"name": "t", "description": "Does.", "inputSchema": {"type": "object"}});
    let sources = vec![
        source("files", Vec::new(), files),
        source("texts", Vec::new(), texts),
        source("hands", vec![tool], crate::Extras::default()),
    ];
    Catalogue::build(Generation(1), sources, Naming::Auto)
}

/// Resources and prompts have tools of ours where they are asked for and there are any, and only in
/// mode `gateway`.
#[test]
fn what_is_beside_tools_is_offered_where_it_is_wanted_and_there() {
    const SHELF: [&str; 4] = [RESOURCE_BROWSE, RESOURCE_READ, PROMPT_BROWSE, PROMPT_GET];
    let check = |wanted: (bool, bool), there: (bool, bool), expected: &[&str]| {
        let also = Also { resources: wanted.0, prompts: wanted.1 };
        let catalogue = shelves(there.0, there.1);
        let listed = |mode| menu(Menu { mode, also, ..Menu::default() }, &catalogue, &|_| true);
        let gateway = listed(Mode::Gateway);
        assert_eq!(names(&gateway)[3..], *expected, "{wanted:?} {there:?}");
        for mode in [Mode::Native, Mode::Transparent] {
            let listed = listed(mode);
            assert!(!names(&listed).iter().any(|name| SHELF.contains(name)), "{mode}");
        }
        let nobody =
            menu(Menu { mode: Mode::Gateway, also, ..Menu::default() }, &catalogue, &|_| false);
        assert_eq!(nobody.len(), 3);
    };
    check((true, true), (true, true), &SHELF);
    check((true, false), (true, true), &SHELF[..2]);
    check((false, true), (true, true), &SHELF[2..]);
    check((false, false), (true, true), &[]);
    check((true, true), (true, false), &SHELF[..2]);
    check((true, true), (false, true), &SHELF[2..]);
    check((true, true), (false, false), &[]);
}

/// Models use what they are told stands behind it.
#[test]
fn every_tool_of_ours_names_the_servers_it_leads_to() {
    let check = |mode: Mode, doors: Doors| {
        let also = Also { resources: true, prompts: true };
        let shown = Menu { mode, doors, also, ..Menu::default() };
        for tool in menu(shown, &shelves(true, true), &|_| true) {
            let (name, about) = (&tool["name"], tool["description"].as_str().unwrap());
            let server = match name.as_str().unwrap() {
                own if !RESERVED.contains(&own) => continue,
                RESOURCE_BROWSE | RESOURCE_READ => "files",
                PROMPT_BROWSE | PROMPT_GET => "texts",
                _ => "hands",
            };
            assert!(about.contains(server), "{name}: {about}");
        }
    };
    for doors in [Doors::One, Doors::ByDeed] {
        check(Mode::Gateway, doors);
        check(Mode::Transparent, doors);
    }
}

#[test]
fn our_own_schemas_hold_together_and_refuse_what_they_do_not_know() {
    for tool in list(Mode::Gateway).iter().chain(&list(Mode::Transparent)[1..]) {
        let schema = Schema::compile(&tool["inputSchema"]).unwrap();
        assert!(!schema.check(&json!({"surprise": 1})).is_empty(), "{}", tool["name"]);
    }
}

#[test]
fn the_selector_schema_and_the_selector_type_agree() {
    let listed = list(Mode::Gateway);
    let schema = Schema::compile(&listed[2]["inputSchema"]["properties"]["selector"]).unwrap();
    let check = |selector: Value, fits: bool| {
        assert_eq!(schema.check(&selector).is_empty(), fits, "{selector}");
        assert_eq!(
            serde_json::from_value::<Selector>(selector.clone()).is_ok(),
            fits,
            "{selector}"
        );
    };
    check(json!({"type": "head"}), true);
    check(json!({"type": "head", "chars": 10}), true);
    check(json!({"type": "head", "chars": -1}), false);
    check(json!({"type": "head", "start": 1}), false);
    check(json!({"type": "lines", "start": 1, "end": 5}), true);
    check(json!({"type": "lines", "start": 1}), false);
    check(json!({"type": "json_pointer", "pointer": "/a"}), true);
    check(json!({"type": "json_pointer"}), false);
    check(json!({"type": "rows"}), false);
    check(json!({"type": "rows", "start": 1, "end": 2, "pointer": "/a"}), true);
    check(json!({"type": "tail"}), true);
    check(json!({"type": "chars", "offset": 9}), true);
    check(json!({"type": "bytes", "start": 0, "end": 2}), true);
    check(json!({"type": "json_keys", "keys": ["a"]}), true);
    check(json!({"type": "grep", "pattern": "x", "context": 2}), true);
    check(json!({"type": "grep"}), false);
    check(json!({}), false);
}

#[test]
fn what_may_not_be_seen_is_not_even_counted() {
    for mode in Mode::ALL {
        let text =
            serde_json::to_string(&menu(*mode, &catalogue(Naming::Auto), &|_| false)).unwrap();
        assert!(!text.contains("pay"), "{mode}");
    }
    assert!(list(Mode::Gateway)[0]["description"].as_str().unwrap().contains("payments (1)"));
}

#[test]
fn a_mode_reads_back_from_its_word() {
    for mode in Mode::ALL {
        assert_eq!(mode.to_string().parse(), Ok(*mode));
        assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
    }
    let error = "loud".parse::<Mode>().unwrap_err();
    assert_eq!(error.to_string(), "`loud` is no mode; use `native`, `transparent` or `gateway`");
}

/// PROTOCOL 1.13: a schema of anything but an object is kept from older clients, and nothing else.
#[test]
fn older_clients_are_told_of_objects_only() {
    let check = |schema: Value, kept: bool| {
        let tool = json!({"name": "a", "outputSchema": schema, "inputSchema": {"type": "object"}});
        let older = json!({"name": "a", "inputSchema": {"type": "object"}}).to_string();
        let told = for_older(&tool).map(|told| told.to_string());
        assert_eq!(told, (!kept).then_some(older), "{tool}");
    };
    check(json!({"type": "object", "properties": {}}), true);
    check(json!({"type": "array", "items": {}}), false);
    check(json!({"type": ["object", "null"]}), false);
    check(json!({"anyOf": [{"type": "object"}]}), false);
    check(json!(true), false);
    assert_eq!(for_older(&json!({"name": "a", "inputSchema": {"type": "object"}})), None);
}
