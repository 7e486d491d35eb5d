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
    assert_eq!(ran(folder, &["tools", "diff"]).stdout, "every tool is as it was accepted\n");
    assert_eq!(ran(folder, &["call", "a"]).code, 0);
}
