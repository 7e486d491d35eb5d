//! What the catalogue costs, how its cards are rendered, and what happens when it changes.

use std::path::Path;

use serde_json::{Value, json};

use crate::{Ran, run, toolgate};

fn ran(folder: &Path, arguments: &[&str]) -> Ran {
    run(toolgate(folder).args(arguments))
}

fn answer(folder: &Path, arguments: &[&str]) -> Value {
    let ran = ran(folder, arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// A configuration with one stub whose tools are in `tools.json`.
fn shelf(folder: &Path, tools: &Value) {
    let config = "data: data\nupstreams:\n  shelf: {type: stub, tools: tools.json, drift: hold}\n";
    std::fs::write(folder.join("toolgate.yaml"), config).unwrap();
    std::fs::write(folder.join("tools.json"), tools.to_string()).unwrap();
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

#[test]
fn cost_compares_the_modes_and_says_what_auto_does() {
    let folder = tempfile::tempdir().unwrap();
    let cost = answer(folder.path(), &["cost", "--json"]);
    let tokens = |mode: &str| cost["cost"][mode].as_u64().unwrap();
    assert!(tokens("gateway") < tokens("native"), "{cost}");
    assert_eq!(cost["cost"]["vocabulary"], "o200k_base");
    assert!(cost["auto"]["why"].as_str().unwrap().contains("4000 tokens"), "{cost}");
    let table = ran(folder.path(), &["cost", "--tools"]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    assert!(table.stdout.contains("tickets_list") && table.stdout.contains("auto shows mode"));
}

/// CW-45, CW-47, CW-48.
#[test]
fn cards_are_rendered_with_the_breakpoint_last() {
    let folder = tempfile::tempdir().unwrap();
    shelf(folder.path(), &json!([tool("a", "First."), tool("b", "Second.")]));
    let cards = answer(folder.path(), &["cards", "render", "--provider", "anthropic"]);
    assert_eq!(
        cards,
        json!([
            {"name": "a", "description": "a() — First.", "input_schema": {"type": "object"}},
            {"name": "b", "description": "b() — Second.", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        ])
    );
    let arguments = ["cards", "render", "--provider", "openai", "--query", "second", "--max", "5"];
    let cards = answer(folder.path(), &arguments);
    assert_eq!(cards[0]["function"]["name"], "b");
    let wrong = ran(folder.path(), &["cards", "render", "--provider", "acme"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("`acme` is no provider"), "{}", wrong.stderr);
}

/// What is meant for prompts is cleaned as the gate cleans what it lists.
#[test]
fn rendered_cards_are_cleaned() {
    let folder = tempfile::tempdir().unwrap();
    shelf(folder.path(), &json!([tool("a", "First.<|im_start|>system\u{200b}")]));
    for provider in ["anthropic", "openai"] {
        let cards = answer(folder.path(), &["cards", "render", "--provider", provider]).to_string();
        assert!(cards.contains("[marker:im_start]"), "{cards}");
        assert!(!cards.contains('\u{200b}') && !cards.contains("u200b"), "{cards}");
    }
}

/// CO-56, A2: seen, changed, held, looked at, accepted.
#[test]
fn a_changed_tool_is_shown_held_and_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    shelf(folder, &json!([tool("a", "First."), tool("b", "Second.")]));
    assert_eq!(ran(folder, &["call", "a"]).code, 0);
    shelf(folder, &json!([tool("a", "First.\u{202e}\u{1b}[2J"), tool("b", "Second.")]));

    let held = ran(folder, &["call", "a"]);
    assert_eq!(held.code, 4, "{}", held.stderr);
    assert!(held.stderr.contains("CATALOGUE_DRIFT"), "{}", held.stderr);
    assert_eq!(ran(folder, &["call", "b"]).code, 0);

    let diff = ran(folder, &["tools", "diff"]);
    let expected = "shelf/a: changed (prose only)\n  /description: \"First.\" -> \"First.\\u{202e}\\u001b[2J\" (prose only)\n";
    assert_eq!(diff.stdout, expected, "{}", diff.stderr);
    assert_eq!(answer(folder, &["tools", "diff", "--json"])[0]["grade"], "prose");

    assert_eq!(ran(folder, &["tools", "accept"]).code, 2);
    assert_eq!(ran(folder, &["tools", "accept", "b"]).code, 1);
    assert_eq!(ran(folder, &["tools", "accept", "shelf/a"]).stdout, "accepted shelf/a\n");
    assert_eq!(ran(folder, &["tools", "diff"]).stdout, "everything is as it was accepted\n");
    assert_eq!(ran(folder, &["call", "a"]).code, 0);
}

/// Offers the prompts in `prompts.json`, the resources in `resources.json`, and a tool.
const LIBRARY: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"noop","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) result='{"content":[]}' ;;
    *'"method":"prompts/list"'*) result='{"prompts":'$(cat prompts.json)'}' ;;
    *'"method":"resources/list"'*) result='{"resources":'$(cat resources.json)'}' ;;
    *'"method":"resources/templates/list"'*) result='{"resourceTemplates":[]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

fn library(folder: &Path, about: &str) {
    let config =
        "data: data\nupstreams:\n  lib: {command: sh, args: [server.sh], cwd: ., drift: hold}\n";
    std::fs::write(folder.join("toolgate.yaml"), config).unwrap();
    std::fs::write(folder.join("server.sh"), LIBRARY).unwrap();
    let prompts = json!([{"name": "greet", "description": about}]);
    let resources = json!([{"uri": "note://1", "name": "one", "description": about}]);
    std::fs::write(folder.join("prompts.json"), prompts.to_string()).unwrap();
    std::fs::write(folder.join("resources.json"), resources.to_string()).unwrap();
}

/// CO-56: prompts and resources are pinned, shown and accepted as tools are.
#[test]
fn a_changed_prompt_and_resource_are_shown_and_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    library(folder, "Old.");
    let called = ran(folder, &["call", "noop", "--yes"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    assert_eq!(ran(folder, &["tools", "diff"]).stdout, "everything is as it was accepted\n");
    library(folder, "New.");
    let diff = ran(folder, &["tools", "diff"]);
    let change = "  /description: \"Old.\" -> \"New.\" (prose only)\n";
    let expected = format!(
        "resource lib/note://1: changed (prose only)\n{change}prompt lib/greet: changed (prose only)\n{change}"
    );
    assert_eq!(diff.stdout, expected, "{}", diff.stderr);
    assert_eq!(
        ran(folder, &["tools", "accept", "lib/greet"]).stdout,
        "accepted prompt lib/greet\n"
    );
    let left = answer(folder, &["tools", "diff", "--json"]);
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
    assert_eq!((&left[0]["name"], &left[0]["kind"]), (&json!("note://1"), &json!("resource")));
    assert_eq!(ran(folder, &["tools", "accept", "lib/note://1"]).code, 0);
    assert_eq!(ran(folder, &["tools", "diff"]).stdout, "everything is as it was accepted\n");
}

/// Whoever asks for more than a search gives is told, and not given less without a word.
#[test]
fn more_than_a_search_gives_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    shelf(folder, &json!([tool("a", "First.")]));
    let render = ["cards", "render", "--provider", "openai"];
    let check = |arguments: &[&str], code: i32| {
        assert_eq!(ran(folder, arguments).code, code, "{arguments:?}");
    };
    check(&["tools", "search", "first", "--top", "50"], 0);
    check(&["tools", "search", "first", "--top", "51"], 2);
    check(&[&render[..], &["--query", "first", "--max", "50"]].concat(), 0);
    check(&[&render[..], &["--query", "first", "--max", "51"]].concat(), 2);
    check(&[&render[..], &["--max", "51"]].concat(), 0);
}

/// OR-6: which upstreams offer a tool of some name, without one of them being started.
#[test]
fn what_a_name_comes_to_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let config = "upstreams:\n  off: {command: /nowhere, enabled: false}\n  open: {command: /nowhere}\n  picky: {command: /nowhere, include: [\"get_*\"], exclude: [get_all]}\n";
    std::fs::write(folder.join("toolgate.yaml"), config).unwrap();
    let check = |name: &str, expected: [bool; 3], why: &str| {
        let told = answer(folder, &["tools", "explain", name, "--json"]);
        let accepts = [0, 1, 2].map(|n| told["upstreams"][n]["accepts"] == true);
        assert_eq!(accepts, expected, "{told}");
        assert_eq!(told["upstreams"][2]["why"], why);
    };
    check("get_one", [false, true, true], "`include` names it");
    check("get_all", [false, true, false], "`exclude` names it");
    check("put_one", [false, true, false], "`include` does not name it");
}

/// CW-40: what a provider's discount means for these tools.
#[test]
fn a_discount_is_taken_off_what_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let cost = answer(folder.path(), &["cost", "--json", "--discount", "90"]);
    let whole = cost["cost"]["native"].as_u64().unwrap();
    assert_eq!(cost["again"]["native"].as_u64().unwrap(), whole.div_ceil(10));
    let table = ran(folder.path(), &["cost", "--discount", "50"]);
    assert!(table.stdout.contains("50 % off"), "{}", table.stdout);
    assert_eq!(ran(folder.path(), &["cost", "--discount", "101"]).code, 2);
}

/// CW-93, CW-94: both surfaces from one end to the other, with a stub behind them.
#[test]
fn both_surfaces_can_be_seen_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let check = |part: &str, second: &str| {
        let steps = answer(folder.path(), &["demo", part, "--json"]);
        let does = |at: usize| steps[at]["does"].as_str().unwrap().to_owned();
        let reads = |at: usize| steps[at]["reads"].as_str().unwrap().to_owned();
        assert!(does(1).starts_with(second), "{steps}");
        assert!(reads(2).contains("title") && reads(2).contains("ARGS_INVALID"), "{steps}");
        assert!(!reads(3).contains("ARGS_INVALID"), "{steps}");
    };
    check("gateway", "tool_browse");
    check("proxy", "tool_hydrate");
}

/// C20: two upstreams offer a tool of one name, and the file says what becomes of them.
#[test]
fn the_file_says_what_becomes_of_two_tools_of_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("tools.json"), r#"[{"name": "search"}]"#).unwrap();
    let check = |duplicates: &str, named: &[&str], called: i32| {
        let upstreams = "a: {type: stub, tools: tools.json}\n  b: {type: stub, tools: tools.json}";
        let file = format!("naming: none\n{duplicates}upstreams:\n  {upstreams}\n");
        std::fs::write(folder.join("toolgate.yaml"), file).unwrap();
        let listed = ran(folder, &["tools", "list"]).stdout;
        for name in named {
            assert!(listed.lines().any(|line| line.split('\t').next() == Some(name)), "{listed}");
        }
        let call = ran(folder, &["call", "mcp__a__search"]);
        assert_eq!(call.code, called, "{duplicates} {}", call.stderr);
    };
    check("", &["mcp__a__search", "mcp__b__search"], 0);
    check("duplicates: qualify\n", &["mcp__a__search", "mcp__b__search"], 0);
    check("duplicates: first_wins\n", &["search", "mcp__b__search"], 0);
    check("duplicates: error\n", &[], 4);
}

/// C1, OR-11: the file says which of its names a tool is shown by, and it is called by any of them.
#[test]
fn the_file_says_which_names_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("tools.json"), r#"[{"name": "git.log"}]"#).unwrap();
    let check = |naming: &str, named: &str| {
        let file = format!("{naming}upstreams:\n  a: {{type: stub, tools: tools.json}}\n");
        std::fs::write(folder.join("toolgate.yaml"), file).unwrap();
        let listed = ran(folder, &["tools", "list"]).stdout;
        let shown = listed.lines().any(|line| {
            line.split('\t').next().is_some_and(|name| name.split('#').next() == Some(named))
        });
        assert!(shown, "{naming}: {listed}");
        for name in [named, "git:log", "git.log"] {
            let call = ran(folder, &["call", name]);
            assert_eq!(call.code, 0, "{naming} {name}: {}", call.stderr);
        }
    };
    check("", "git.log");
    check("naming: legacy\n", "git:log");
    check("naming: wire\n", "mcp__a__git_log");
    check("naming: capability\n", "mcp__a__git_log");
    check("naming: capability\nnaming_prefix: tools\n", "tools__a__git_log");
}
