//! One suite over every transport: only the wire differs (CW-102, CW-111, CO-200; CO-22 towards clients).

use serde_json::{Value, json};

use crate::gate::{Home, PATIENCE};
use crate::peer::{Over, Peer};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const NEWEST_LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

macro_rules! over_each_transport {
    ($($fact:ident),* $(,)?) => {
        mod stdio { $(#[tokio::test] async fn $fact() { super::$fact(super::Over::Stdio).await; })* }
        mod http { $(#[tokio::test] async fn $fact() { super::$fact(super::Over::Http).await; })* }
        mod sse { $(#[tokio::test] async fn $fact() { super::$fact(super::Over::Sse).await; })* }
    };
}

over_each_transport!(
    initialize_agrees_on_a_revision,
    the_menu_is_complete_from_the_first_list,
    a_tool_is_found_called_and_its_large_result_looked_into,
    a_tool_that_fails_answers_with_an_error,
    an_unknown_tool_is_a_protocol_error,
    wrong_arguments_never_reach_the_tool,
    a_slow_call_reports_its_progress,
    a_cancelled_call_ends_and_the_gate_goes_on,
    an_unknown_method_is_refused,
);

/// CO-200: version and capability negotiation, in each revision that has it.
async fn initialize_agrees_on_a_revision(over: Over) {
    for revision in LEGACY {
        check_initialize(over, revision, revision).await;
    }
    check_initialize(over, "1999-01-01", NEWEST_LEGACY).await;
    check_initialize(over, MODERN, NEWEST_LEGACY).await;
}

/// CW-107, CW-108: whatever the transport, gateway mode offers tools and nothing else.
async fn check_initialize(over: Over, asked: &str, agreed: &str) {
    let flags = ["--name", "example-gateway", "--mode", "gateway"];
    let mut peer = Peer::start(over, &flags).await;
    let answer = peer.initialize(asked).await;
    assert_eq!(answer["protocolVersion"], agreed);
    assert_eq!(answer["serverInfo"]["name"], "example-gateway");
    assert_eq!(answer["capabilities"], json!({"tools": {}}));
    assert_eq!(peer.ask("ping", json!({})).await["result"], json!({}));
}

/// CW-76: the catalogue is there before the first client can ask.
async fn the_menu_is_complete_from_the_first_list(over: Over) {
    let mut peer = Peer::start(over, &["--mode", "native"]).await;
    peer.initialize(NEWEST_LEGACY).await;
    let listed = peer.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 43);
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"));
    let mut peer = Peer::start(over, &[]).await;
    peer.initialize(NEWEST_LEGACY).await;
    let listed = peer.ask("tools/list", json!({})).await;
    assert_eq!(names(&listed), ["tool_browse", "tool_execute", "tool_view"]);
}

async fn a_tool_is_found_called_and_its_large_result_looked_into(over: Over) {
    let mut peer = Peer::start(over, &[]).await;
    peer.initialize(NEWEST_LEGACY).await;
    let found = peer.call("tool_browse", json!({"query": "export the ledger"})).await;
    let cards = found["result"]["structuredContent"]["cards"].to_string();
    assert!(cards.contains("reports_export_ledger"), "{found}");
    let execute = json!({"tool_id": "reports_export_ledger", "args": {}});
    let called = peer.call("tool_execute", execute).await;
    let text = called["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.len() < 6_000, "{}", text.len());
    let handle = handle_in(&called["result"]);
    let selector = json!({"type": "json_pointer", "pointer": "/row_count"});
    let seen = peer.call("tool_view", json!({"handle": handle, "selector": selector})).await;
    assert!(seen["result"]["content"].to_string().contains("500"), "{seen}");
    assert_eq!(peer.home.last_status().as_deref(), Some("completed"));
}

async fn a_tool_that_fails_answers_with_an_error(over: Over) {
    let mut peer = Peer::start(over, &["--mode", "native"]).await;
    peer.initialize(NEWEST_LEGACY).await;
    let answer = peer.call("reports_compare_warehouse", json!({"dataset": "ledger"})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("key has expired"));
    assert_eq!(peer.home.last_status().as_deref(), Some("failed"));
}

async fn an_unknown_tool_is_a_protocol_error(over: Over) {
    let mut peer = Peer::start(over, &[]).await;
    peer.initialize(NEWEST_LEGACY).await;
    let answer = peer.call("no_such_tool", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(answer["error"]["data"]["error"], "TOOL_NOT_FOUND");
    let inner = json!({"tool_id": "no_such_tool", "args": {}});
    let answer = peer.call("tool_execute", inner).await;
    assert_eq!(answer["result"]["structuredContent"]["error"], "HYDRATE_FAILED", "{answer}");
    let records = peer.home.json(&["records", "list"]);
    assert_eq!(records.as_array().unwrap().len(), 2, "both left a record");
}

/// C9: clients that show their model nothing but answers can be given one.
#[tokio::test]
async fn the_operator_says_how_an_unknown_tool_is_answered() {
    let check = async |compat: &str, is_error: bool| {
        let home = Home::new();
        let yaml = format!("mode: native\nupstreams: {{demo: {{type: demo}}}}\n{compat}");
        home.write("gate.yaml", &yaml);
        let mut peer = Peer::start_in(home, Over::Stdio, &["--config", "gate.yaml"]).await;
        peer.initialize(NEWEST_LEGACY).await;
        let answer = peer.call("no_such_tool", json!({})).await;
        let place = if is_error { "/result/structuredContent/error" } else { "/error/data/error" };
        assert_eq!(answer.pointer(place), Some(&json!("TOOL_NOT_FOUND")), "{compat}: {answer}");
        assert_eq!(answer["result"]["isError"] == true, is_error, "{answer}");
        let unknown = peer.ask("vendor/magic", json!({})).await;
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    };
    check("", false).await;
    check("compat: {unknown_tool: error}\n", false).await;
    check("compat: {unknown_tool: is_error}\n", true).await;
}

/// CO-201: a missing field and a value outside its enum.
async fn wrong_arguments_never_reach_the_tool(over: Over) {
    let mut peer = Peer::start(over, &["--mode", "native"]).await;
    peer.initialize(NEWEST_LEGACY).await;
    for arguments in [json!({}), json!({"dataset": "moon"})] {
        let answer = peer.call("reports_compare_warehouse", arguments).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["structuredContent"]["error"], "ARGS_INVALID", "{answer}");
        assert_eq!(peer.home.last_status().as_deref(), Some("failed"));
    }
}

async fn a_slow_call_reports_its_progress(over: Over) {
    let mut peer = Peer::start(over, &["--mode", "native"]).await;
    peer.initialize(NEWEST_LEGACY).await;
    let params = slow(&json!({"year": 2026, "steps": 3, "step_ms": 1}), "token-7");
    let answer = peer.ask("tools/call", params).await;
    assert_eq!(answer["result"]["structuredContent"]["report_id"], "rpt_2026", "{answer}");
    let steps: Vec<f64> = peer.news.iter().map(|news| progress(news, "token-7")).collect();
    assert_eq!(steps, [1.0, 2.0, 3.0]);
}

async fn a_cancelled_call_ends_and_the_gate_goes_on(over: Over) {
    let mut peer = Peer::start(over, &["--mode", "native"]).await;
    peer.initialize(NEWEST_LEGACY).await;
    let id = peer.begin("tools/call", slow(&endless(), 7)).await;
    // The first step's news: the call has reached the tool.
    let news = peer.next().await;
    assert_eq!(news["method"], "notifications/progress", "{news}");
    peer.tell("notifications/cancelled", json!({"requestId": id, "reason": "enough"})).await;
    assert_eq!(peer.ask("ping", json!({})).await["result"], json!({}));
    until_status(&peer.home, "cancelled").await;
    let listed = peer.call("reports_list_reports", json!({})).await;
    assert_eq!(listed["result"]["structuredContent"]["total"], 0, "{listed}");
    let answered = peer.news.iter().find(|message| message["id"] == id);
    assert!(answered.is_none_or(|message| message["error"].is_object()), "{answered:?}");
}

async fn an_unknown_method_is_refused(over: Over) {
    let mut peer = Peer::start(over, &[]).await;
    peer.initialize(NEWEST_LEGACY).await;
    let answer = peer.ask("vendor/magic", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

/// The stateless revision has two transports; the old SSE one is not among them.
#[tokio::test]
async fn a_stateless_client_discovers_lists_and_calls() {
    for over in [Over::Stdio, Over::Http] {
        let mut peer = Peer::start(over, &["--mode", "native"]).await;
        let found = peer.ask("server/discover", modern(json!({}))).await["result"].clone();
        assert_eq!(found["supportedVersions"], json!([MODERN]));
        assert_eq!(found["resultType"], "complete");
        let listed = peer.ask("tools/list", modern(json!({}))).await;
        assert_eq!(names(&listed).len(), 43);
        assert_eq!(listed["result"]["resultType"], "complete");
        assert!(listed["result"]["ttlMs"].is_u64() && listed["result"]["cacheScope"].is_string());
        let call = modern(json!({"name": "reports_summarize_revenue", "arguments": {}}));
        let called = peer.ask("tools/call", call).await;
        assert_eq!(called["result"]["resultType"], "complete", "{called}");
        assert!(called["result"]["structuredContent"]["net_inr"].is_number());
        let gone = peer.ask("ping", modern(json!({}))).await;
        assert_eq!(gone["error"]["code"], -32601, "{gone}");
    }
}

#[tokio::test]
async fn a_stateless_client_is_told_which_revisions_there_are() {
    for over in [Over::Stdio, Over::Http] {
        let mut peer = Peer::start(over, &[]).await;
        let mut params = modern(json!({}));
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
        let answer = peer.ask("tools/list", params).await;
        assert_eq!(answer["error"]["code"], -32022, "{answer}");
        assert_eq!(answer["error"]["data"]["supported"], json!([MODERN]));
    }
}

/// A closed connection cancels a stateless call, as that revision demands.
#[tokio::test]
async fn a_stateless_client_that_hangs_up_cancels_its_call() {
    hang_up(modern(slow(&endless(), "t")), "cancelled").await;
}

/// Older revisions say the opposite: the call goes on.
#[tokio::test]
async fn an_older_client_that_hangs_up_does_not_cancel_its_call() {
    let quick = json!({"year": 2026, "steps": 5, "step_ms": 100});
    hang_up(slow(&quick, "t"), "completed").await;
}

async fn hang_up(params: Value, ends: &str) {
    let mut peer = Peer::start(Over::Http, &["--mode", "native"]).await;
    if params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_none() {
        peer.initialize(NEWEST_LEGACY).await;
    }
    let call = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params});
    let connection = peer.connection(call);
    peer.next().await;
    connection.abort();
    until_status(&peer.home, ends).await;
}

fn slow(arguments: &Value, token: impl Into<Value>) -> Value {
    let token: Value = token.into();
    json!({"name": "reports_build_annual", "arguments": arguments, "_meta": {"progressToken": token}})
}

/// Longer than anybody waits, but with news soon.
fn endless() -> Value {
    json!({"year": 2026, "steps": 100, "step_ms": 500})
}

fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "s", "version": "1"});
    params
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn progress(news: &Value, token: &str) -> f64 {
    assert_eq!(news["method"], "notifications/progress", "{news}");
    assert_eq!(news["params"]["progressToken"], token);
    news["params"]["progress"].as_f64().unwrap()
}

fn handle_in(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str().unwrap();
    let word = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut handles = word.filter(|word| word.starts_with("art_"));
    handles.next().unwrap_or_else(|| panic!("no handle in {text}")).to_owned()
}

/// Looks again and again, since a record closes when its call does, which nobody announces.
async fn until_status(home: &Home, wanted: &str) {
    let looking = async {
        while home.last_status().as_deref() != Some(wanted) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap();
}
