//! What clients are shown over the wire in each mode, and what happens when that changes.

use serde_json::{Value, json};

use crate::gate::Home;
use crate::peer::{Over, Peer};

const LEGACY: &str = "2025-11-25";

/// Lists what is in its file, and says after every call that it has changed.
const RINGING: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":'$(cat tools.json)'}' ;;
    *'"method":"prompts/list"'*) result='{"prompts":[{"name":"greet"}]}' ;;
    *'"method":"resources/list"'*) result='{"resources":[{"uri":"note://1","name":"one"}]}' ;;
    *'"method":"resources/templates/list"'*) result='{"resourceTemplates":[]}' ;;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
      result='{"content":[{"type":"text","text":"done"}]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A folder with this server, so many tools of it, and more configuration.
fn ringing(tools: usize, more: &str) -> Home {
    let home = Home::new();
    home.write("server.sh", RINGING);
    home.write(
        "toolgate.yaml",
        &format!("upstreams:\n  ring: {{command: sh, args: [server.sh], cwd: .}}\n{more}"),
    );
    put(&home, tools);
    home
}

fn put(home: &Home, tools: usize) {
    let tool = |number: usize| {
        let name = format!("tool_{number}");
        json!({"name": name, "description": "Does one of many things.", "inputSchema": {"type": "object"}})
    };
    home.write("tools.json", &Value::from((0..tools).map(tool).collect::<Vec<_>>()).to_string());
}

async fn names(peer: &mut Peer) -> Vec<String> {
    let listed = peer.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn until_told(peer: &mut Peer) {
    let told = |message: &Value| message["method"] == "notifications/tools/list_changed";
    while !peer.news.iter().any(told) {
        let message = peer.next().await;
        peer.news.push(message);
    }
    peer.news.clear();
}

/// Whoever was shown tools natively hears that they are shown in another way now, and back again.
#[tokio::test]
async fn a_change_of_mode_is_announced_and_logged() {
    let home = ringing(2, "exposure: {auto_tokens: 300}\n");
    let mut peer = Peer::start_in(home, Over::Stdio, &["--log", "info"]).await;
    let welcome = peer.initialize(LEGACY).await;
    assert_eq!(welcome["capabilities"]["tools"]["listChanged"], true, "{welcome}");
    assert_eq!(names(&mut peer).await, ["tool_0", "tool_1"]);
    for (tools, expected) in [(60, "tool_browse"), (2, "tool_0")] {
        put(&peer.home, tools);
        peer.call("tool_0", json!({})).await;
        until_told(&mut peer).await;
        assert_eq!(names(&mut peer).await[0], expected);
    }
    let log = peer.home.stderr();
    assert_eq!(log.matches("tools are shown in another mode").count(), 2, "{log}");
}

#[tokio::test]
async fn a_stripped_list_that_changes_is_announced() {
    let home = ringing(2, "mode: transparent\n");
    let mut peer = Peer::start_in(home, Over::Stdio, &[]).await;
    let welcome = peer.initialize(LEGACY).await;
    assert_eq!(welcome["capabilities"], json!({"tools": {"listChanged": true}}));
    put(&peer.home, 3);
    peer.call("tool_0", json!({})).await;
    until_told(&mut peer).await;
    assert_eq!(names(&mut peer).await.len(), 3 + 3);
}

/// CW-108: whatever upstreams can do beside tools, these modes say nothing of it; native says all.
#[tokio::test]
async fn only_tools_are_advertised_where_only_tools_are_shown() {
    let check = async |mode: &str, expected: Value| {
        let mut peer = Peer::start_in(ringing(1, ""), Over::Stdio, &["--mode", mode]).await;
        assert_eq!(peer.initialize(LEGACY).await["capabilities"], expected, "{mode}");
    };
    check("gateway", json!({"tools": {}})).await;
    check("transparent", json!({"tools": {"listChanged": true}})).await;
    let all = json!({"tools": {}, "prompts": {}, "resources": {}, "logging": {}});
    check("native", all).await;
}

/// CW-91, gateway-spec §8.
#[tokio::test]
async fn arguments_that_are_no_object_are_for_the_model_to_correct() {
    for over in [Over::Stdio, Over::Http] {
        let mut peer = Peer::start(over, &["--mode", "gateway"]).await;
        peer.initialize(LEGACY).await;
        for wrong in [json!(7), json!("x"), json!([1]), json!(true)] {
            for own in ["tool_browse", "tool_execute", "tool_view"] {
                let answer = peer.call(own, wrong.clone()).await;
                let said = &answer["result"]["structuredContent"];
                assert_eq!(
                    (&said["error"], &said["path"]),
                    (&json!("ARGS_INVALID"), &json!(own)),
                    "{answer}"
                );
                assert_eq!(answer["result"]["isError"], true, "{answer}");
                assert_eq!(said["details"]["schema"]["type"], "object", "{answer}");
            }
            let answer = peer.call("tickets_list", wrong).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
    }
}

/// A client asks its user by the door: the one that opens for everything is shut.
#[tokio::test]
async fn doors_by_deed_replace_the_one_for_all() {
    let home = ringing(1, "mode: gateway\nexposure: {split_execute: true}\n");
    let mut peer = Peer::start_in(home, Over::Stdio, &[]).await;
    let welcome = peer.initialize(LEGACY).await;
    let instructions = welcome["instructions"].as_str().unwrap();
    assert!(instructions.contains("tool_destroy") && !instructions.contains("tool_execute"));
    let doors = ["tool_browse", "tool_read", "tool_write", "tool_destroy", "tool_view"];
    assert_eq!(names(&mut peer).await, doors);
    let call = json!({"tool_id": "tool_0", "args": {}});
    let refused = peer.call("tool_execute", call.clone()).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(refused["result"]["structuredContent"]["error"], "ARGS_INVALID");
    let undeclared = peer.call("tool_read", call.clone()).await;
    assert!(undeclared["result"].to_string().contains("tool_destroy"), "{undeclared}");
    let called = peer.call("tool_destroy", call).await;
    assert_eq!(called["result"]["content"][0]["text"], "done", "{called}");
}

/// A name that depends on who else answers would break every prompt, policy and client that knows it.
#[tokio::test]
async fn a_tool_is_called_the_same_whoever_else_is_up() {
    let home = ringing(1, "  gone: {command: no-such-program}\n");
    let mut peer = Peer::start_in(home, Over::Stdio, &["--mode", "native"]).await;
    peer.initialize(LEGACY).await;
    assert_eq!(names(&mut peer).await, ["mcp__ring__tool_0"]);
    let listed = peer.home.json(&["tools", "list"]);
    assert!(listed.to_string().contains("mcp__ring__tool_0"), "{listed}");
}

#[tokio::test]
async fn models_are_told_how_to_use_what_they_are_shown() {
    let check = async |mode: &str, wanted: Option<&str>| {
        let mut peer = Peer::start_in(ringing(1, ""), Over::Stdio, &["--mode", mode]).await;
        let welcome = peer.initialize(LEGACY).await;
        let instructions = welcome.get("instructions").and_then(Value::as_str);
        assert_eq!(instructions.is_some(), wanted.is_some(), "{mode}");
        assert!(instructions.unwrap_or_default().contains(wanted.unwrap_or_default()), "{mode}");
    };
    check("gateway", Some("tool_execute")).await;
    check("transparent", Some("tool_hydrate")).await;
    check("auto", None).await;
}
