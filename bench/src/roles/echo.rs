//! The least an MCP server over HTTP can be: one tool that says back what it is told. It keeps no
//! session and checks nothing, for it is the floor and the upstream, not a subject.

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::{REVISION, SESSION};

pub(crate) async fn serve() -> Outcome<()> {
    super::serve(service_fn(respond)).await
}

async fn respond(request: Request<Incoming>) -> Outcome<Response<Full<Bytes>>> {
    let bytes = request.into_body().collect().await?.to_bytes();
    let Ok(message) = serde_json::from_slice::<Value>(&bytes) else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    let Some(answer) = answer(&message) else { return Ok(empty(StatusCode::ACCEPTED)) };
    let mut response = Response::new(Full::new(Bytes::from(serde_json::to_vec(&answer)?)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if method(&message) == "initialize" {
        headers.insert(SESSION, HeaderValue::from_static("bench"));
    }
    Ok(response)
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

/// The answer to a message; none to a notification, which has no id.
fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let answer = match method(message) {
        "initialize" => json!({"jsonrpc": "2.0", "id": id, "result": introduction()}),
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        "tools/list" => json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [tool()]}}),
        "tools/call" => json!({"jsonrpc": "2.0", "id": id, "result": echo(message)}),
        method => {
            let error = json!({"code": -32601, "message": format!("no method `{method}`")});
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    };
    Some(answer)
}

fn method(message: &Value) -> &str {
    message.get("method").and_then(Value::as_str).unwrap_or_default()
}

fn introduction() -> Value {
    json!({
        "protocolVersion": REVISION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "bench-echo", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn tool() -> Value {
    json!({
        "name": "echo",
        "description": "Says back what it is told.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    })
}

fn echo(message: &Value) -> Value {
    let text = message.pointer("/params/arguments/text").and_then(Value::as_str);
    let is_error = text.is_none();
    let text = text.unwrap_or("argument `text` is missing");
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &str, params: &Value) -> Value {
        answer(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})).unwrap()
    }

    #[test]
    fn a_call_is_answered_with_its_text() {
        let reply = ask("tools/call", &json!({"name": "echo", "arguments": {"text": "hi"}}));
        assert_eq!(reply["id"], 7);
        assert_eq!(reply["result"]["content"][0]["text"], "hi");
        assert_eq!(reply["result"]["isError"], false);
    }

    #[test]
    fn a_call_without_text_is_an_error_of_the_tool() {
        let reply = ask("tools/call", &json!({"name": "echo", "arguments": {}}));
        assert_eq!(reply["result"]["isError"], true);
    }

    #[test]
    fn one_tool_is_listed() {
        let reply = ask("tools/list", &json!({}));
        assert_eq!(reply["result"]["tools"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_notification_gets_no_answer() {
        assert_eq!(answer(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})), None);
    }

    #[test]
    fn an_unknown_method_is_refused() {
        assert_eq!(ask("resources/list", &json!({}))["error"]["code"], -32601);
    }
}
