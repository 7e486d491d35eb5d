//! What is particular to MCP servers: pages, noise, questions, sessions, news and cancellation.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use auth::Credentials;
use gateway::queue::queue;
use gateway::{CallRequest, Watch};
use model::{Code, Principal, Secret};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolgate_testkit::{McpHttp, Style, TestGateway, World};
use upstream::http::Http;
use upstream::mcp::Age;
use upstream::stdio::{Config, Stdio};
use upstream::{Connector, Split};

use crate::{code, progress};

/// A gate before the child, and where the child writes its notes.
async fn with_child() -> (World, TempDir) {
    let home = tempfile::tempdir().unwrap();
    let notes = home.path().join("notes").display().to_string();
    let config = Config {
        env: BTreeMap::from([("FAKE_MCP_NOTES".to_owned(), Secret::new(notes))]),
        ..Config::new(env!("CARGO_BIN_EXE_fake_mcp"))
    };
    (TestGateway::new().upstream("child", Stdio::new(config)).start().await, home)
}

/// SG-1: what a child lists becomes tools, and every call of one goes the whole road.
#[tokio::test]
async fn a_call_of_a_childs_tool_goes_the_whole_road() {
    let (world, _home) = with_child().await;
    assert_eq!(code(&world.call("echo", json!({"n": 1})).await), None);
    assert_eq!(world.last_record().await.stages, crate::ROAD);
}

/// CO-21 (lineage): the record says which server answered, in which revision, with what to offer.
#[tokio::test]
async fn the_record_names_the_server() {
    let (world, _home) = with_child().await;
    assert_eq!(code(&world.call("echo", json!({})).await), None);
    let server = world.last_record().await.call.lineage.server.unwrap();
    assert_eq!((server.name.as_str(), server.version.as_str()), ("fake-mcp", "1"));
    assert_eq!(server.protocol_version, "2025-11-25");
    assert_eq!(server.capabilities_hash, model::canonical::hash(&json!({"tools": {}})));
}

/// Each caller has a process of its own if the upstream says so, and finds it again.
#[tokio::test]
async fn callers_can_have_a_child_each() {
    let script = r#"while read -r line; do
      id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
      case $line in
        *'"method":"initialize"'*) r='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
        *'"method":"tools/list"'*) r='"result":{"tools":[{"name":"who","inputSchema":{"type":"object"}}]}' ;;
        *'"method":"tools/call"'*) r='"result":{"content":[{"type":"text","text":"'$$'"}]}' ;;
        *'"id":'*) r='"error":{"code":-32601,"message":"no"}' ;;
        *) continue ;;
      esac
      printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
    done"#;
    let make = move || {
        let args = vec!["-c".to_owned(), script.to_owned()];
        let stdio = Stdio::new(Config { args, ..Config::new("sh") });
        Ok(Arc::new(stdio) as Arc<dyn Connector>)
    };
    let world = TestGateway::new().upstream("split", Split::new(make).unwrap()).start().await;
    let process = async |name: &str| {
        let done = world.call_as(Principal::user(name), "who", json!({})).await;
        assert_eq!(code(&done), None);
        done.cleared.get().full_text()
    };
    let (ann, bob) = (process("ann").await, process("bob").await);
    assert_ne!(ann, bob);
    assert_eq!(process("ann").await, ann);
    world.gateway.close(Duration::from_secs(1)).await;
}

async fn with_server(style: Style) -> (World, McpHttp) {
    let server = McpHttp::start(style).await;
    let http = Http::new(&server.url, &Credentials::default(), Age::Auto).unwrap();
    (TestGateway::new().upstream("server", http).start().await, server)
}

/// What the child has noted before it answers one more call.
async fn notes(world: &World, home: &Path) -> Vec<Value> {
    assert_eq!(code(&world.call("echo", json!({})).await), None);
    let text = std::fs::read_to_string(home.join("notes")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_child_is_understood_through_its_banner_and_both_pages_are_read() {
    let (world, _home) = with_child().await;
    assert_eq!(world.refreshed.tools, 5);
}

#[tokio::test]
async fn a_childs_question_is_answered_so_that_it_does_not_wait() {
    let (world, home) = with_child().await;
    let notes = notes(&world, home.path()).await;
    let reply = notes.iter().find(|note| note["id"] == "roots-1").unwrap();
    assert_eq!(reply["result"], json!({"roots": []}));
}

#[tokio::test]
async fn a_child_that_cannot_be_started_is_said_to_be_unavailable() {
    let config = Config::new("/nowhere/server");
    let world = TestGateway::new().upstream("child", Stdio::new(config)).start().await;
    let (name, fault) = &world.refreshed.failures[0];
    assert_eq!((name.as_str(), fault.code), ("child", Code::UpstreamUnavailable));
}

/// Noise is ignored, but not without end: a server that does nothing else is ended, and says so.
#[tokio::test]
async fn a_child_that_prints_and_never_answers_is_ended() {
    let args = ["-c", "yes \"$(printf '%04000d' 0)\""].map(str::to_owned).to_vec();
    let child = Stdio::new(Config { args, ..Config::new("sh") });
    let fault = child.list().await.unwrap_err();
    assert!(fault.message.contains("no message among them"), "{fault}");
}

/// Both ways a call is given up: the child is told, under the number it knows.
#[tokio::test]
async fn a_child_learns_that_its_call_was_given_up() {
    let (world, home) = with_child().await;
    let (news, mut heard) = queue(8);
    let watch = Watch { news: Some(news), progress: true, ..Watch::default() };
    let call = world.spawn(World::request("never", json!({})), watch.clone());
    assert!(heard.recv().await.is_some());
    watch.cancel.cancel();
    assert_eq!(code(&call.await.unwrap()), Some(Code::Cancelled));
    let timeout = Some(Duration::from_millis(1));
    let done = world.send(CallRequest { timeout, ..World::request("never", json!({})) }).await;
    assert_eq!(code(&done), Some(Code::UpstreamTimeout));

    let notes = notes(&world, home.path()).await;
    let cancelled = notes.iter().filter(|note| note["method"] == "notifications/cancelled");
    let numbers: Vec<i64> = cancelled.filter_map(|n| n["params"]["requestId"].as_i64()).collect();
    assert_eq!(numbers.len(), 2);
    assert_ne!(numbers[0], numbers[1]);
}

#[tokio::test]
async fn a_server_learns_that_its_call_was_given_up() {
    for style in [Style::Json, Style::Sse] {
        let (world, server) = with_server(style).await;
        let watch = Watch::default();
        let call = world.spawn(World::request("never", json!({})), watch.clone());
        let sent = server.heard().wait_for(|message| message["method"] == "tools/call").await;
        watch.cancel.cancel();
        assert_eq!(code(&call.await.unwrap()), Some(Code::Cancelled));
        let is_cancelled = |message: &Value| message["method"] == "notifications/cancelled";
        let told = server.heard().wait_for(is_cancelled).await;
        assert_eq!(told["params"]["requestId"], sent["id"]);
    }
}

#[tokio::test]
async fn a_server_learns_that_the_time_was_up() {
    let (world, server) = with_server(Style::Json).await;
    let timeout = Some(Duration::from_millis(1));
    let done = world.send(CallRequest { timeout, ..World::request("never", json!({})) }).await;
    assert_eq!(code(&done), Some(Code::UpstreamTimeout));
    server.heard().wait_for(|message| message["method"] == "notifications/cancelled").await;
}

#[tokio::test]
async fn a_forgotten_session_is_opened_again_once_and_the_call_goes_through() {
    let (world, server) = with_server(Style::Json).await;
    assert_eq!(server.count("initialize"), 1);
    server.forget_session();
    assert_eq!(code(&world.call("echo", json!({})).await), None);
    assert_eq!((server.count("initialize"), server.count("tools/call")), (2, 2));
    assert_eq!(code(&world.call("echo", json!({})).await), None);
    assert_eq!((server.count("initialize"), server.count("tools/call")), (2, 3));
}

#[tokio::test]
async fn a_servers_news_reach_the_one_who_listens() {
    let check = async |world: &World| {
        let (news, mut heard) = queue(8);
        let watch = Watch { news: Some(news), progress: true, ..Watch::default() };
        let done = world.spawn(World::request("slow", json!({})), watch).await.unwrap();
        assert_eq!(done.cleared.get().structured, Some(json!({"steps": 2})));
        let step = |done: u32| json!({"progress": done, "total": 2, "message": "working"});
        assert_eq!(progress(heard.recv().await), step(1));
        assert_eq!(progress(heard.recv().await), step(2));
    };
    let (world, _home) = with_child().await;
    check(&world).await;
    let (world, _server) = with_server(Style::Sse).await;
    check(&world).await;
}

/// CO-134: an upstream that wants a further scope pauses the call, and the record names the scope.
#[tokio::test]
async fn an_upstream_that_wants_a_further_scope_pauses_the_call() {
    let (world, server) = with_server(Style::Scoped).await;
    let done = world.call("echo", json!({})).await;
    let fault = done.fault.unwrap();
    assert_eq!(fault.code, Code::StepUpRequired);
    assert_eq!(fault.details["scope_requested"], json!(["mail.send", "mail.read"]));
    assert_eq!(server.count("tools/call"), 1);
    let record = world.last_record().await;
    assert_eq!(record.status, model::RecordStatus::Deferred);
    let result = record.result.unwrap();
    assert_eq!(result.status, model::CallStatus::Paused);
    assert_eq!(result.error.unwrap().details, fault.details);
    assert!(record.decision.is_some());
}
