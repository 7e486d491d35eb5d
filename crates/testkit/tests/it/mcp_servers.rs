//! What is particular to MCP servers: pages, noise, questions, sessions, news and cancellation.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use auth::Credentials;
use gateway::{CallRequest, Watch};
use model::{Code, Secret};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use toolgate_testkit::{McpHttp, Style, TestGateway, World};
use upstream::http::Http;
use upstream::mcp::Age;
use upstream::stdio::{Config, Stdio};

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

/// Both ways a call is given up: the child is told, under the number it knows.
#[tokio::test]
async fn a_child_learns_that_its_call_was_given_up() {
    let (world, home) = with_child().await;
    let (news, mut heard) = mpsc::channel(8);
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
        let (news, mut heard) = mpsc::channel(8);
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
