//! What clients are shown over the wire in each mode, and what happens when that changes.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
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
    *'"method":"resources/read"'*) result='{"contents":[{"uri":"note://1","text":"a note"}]}' ;;
    *'"method":"prompts/get"'*) result='{"messages":[{"role":"user","content":{"type":"text","text":"Hello."}}]}' ;;
    *'"name":"tool_9"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"broken"}}\n' "$id"; continue ;;
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
pub(crate) fn ringing(tools: usize, more: &str) -> Home {
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
    let mut peer = Peer::start_in(home, Over::Stdio, &["--yes", "--log", "info"]).await;
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
    let mut peer = Peer::start_in(home, Over::Stdio, &["--yes"]).await;
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
        let mut peer =
            Peer::start_in(ringing(1, ""), Over::Stdio, &["--yes", "--mode", mode]).await;
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
    let mut peer = Peer::start_in(home, Over::Stdio, &["--yes"]).await;
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
    let mut peer = Peer::start_in(home, Over::Stdio, &["--yes", "--mode", "native"]).await;
    peer.initialize(LEGACY).await;
    assert_eq!(names(&mut peer).await, ["mcp__ring__tool_0"]);
    let listed = peer.home.json(&["tools", "list"]);
    assert!(listed.to_string().contains("mcp__ring__tool_0"), "{listed}");
}

#[tokio::test]
async fn models_are_told_how_to_use_what_they_are_shown() {
    let check = async |mode: &str, wanted: Option<&str>| {
        let mut peer =
            Peer::start_in(ringing(1, ""), Over::Stdio, &["--yes", "--mode", mode]).await;
        let welcome = peer.initialize(LEGACY).await;
        let instructions = welcome.get("instructions").and_then(Value::as_str);
        assert_eq!(instructions.is_some(), wanted.is_some(), "{mode}");
        assert!(instructions.unwrap_or_default().contains(wanted.unwrap_or_default()), "{mode}");
    };
    check("gateway", Some("tool_execute")).await;
    check("transparent", Some("tool_hydrate")).await;
    check("auto", None).await;
}

/// What is no tool is found and read through tools of ours, where the configuration asks for it.
#[tokio::test]
async fn a_resource_is_read_and_a_prompt_got_through_tools_of_ours() {
    let beside = ["resource_browse", "resource_read", "prompt_browse", "prompt_get"];
    for (more, expected) in
        [("", &[][..]), ("exposure: {resources: true, prompts: true}\n", &beside)]
    {
        let home = ringing(1, &format!("mode: gateway\n{more}"));
        let mut peer = Peer::start_in(home, Over::Stdio, &["--yes"]).await;
        peer.initialize(LEGACY).await;
        assert_eq!(names(&mut peer).await[3..], *expected);
        if expected.is_empty() {
            continue;
        }
        let check = async |peer: &mut Peer, name: &str, args: Value, said: &str| {
            let result = peer.call(name, args).await["result"].clone();
            assert!(result["isError"] != true && result.to_string().contains(said), "{result}");
        };
        check(&mut peer, "resource_browse", json!({}), "note://1").await;
        check(&mut peer, "resource_read", json!({"uri": "note://1"}), "a note").await;
        check(&mut peer, "prompt_browse", json!({}), "greet").await;
        check(&mut peer, "prompt_get", json!({"name": "greet", "args": {}}), "Hello.").await;
    }
}

/// What `toolgate cost` says a mode costs is what its list costs on the wire.
#[tokio::test]
async fn cost_is_counted_on_the_bytes_that_are_sent() {
    let more = "exposure: {resources: true, prompts: true}\nbrowse: {max_cards: 7}\n";
    let cost = ringing(5, more).json(&["cost", "--yes"]);
    for mode in ["native", "transparent", "gateway"] {
        let mut peer =
            Peer::start_in(ringing(5, more), Over::Stdio, &["--yes", "--mode", mode]).await;
        peer.initialize(LEGACY).await;
        let listed = peer.ask("tools/list", json!({})).await;
        let sent = catalog::tokens::count(&listed["result"]["tools"].to_string());
        assert_eq!(cost["cost"][mode], sent, "{mode}: {cost}");
    }
    let native = cost["cost"]["native"].as_u64().unwrap();
    let why = cost["auto"]["why"].as_str().unwrap();
    assert!(why.contains(&format!("all 5 tools costs {native} tokens")), "{why}");
    assert_eq!(cost["cost"]["browse_cards"], 7, "{cost}");
}

/// Nobody is sent to a tool that the mode does not have, and nothing is guessed.
#[tokio::test]
async fn a_name_that_means_nothing_is_answered_with_what_there_is() {
    let say = async |mode: &str, tool: &str, id: &str| {
        let mut peer =
            Peer::start_in(ringing(1, ""), Over::Stdio, &["--yes", "--mode", mode]).await;
        peer.initialize(LEGACY).await;
        let answer = peer.call(tool, json!({"tool_id": id, "args": {}})).await;
        assert_eq!(answer["result"]["structuredContent"]["error"], "HYDRATE_FAILED", "{answer}");
        answer["result"]["structuredContent"]["message"].as_str().unwrap().to_owned()
    };
    assert!(say("gateway", "tool_execute", "zebra").await.contains("tool_browse"));
    let said = say("transparent", "tool_execute", "zebra").await;
    assert!(said.contains("zebra") && !said.contains("tool_browse"), "{said}");
    assert!(say("gateway", "tool_execute", "Tool_0").await.contains("near: `tool_0`"));
    assert!(say("gateway", "tool_execute", "tool_browse").await.contains("called directly"));
}

/// CW-84: the tool it is about, not only a field for it.
#[tokio::test]
async fn a_failure_of_an_upstream_names_the_tool() {
    let mut peer =
        Peer::start_in(ringing(10, ""), Over::Stdio, &["--yes", "--mode", "gateway"]).await;
    peer.initialize(LEGACY).await;
    let answer = peer.call("tool_execute", json!({"tool_id": "tool_9", "args": {}})).await;
    let said = &answer["result"]["structuredContent"];
    assert_eq!(
        (&said["error"], &said["path"], &answer["result"]["isError"]),
        (&json!("UPSTREAM_ERROR"), &json!("tool_9"), &json!(true)),
        "{answer}"
    );
    assert!(said["message"].is_string() && said["details"].is_object(), "{answer}");
}

/// CW-51: the run id of a client without a session travels in `_meta`.
#[tokio::test]
async fn a_stateless_client_keeps_its_prefix_by_run() {
    let home = ringing(9, "mode: gateway\nbrowse: {cache_stable: true}\n");
    let mut peer = Peer::start_in(home, Over::Stdio, &["--yes"]).await;
    let mut browse = async |run: &str, words: &str| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            "toolgate/run_id": run,
        });
        let arguments = json!({"query": words, "top_k": 1});
        let params = json!({"name": "tool_browse", "arguments": arguments, "_meta": meta});
        let answer = peer.ask("tools/call", params).await;
        let cards = answer["result"]["structuredContent"]["cards"].as_array().unwrap().clone();
        cards.iter().map(|card| card["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(browse("r", "tool_7").await, ["tool_7"]);
    assert_eq!(browse("r", "tool_3").await, ["tool_7", "__cache_breakpoint__", "tool_3"]);
    assert_eq!(browse("other", "tool_3").await, ["tool_3"]);
}

fn any_arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["/", "//", "tool_0", "art_0", "head", "note://1", "greet"])
            .prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(2, 10, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    let keys = [
        "query", "path", "top_k", "tool_id", "args", "dry_run", "handle", "selector", "uri",
        "name", "x",
    ];
    let keys = prop::sample::select(keys.to_vec()).prop_map(str::to_owned);
    let near = prop::collection::vec((keys, value.clone()), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()));
    prop_oneof![3 => near, 1 => value]
}

/// The params of a request that says itself which revision it is in.
fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// CW-83, CW-84, CW-91, gateway-spec §8: through the gate's own door, in both modes that have tools
/// of their own, and in both eras. What does not fit the listed schema is refused in words a model
/// can act on, which fit the schema that is published for them.
#[test]
fn no_input_to_a_tool_of_ours_is_a_protocol_error_on_the_wire() {
    let published = include_str!("../../../../docs/gateway-error.json");
    let form = jsonschema::validator_for(&serde_json::from_str(published).unwrap()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let rounds = [
        ("gateway", Over::Stdio, false),
        ("transparent", Over::Stdio, false),
        ("gateway", Over::Http, true),
    ];
    for (mode, over, is_modern) in rounds {
        let params = |params: Value| if is_modern { modern(params) } else { params };
        let home = ringing(1, "exposure: {resources: true, prompts: true}\n");
        let (peer, own) = runtime.block_on(async {
            let mut peer = Peer::start_in(home, over, &["--yes", "--mode", mode]).await;
            if !is_modern {
                peer.initialize(LEGACY).await;
            }
            let listed = peer.ask("tools/list", params(json!({}))).await;
            (peer, listed["result"]["tools"].as_array().unwrap().clone())
        });
        let own: Vec<Value> = own.into_iter().filter(|tool| tool["name"] != "tool_0").collect();
        assert_eq!(own.len(), if mode == "gateway" { 7 } else { 3 }, "{own:?}");
        let peer = std::cell::RefCell::new(peer);
        let mut runner = TestRunner::new(Config { cases: 200, ..Config::default() });
        let outcome = runner.run(&(prop::sample::select(own), any_arguments()), |(tool, args)| {
            let name = tool["name"].as_str().unwrap();
            let call = params(json!({"name": name, "arguments": args}));
            let answer = runtime.block_on(peer.borrow_mut().ask("tools/call", call));
            let result = &answer["result"];
            prop_assert!(result.is_object(), "{name} {args}: {answer}");
            if !args.is_object() && !args.is_null() {
                prop_assert_eq!(&result["structuredContent"]["error"], "ARGS_INVALID");
            }
            if result["isError"] == true {
                let broken = form.iter_errors(&result["structuredContent"]).next();
                prop_assert!(broken.is_none(), "{answer}: {broken:?}");
            }
            Ok(())
        });
        outcome.unwrap();
    }
}
