//! `rmcp` as an independent client, over a child process and over HTTP.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ProgressNotificationParam,
    ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, NotificationContext, PeerRequestOptions,
    RunningService, ServiceError,
};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::gate::{Gate, Home, PATIENCE};
use crate::toolgate;

/// A client that tells when it hears of progress.
#[derive(Clone, Default)]
struct Listener {
    progress: Arc<Notify>,
}

impl ClientHandler for Listener {
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.notify_one();
    }
}

struct Link {
    client: RunningService<RoleClient, Listener>,
    listener: Listener,
    home: Home,
    _gate: Option<Gate>,
}

async fn over_pipe(lifecycle: Option<ClientLifecycleMode>) -> Link {
    let home = Home::new();
    let mut command = tokio::process::Command::from(toolgate(home.path()));
    command.args(["serve", "--mode", "native", "--quiet", "--data"]).arg(home.data());
    let transport = TokioChildProcess::new(command).unwrap();
    let listener = Listener::default();
    let client = match lifecycle {
        None => listener.clone().serve(transport).await.unwrap(),
        Some(mode) => listener.clone().serve_with_lifecycle(transport, mode).await.unwrap(),
    };
    Link { client, listener, home, _gate: None }
}

async fn over_http(lifecycle: Option<ClientLifecycleMode>) -> Link {
    let home = Home::new();
    let (gate, said) = home.listen(&["up", "--port", "0", "--mode", "native"]).await;
    let transport = StreamableHttpClientTransport::from_uri(said["url"].as_str().unwrap());
    let listener = Listener::default();
    let client = match lifecycle {
        None => listener.clone().serve(transport).await.unwrap(),
        Some(mode) => listener.clone().serve_with_lifecycle(transport, mode).await.unwrap(),
    };
    Link { client, listener, home, _gate: Some(gate) }
}

#[tokio::test]
async fn rmcp_uses_the_gate_over_a_pipe() {
    check(over_pipe(None).await, ProtocolVersion::V_2025_11_25).await;
}

#[tokio::test]
async fn rmcp_uses_the_gate_over_http() {
    check(over_http(None).await, ProtocolVersion::V_2025_11_25).await;
}

#[tokio::test]
async fn rmcp_uses_the_gate_without_a_session() {
    let newest = || ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    check(over_pipe(Some(newest())).await, ProtocolVersion::V_2026_07_28).await;
    check(over_http(Some(newest())).await, ProtocolVersion::V_2026_07_28).await;
}

/// Initialize or discover, list, call, tool error, unknown tool, cancel.
async fn check(link: Link, revision: ProtocolVersion) {
    let server = link.client.peer_info().unwrap();
    assert_eq!(server.server_info.as_ref().unwrap().name, "toolgate");
    assert_eq!(server.protocol_version, revision);
    let tools = link.client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 43);
    assert!(tools.iter().any(|tool| tool.name == "payments_issue_refund"));

    let called = link.client.call_tool(params("weather_list_cities", json!({}))).await.unwrap();
    assert!(called.structured_content.is_some() && called.is_error != Some(true), "{called:?}");
    let ledger = params("reports_compare_warehouse", json!({"dataset": "ledger"}));
    let failed = link.client.call_tool(ledger).await.unwrap();
    assert_eq!(failed.is_error, Some(true), "{failed:?}");
    match link.client.call_tool(params("no_such_tool", json!({}))).await {
        Err(ServiceError::McpError(error)) => assert_eq!(error.code, ErrorCode::INVALID_PARAMS),
        other => panic!("{other:?}"),
    }
    cancel(link).await;
}

/// CW-109: whatever stands behind the gate, three tools are enough.
#[tokio::test]
async fn three_tools_find_call_and_look() {
    let home = Home::new();
    let (_gate, said) = home.listen(&["up", "--port", "0", "--mode", "gateway"]).await;
    let transport = StreamableHttpClientTransport::from_uri(said["url"].as_str().unwrap());
    let client = Listener::default().serve(transport).await.unwrap();
    let listed = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["tool_browse", "tool_execute", "tool_view"]);

    let found = params("tool_browse", json!({"query": "export the ledger", "top_k": 1}));
    let found = client.call_tool(found).await.unwrap().structured_content.unwrap();
    let called = json!({"tool_id": found["cards"][0]["id"], "args": {}});
    let called = client.call_tool(params("tool_execute", called)).await.unwrap();
    let text = serde_json::to_string(&called).unwrap();
    let handle = text.split("art_").nth(1).unwrap();
    let rest = handle.find(|c: char| !c.is_ascii_alphanumeric()).unwrap();
    let handle = format!("art_{}", &handle[..rest]);
    let selector = json!({"type": "lines", "start": 2, "end": 3});
    let look = params("tool_view", json!({"handle": handle, "selector": selector}));
    let seen = client.call_tool(look).await.unwrap();
    assert!(seen.is_error != Some(true) && !seen.content.is_empty(), "{seen:?}");
    client.cancel().await.unwrap();
}

async fn cancel(link: Link) {
    let endless = json!({"year": 2026, "steps": 100, "step_ms": 500});
    let request = CallToolRequest::new(params("reports_build_annual", endless));
    let options = PeerRequestOptions::no_options();
    let request = ClientRequest::CallToolRequest(request);
    let handle = link.client.send_cancellable_request(request, options).await.unwrap();
    tokio::time::timeout(PATIENCE, link.listener.progress.notified()).await.unwrap();
    handle.cancel(Some("enough".to_owned())).await.unwrap();
    let looking = async {
        while link.home.last_status().as_deref() != Some("cancelled") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap();
    link.client.list_all_tools().await.unwrap();
    link.client.cancel().await.unwrap();
}

fn params(name: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallToolRequestParams::new(name).with_arguments(arguments)
}
