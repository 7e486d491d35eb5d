//! A program of ten lines: load, list, filter, call.

use super::*;
use tempfile::TempDir;

async fn client(tools: Value) -> (Client, TempDir) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("tools.json"), tools.to_string()).unwrap();
    let file = home.path().join("toolgate.json");
    let config = json!({"upstreams": {"my-server": {"type": "stub", "tools": "tools.json"}}});
    std::fs::write(&file, config.to_string()).unwrap();
    (Client::load(&file, &home.path().join("data")).await.unwrap(), home)
}

/// OR-11, OR-12, OR-15: the names of orbiter, there and back.
#[test]
fn a_name_has_a_namespace_a_server_and_a_tool() {
    let name = namespace_name("search", "my-server", "mcp");
    assert_eq!(name, "mcp__my_server__search");
    assert_eq!(parse_wire_name(&name), Some(("mcp", "my_server", "search")));
    assert_eq!(namespace_name("a.b", "s", "other"), "other__s__a_b");
}

/// OR-16, OR-17.
#[test]
fn a_tool_without_a_schema_takes_an_empty_object() {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    assert_eq!(extract_schema(&json!({"name": "x", "inputSchema": schema})), schema);
    let empty = json!({"type": "object", "properties": {}});
    assert_eq!(extract_schema(&json!({"name": "x"})), empty);
    assert_eq!(extract_schema(&json!({"name": "x", "inputSchema": 7})), empty);
}

/// OR-18..OR-25, OR-27, OR-29, OR-32: a tool knows its names and its server, and
/// a call reaches the server under the server's own name.
#[tokio::test]
async fn a_bound_tool_carries_all_it_takes_to_call_it() {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let (client, _home) = client(json!([
        {"name": "web.search", "description": "Search.", "inputSchema": schema},
        {"name": "plain"},
        {"name": "dangerous_tool"},
    ]))
    .await;
    assert_eq!(client.server_names(), ["my-server"]);
    let filter = Filter { exclude: vec!["dangerous*".to_owned()], ..Filter::default() };
    let tools = client.tools_of("my-server", &filter).unwrap();
    let [plain, search] = tools.as_slice() else { panic!("{tools:?}") };
    assert_eq!(search.name, "mcp__my_server__web_search");
    assert_eq!(search.original_name, "web.search");
    assert_eq!(search.server_name, "my-server");
    assert_eq!((search.description.as_str(), &search.parameters), ("Search.", &schema));
    assert_eq!(plain.description, "MCP tool: plain");
    let answer = search.execute(json!({"q": "x"})).await.unwrap();
    assert_eq!(answer, Output::Object(json!({"tool": "web.search", "args": {"q": "x"}})));
    client.close().await;
}

/// OR-26: what fails, and what says that it failed, is an error.
#[tokio::test]
async fn a_failing_tool_is_an_error() {
    let text = json!([{"type": "text", "text": "the shelf is empty"}]);
    let (client, _home) = client(json!([
        {"name": "fail", "x-stub-answer": {"content": text, "isError": true}},
        {"name": "say", "x-stub-answer": {"content": text}},
    ]))
    .await;
    let tools = client.tools(&Filter::default());
    let error = tools[0].execute(json!({})).await.unwrap_err();
    assert!(matches!(&error, ToolError::Mcp(mcp) if mcp.text == "the shelf is empty"), "{error}");
    let said = tools[1].execute(Value::Null).await.unwrap();
    assert_eq!(said, Output::Text("the shelf is empty".to_owned()));
    let refused = tools[1].execute(json!("no object")).await.unwrap_err();
    assert!(matches!(refused, ToolError::Fault(_)), "{refused}");
    client.close().await;
}

/// OR-31, OR-33: a server that cannot be listed fails the load, and is named.
#[tokio::test]
async fn one_server_that_fails_fails_the_load() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mcp.json");
    let servers = json!({"mcpServers": {"gone": {"command": "/nowhere/server"}}});
    std::fs::write(&file, servers.to_string()).unwrap();
    let error = Client::load(&file, &home.path().join("data")).await.unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
}
