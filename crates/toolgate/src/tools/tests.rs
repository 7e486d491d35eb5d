//! A program of ten lines: load, list, filter, call; and servers it has at hand.

use super::*;
use tempfile::TempDir;

/// A server with one tool, in a few lines of shell.
const SERVER: &str = r#"while read -r line; do
      id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
      case $line in
        *'"method":"initialize"'*) r='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
        *'"method":"tools/list"'*) r='"result":{"tools":[{"name":"greet","inputSchema":{"type":"object"}}]}' ;;
        *'"method":"tools/call"'*) r='"result":{"content":[{"type":"text","text":"hello"}]}' ;;
        *'"id":'*) r='"error":{"code":-32601,"message":"no"}' ;;
        *) continue ;;
      esac
      printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
    done"#;

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
    let renamed = client.tools_as("web", "my-server", &filter).unwrap();
    assert_eq!(renamed[1].name, "web__my_server__web_search");
    assert_eq!(renamed[1].execute(json!({"q": "x"})).await.unwrap(), answer);
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

/// A session that a program has already: it counts what is asked of it.
#[derive(Default)]
struct Shelf {
    called: std::sync::Mutex<Vec<(String, Value)>>,
}

#[async_trait::async_trait]
impl Connection for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }

    async fn list_tools(&self) -> Result<Vec<Value>, Fault> {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        let output = json!({"type": "object", "properties": {"key": {"type": "string"}}});
        Ok(vec![json!({
            "name": "read-secret", "description": "Read a secret.",
            "inputSchema": schema, "outputSchema": output,
        })])
    }

    async fn call_tool(&self, tool: &str, arguments: Value) -> Result<Value, Fault> {
        self.called.lock().unwrap().push((tool.to_owned(), arguments));
        let key = json!({"key": "k-1"});
        Ok(
            json!({"content": [{"type": "text", "text": key.to_string()}], "structuredContent": key}),
        )
    }
}

fn shelf() -> (Arc<Shelf>, Server) {
    let shelf = Arc::new(Shelf::default());
    let connection: Arc<dyn Connection> = Arc::<Shelf>::clone(&shelf);
    let requires = json!({
        "capability_id": "shelf.read", "tool": "read-secret", "class": "observe",
        "approval_mode": "read_only", "permissions": ["secrets:read"],
    });
    let manifest = json!({
        "adapter_id": "adp_shelf", "version": "1.0.0", "name": "Shelf", "owner_role": "ops",
        "domain": "Shelf", "protocol": "mcp", "capabilities": [requires],
    });
    (shelf, Server::session(connection).declared(&manifest).unwrap())
}

/// SG-2, SG-3, SG-7..SG-10, OR-28, OR-30: a session is used as it is, and its definitions become
/// records field by field.
///
/// SG-42: the worked example: bind, pick `read-secret`, call it with a path.
#[tokio::test]
async fn a_session_at_hand_is_bound_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let (shelf, server) = shelf();
    let client = Client::bind(server, &["secrets:read"], home.path()).await.unwrap();
    let tools = client.tools(&Filter::default());
    let [tool] = tools.as_slice() else { panic!("{tools:?}") };
    let listed = shelf.list_tools().await.unwrap().remove(0);
    assert_eq!(json!(tool.original_name), listed["name"]);
    assert_eq!(json!(tool.description), listed["description"]);
    assert_eq!(tool.parameters, listed["inputSchema"]);
    assert_eq!(tool.output_schema.as_ref(), Some(&listed["outputSchema"]));
    assert_eq!(tool.server_name, "shelf");
    tool.execute(json!({"path": "/secrets/api-key"})).await.unwrap();
    let called = shelf.called.lock().unwrap().clone();
    assert_eq!(called, [("read-secret".to_owned(), json!({"path": "/secrets/api-key"}))]);
    client.close().await;
}

/// SG-11: the family of what is bound is `mcp`, whatever name or manifest say; what is configured has
/// the family its name tells (C2).
#[tokio::test]
async fn what_is_bound_is_of_the_family_mcp() {
    let home = tempfile::tempdir().unwrap();
    let (_, server) = shelf();
    let client = Client::bind(server, &[], home.path()).await.unwrap();
    assert_eq!(client.tools(&Filter::default())[0].namespace, "mcp");
    client.close().await;
    let named = SERVER.replace(r#""name":"greet""#, r#""name":"files.read""#);
    let launch = Launch { args: vec!["-c".to_owned(), named], ..Launch::new("sh") };
    let home = tempfile::tempdir().unwrap();
    let client = Client::bind(Server::launch("sh", launch), &[], home.path()).await.unwrap();
    assert_eq!(client.tools(&Filter::default())[0].namespace, "mcp");
    client.close().await;
    let (client, _home) = self::client(json!([{"name": "files.read"}])).await;
    assert_eq!(client.tools(&Filter::default())[0].namespace, "files");
    client.close().await;
}

/// SG-5, SG-15, SG-17, SG-18: what a tool requires is written down by its name, the grants of the
/// binding answer for it, and others may be given for one call.
#[tokio::test]
async fn a_binding_remembers_its_grants() {
    let check = async |bound: &[&str], given: Option<&[&str]>, allowed: bool| {
        let home = tempfile::tempdir().unwrap();
        let (shelf, server) = shelf();
        let client = Client::bind(server, bound, home.path()).await.unwrap();
        let called = client.call("read-secret", json!({"path": "/a"}), given).await;
        match &called {
            Ok(object) => assert_eq!(object, &json!({"key": "k-1"})),
            Err(error) => {
                assert!(matches!(error, ToolError::Fault(f) if f.code == Code::CapabilityDenied));
            }
        }
        assert_eq!(called.is_ok(), allowed, "{bound:?} {given:?}");
        assert_eq!(shelf.called.lock().unwrap().len(), usize::from(allowed));
        client.close().await;
    };
    check(&["secrets:read"], None, true).await;
    check(&[], None, false).await;
    check(&["secrets:write"], None, false).await;
    check(&[], Some(&["secrets:read"]), true).await;
    check(&["secrets:read"], Some(&[]), false).await;
}

/// OR-1: one module has all nine: the error, the filter, the wrapper, conversion of one server's
/// tools, the schema, loading from a client and from a connection, and names both ways.
#[tokio::test]
async fn one_module_offers_all_of_it() {
    let (client, _home) = client(json!([{"name": "search"}])).await;
    let wrapped: Vec<BoundTool> = client.tools_of("my-server", &Filter::default()).unwrap();
    let loaded: Vec<BoundTool> = client.tools(&Filter::default());
    assert_eq!((wrapped.len(), loaded.len()), (1, 1));
    let error: ToolError = client.tools_of("other", &Filter::default()).unwrap_err();
    assert!(error.to_string().contains("`other`"), "{error}");
    assert_eq!(extract_schema(&json!({})), wrapped[0].parameters);
    let name = namespace_name("search", "my-server", "mcp");
    assert_eq!(parse_wire_name(&name), Some(("mcp", "my_server", "search")));
    client.close().await;
    let home = tempfile::tempdir().unwrap();
    let (_, server) = shelf();
    let bound = Client::bind(server, &[], home.path()).await.unwrap();
    assert_eq!(bound.tools(&Filter::default()).len(), 1);
    bound.close().await;
}

/// OR-34: load an `mcp.json`, connect all, leave one out, print `name: description`.
#[tokio::test]
async fn the_worked_example() {
    let home = tempfile::tempdir().unwrap();
    let tools = r#"[{"name":"search","description":"Find things.","inputSchema":{"type":"object"}},{"name":"dangerous_tool","inputSchema":{"type":"object"}}]"#;
    let server = SERVER.replace(r#"[{"name":"greet","inputSchema":{"type":"object"}}]"#, tools);
    let file = home.path().join("mcp.json");
    let servers = json!({"mcpServers": {"web": {"command": "sh", "args": ["-c", server]}}});
    std::fs::write(&file, servers.to_string()).unwrap();
    let client = Client::load(&file, &home.path().join("data")).await.unwrap();
    let filter = Filter { exclude: vec!["dangerous_tool".to_owned()], ..Filter::default() };
    let tools = client.tools(&filter);
    let lines: Vec<_> = tools.iter().map(|t| format!("{}: {}", t.name, t.description)).collect();
    assert_eq!(lines, ["mcp__web__search: Find things."]);
    client.close().await;
}

/// SG-4: launch parameters are opened as a child process; OR-31: one that cannot be is named.
#[tokio::test]
async fn launch_parameters_are_opened_over_stdio() {
    let home = tempfile::tempdir().unwrap();
    let launch = Launch { args: vec!["-c".to_owned(), SERVER.to_owned()], ..Launch::new("sh") };
    let client = Client::bind(Server::launch("sh", launch), &[], home.path()).await.unwrap();
    let said = client.call("greet", Value::Null, None).await.unwrap();
    assert_eq!(said, json!({"content": [{"type": "text", "text": "hello"}]}));
    client.close().await;
    let nowhere = Server::launch("gone", Launch::new("/nowhere/server"));
    let other = tempfile::tempdir().unwrap();
    let error = Client::bind(nowhere, &[], other.path()).await.unwrap_err();
    assert!(error.to_string().contains("`gone`"), "{error}");
}

/// A program that stays sees what its servers have by then.
#[tokio::test]
async fn a_tool_that_is_added_later_is_there() {
    let home = tempfile::tempdir().unwrap();
    let added = home.path().join("added").display().to_string();
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let one = format!("[{}]", tool("greet"));
    let two = format!("[{},{}]", tool("greet"), tool("part"));
    let server = SERVER
        .replace(r#""tools":{}}"#, r#""tools":{"listChanged":true}}"#)
        .replace(&one, &format!("'\"$([ -e '{added}' ] && echo '{two}' || echo '{one}')\"'"))
        .replace(
            r#"*'"method":"tools/call"'*)"#,
            &format!(
                r#"*'"method":"tools/call"'*) : > '{added}'; printf '{{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}}\n';"#
            ),
        );
    let launch = Launch { args: vec!["-c".to_owned(), server], ..Launch::new("sh") };
    let data = home.path().join("data");
    let client = Client::bind(Server::launch("sh", launch), &[], &data).await.unwrap();
    let names = || -> Vec<String> {
        client.tools(&Filter::default()).into_iter().map(|tool| tool.original_name).collect()
    };
    assert_eq!(names(), ["greet"]);
    let mut changes = client.gateway.changes();
    client.call("greet", Value::Null, None).await.unwrap();
    changes.recv().await.unwrap();
    assert_eq!(names(), ["greet", "part"]);
    client.close().await;
}
