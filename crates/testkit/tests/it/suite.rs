//! CW-82, CO-1: one suite for every kind of upstream. The gate knows none of them by name.

use std::time::Duration;

use async_trait::async_trait;
use auth::Credentials;
use gateway::Mode;
use model::{Answer, CallStatus, Clock, Code, Fault, RecordStatus};
use policy::Permit;
use serde_json::{Value, json};
use toolgate_testkit::{McpHttp, Rest, Style, TestGateway, World, tool};
use upstream::demo::Demo;
use upstream::function::Functions;
use upstream::http::Http;
use upstream::mcp::Age;
use upstream::openapi::OpenApi;
use upstream::stdio::{self, Stdio};
use upstream::stub::Stub;
use upstream::{Connector, Errand};

use crate::{ROAD, code, up_to};

/// What to ask of an upstream, and what must come of it.
struct Asked {
    protocol: &'static str,
    /// A call that succeeds, and its structured answer.
    good: (&'static str, Value, Value),
    /// A call that the tool itself refuses, and a part of what it says.
    bad: (&'static str, Value, &'static str),
}

/// Lists, calls, hears the tool's own "no" and finds an unknown tool missing.
async fn suite(connector: impl Connector + 'static, asked: Asked) {
    let gate = TestGateway::new().upstream("it", connector);
    let gate = gate.settings(|settings| settings.mode = Mode::Native);
    let world = Box::pin(gate.start()).await;
    assert!(world.refreshed.failures.is_empty(), "{:?}", world.refreshed.failures);
    lists(&world, &asked);
    answers(&world, &asked).await;
    tells_its_own_no(&world, &asked).await;
    misses_the_unknown(&world).await;
    world.gateway.close(Duration::from_secs(5)).await;
}

fn lists(world: &World, asked: &Asked) {
    let menu = world.gateway.menu(&World::ann());
    let names: Vec<_> = menu.get().iter().filter_map(|tool| tool.get("name")).collect();
    for name in [asked.good.0, asked.bad.0] {
        assert!(names.iter().any(|listed| *listed == name), "{name} is not among {names:?}");
    }
}

async fn answers(world: &World, asked: &Asked) {
    let (name, args, structured) = asked.good.clone();
    let done = world.call(name, args).await;
    assert_eq!(code(&done), None, "{:?}", done.fault);
    assert_eq!(done.cleared.get().structured, Some(structured));
    let record = world.last_record().await;
    assert_eq!(record.stages, ROAD);
    assert_eq!(record.result.unwrap().provenance.protocol, asked.protocol);
}

async fn tells_its_own_no(world: &World, asked: &Asked) {
    let (name, args, part) = asked.bad.clone();
    let done = world.call(name, args).await;
    assert_eq!(code(&done), None, "{:?}", done.fault);
    let text = done.cleared.get().full_text();
    assert!(done.cleared.get().is_error && text.contains(part), "{text}");
    assert_eq!(done.result.unwrap().status, CallStatus::Failed);
}

async fn misses_the_unknown(world: &World) {
    let done = world.call("no_such_tool", json!({})).await;
    assert_eq!(code(&done), Some(Code::ToolNotFound));
    let record = world.last_record().await;
    assert_eq!(record.stages, up_to("resolve"));
    assert_eq!(record.status, RecordStatus::Failed);
}

/// Both fake MCP servers follow one script.
fn asked_of_mcp() -> Asked {
    let args = json!({"text": "hi"});
    Asked {
        protocol: "mcp",
        good: ("echo", args.clone(), args),
        bad: ("fail", json!({}), "the shelf is empty"),
    }
}

#[tokio::test]
async fn a_stub_is_an_upstream() {
    let refusal = json!({"content": [{"type": "text", "text": "not today"}], "isError": true});
    let stub =
        Stub::new(vec![tool("echo", json!({})), tool("fail", json!({"x-stub-answer": refusal}))]);
    let good = ("echo", json!({"a": 1}), json!({"tool": "echo", "args": {"a": 1}}));
    suite(stub, Asked { protocol: "custom", good, bad: ("fail", json!({}), "not today") }).await;
}

#[tokio::test]
async fn a_set_of_functions_is_an_upstream() {
    let functions = Functions::new()
        .tool(tool("echo", json!({})), async |args, _| Ok(Answer::structured(args)))
        .tool(tool("fail", json!({})), async |_, _| Ok(Answer::error("not today")));
    let good = ("echo", json!({"a": 1}), json!({"a": 1}));
    suite(functions, Asked { protocol: "function", good, bad: ("fail", json!({}), "not today") })
        .await;
}

#[tokio::test]
async fn the_demo_is_an_upstream() {
    let demo = Demo::new(Clock::stopped(toolgate_testkit::test_gateway::START), None).unwrap();
    let bad = ("tickets_get_ticket", json!({"ticket_id": "tkt_9999"}), "tkt_9999");
    let balance = json!({
        "settled_inr": 98187.0,
        "refunded_inr": 0.0,
        "net_inr": 98187.0,
        "as_of": "2026-01-15T10:00:00.000Z",
    });
    let good = ("payments_check_balance", json!({}), balance);
    suite(demo, Asked { protocol: "function", good, bad }).await;
}

#[tokio::test]
async fn a_child_process_is_an_upstream() {
    let config = stdio::Config::new(env!("CARGO_BIN_EXE_fake_mcp"));
    suite(Stdio::new(config), asked_of_mcp()).await;
}

#[tokio::test]
async fn an_http_server_is_an_upstream_whether_it_answers_with_json_or_a_stream() {
    for style in [Style::Json, Style::Sse] {
        let server = McpHttp::start(style).await;
        let http = Http::new(&server.url, &Credentials::default(), Age::Auto).unwrap();
        suite(http, asked_of_mcp()).await;
    }
}

#[tokio::test]
async fn a_described_rest_service_is_an_upstream() {
    let service = Rest::start().await;
    let api = OpenApi::new(service.document(), Some(&service.base), Credentials::default());
    let good = ("shelf_get", json!({"number": 1}), json!({"number": 1, "title": "Emma"}));
    let bad = ("shelf_get", json!({"number": 2}), "no such book");
    suite(api.unwrap(), Asked { protocol: "openapi", good, bad }).await;
}

#[tokio::test]
async fn whatever_a_library_user_writes_is_an_upstream() {
    let good = ("ask", json!({"mood": "good"}), json!({"oracle": "yes"}));
    let bad = ("ask", json!({"mood": "bad"}), "ask again later");
    suite(Oracle, Asked { protocol: "custom", good, bad }).await;
}

#[derive(Debug)]
struct Oracle;

#[async_trait]
impl Connector for Oracle {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![tool("ask", json!({}))])
    }

    async fn call(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        match permit.arguments()["mood"].as_str() {
            Some("good") => Ok(Answer::structured(json!({"oracle": "yes"}))),
            _ => Ok(Answer::error("ask again later")),
        }
    }
}
