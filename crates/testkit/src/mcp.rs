//! What a small MCP server says: shared by the child process and the HTTP server, so that one
//! suite fits both. Five tools over two pages.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What a server does about one message.
#[derive(Clone, Debug, PartialEq)]
pub enum Reaction {
    Send(Value),
    /// Nothing is sent; what came is worth remembering.
    Note(Value),
    /// The request gets no answer, ever.
    Silence,
}

/// Reacts to one message of the client.
pub fn react(message: &Value) -> Vec<Reaction> {
    let id = &message["id"];
    let params = &message["params"];
    match message["method"].as_str() {
        Some("initialize") => vec![result(id, initialized(params))],
        Some("tools/list") => vec![result(id, page(&params["cursor"]))],
        Some("tools/call") => call(id, params),
        Some(_) if id.is_null() => vec![Reaction::Note(message.clone())],
        Some(_) => vec![error(id, -32601, "not offered")],
        None => vec![Reaction::Note(message.clone())],
    }
}

/// How a server of 2026-07-28 introduces itself, if it is asked to.
pub fn discovered(message: &Value) -> Option<Value> {
    let result = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
    });
    let asked = message["method"] == "server/discover";
    asked.then(|| json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// The answer to a call of `verbatim`: the arguments, letter by letter.
pub fn verbatim(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Call<'a> {
        id: i64,
        #[serde(borrow)]
        params: Params<'a>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        name: &'a str,
        #[serde(borrow)]
        arguments: &'a RawValue,
    }
    let Call { id, params } = serde_json::from_str(line).ok()?;
    let text = params.arguments.get();
    (params.name == "verbatim").then(|| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":1.50,"content":[],"structuredContent":{text},"_meta":{{"v/b":1e2,"v/a":[]}}}}}}"#
        )
    })
}

/// A question of the server, which a client without roots must decline.
pub fn roots_list() -> Value {
    json!({"jsonrpc": "2.0", "id": "roots-1", "method": "roots/list"})
}

fn initialized(params: &Value) -> Value {
    json!({
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fake-mcp", "version": "1"},
    })
}

fn page(cursor: &Value) -> Value {
    let tool = |name: &str| crate::tool(name, json!({}));
    match cursor.as_str() {
        None => json!({"tools": [tool("echo"), tool("fail")], "nextCursor": "page-2"}),
        Some(_) => json!({"tools": [tool("slow"), tool("never"), tool("verbatim")]}),
    }
}

fn call(id: &Value, params: &Value) -> Vec<Reaction> {
    let progress = |done: u32| progress(&params["_meta"]["progressToken"], done);
    match params["name"].as_str() {
        Some("echo") => vec![result(id, structured(&params["arguments"]))],
        Some("fail") => {
            let content = json!([{"type": "text", "text": "the shelf is empty"}]);
            vec![result(id, json!({"content": content, "isError": true}))]
        }
        Some("slow") => {
            let answer = Some(result(id, structured(&json!({"steps": 2}))));
            [progress(1), progress(2), answer].into_iter().flatten().collect()
        }
        Some("never") => progress(1).into_iter().chain([Reaction::Silence]).collect(),
        _ => vec![error(id, -32602, "unknown tool")],
    }
}

fn structured(value: &Value) -> Value {
    let content = json!([{"type": "text", "text": value.to_string()}]);
    json!({"content": content, "structuredContent": value})
}

/// News for a client that asked for it.
fn progress(token: &Value, done: u32) -> Option<Reaction> {
    let params =
        json!({"progressToken": token, "progress": done, "total": 2, "message": "working"});
    let news = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
    (!token.is_null()).then_some(Reaction::Send(news))
}

fn result(id: &Value, result: Value) -> Reaction {
    let mut message = json!({"jsonrpc": "2.0", "id": id});
    message["result"] = result;
    Reaction::Send(message)
}

fn error(id: &Value, code: i64, message: &str) -> Reaction {
    Reaction::Send(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}
