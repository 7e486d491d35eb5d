//! The other side of the wire: what the gate asks of MCP servers, and how it reads their answers.

use model::{Answer, Code, Fault};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::encode;
use crate::jsonrpc::{self, Id, Message, Refusal, RpcError};
use crate::revision::Revision;

/// A request of ours with a number we chose.
pub fn request(id: i64, method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Asking<'a, T> {
        jsonrpc: &'static str,
        id: i64,
        method: &'a str,
        params: &'a T,
    }
    encode::bytes(&Asking { jsonrpc: "2.0", id, method, params })
}

/// The opening of a conversation with a server that remembers.
pub fn initialize(id: i64) -> Vec<u8> {
    let params = json!({
        "protocolVersion": Revision::NEWEST_LEGACY.as_str(),
        "capabilities": {},
        "clientInfo": {"name": "toolgate", "version": env!("CARGO_PKG_VERSION")},
    });
    request(id, "initialize", &params)
}

pub fn initialized() -> Vec<u8> {
    encode::notification("notifications/initialized", &json!({}))
}

pub fn tools_list(id: i64, cursor: Option<&str>) -> Vec<u8> {
    match cursor {
        None => request(id, "tools/list", &json!({})),
        Some(cursor) => request(id, "tools/list", &json!({"cursor": cursor})),
    }
}

/// One call. With `report`, the server is asked for progress under the request's own number.
pub fn tools_call(id: i64, name: &str, arguments: &Value, report: bool) -> Vec<u8> {
    #[derive(Serialize)]
    struct Calling<'a> {
        name: &'a str,
        arguments: &'a Value,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    }
    let meta = report.then(|| json!({"progressToken": id}));
    request(id, "tools/call", &Calling { name, arguments, meta })
}

pub fn cancelled(id: i64, reason: &str) -> Vec<u8> {
    encode::notification("notifications/cancelled", &json!({"requestId": id, "reason": reason}))
}

/// What a server sent.
#[derive(Clone, Debug, PartialEq)]
pub enum FromServer {
    Response {
        id: i64,
        outcome: Result<Value, RpcError>,
    },
    Progress {
        id: i64,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    /// A question to us; it must get an answer or the server may wait for ever.
    Question {
        id: Id,
        method: String,
    },
    Other,
}

/// Reads what a server sent. Numbers it answers to are ours, so anything else is not for us.
pub fn read(bytes: &[u8]) -> Result<Vec<FromServer>, Refusal> {
    let messages = jsonrpc::read(bytes)?;
    messages.into_iter().map(|message| message.map(interpret)).collect()
}

/// Answers a question that this gate does not take.
pub fn decline(id: &Id, method: &str) -> Vec<u8> {
    if method == "ping" {
        return encode::bytes(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
    let message = format!("`{}` is not offered", model::fault::one_line(method, 80));
    encode::error(Some(id), &RpcError::new(jsonrpc::METHOD_NOT_FOUND, message))
}

/// One page of a server's tools.
pub fn tools_page(result: Value) -> Result<(Vec<Value>, Option<String>), Fault> {
    let Value::Object(mut object) = result else {
        return Err(Fault::new(Code::UpstreamError, "the upstream's tool list is not an object"));
    };
    let Some(Value::Array(tools)) = object.remove("tools") else {
        return Err(Fault::new(Code::UpstreamError, "the upstream's tool list has no `tools`"));
    };
    let cursor = object.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Ok((tools, cursor))
}

/// The answer to a call, with fields we do not know kept as they are.
pub fn call_answer(result: Value) -> Result<Answer, Fault> {
    serde_json::from_value(result).map_err(|error| {
        Fault::new(Code::UpstreamError, "the upstream's answer is not a tool result").logging(error)
    })
}

/// An error the server gave in place of an answer.
pub fn call_fault(error: &RpcError) -> Fault {
    Fault::new(Code::UpstreamError, format!("the upstream refused: {}", error.message))
        .with("upstream_code", error.code)
}

fn interpret(message: Message) -> FromServer {
    match message {
        Message::Response { id: Id::Number(id), outcome } => FromServer::Response { id, outcome },
        Message::Notification { method, params } if method == "notifications/progress" => {
            progress(&params).unwrap_or(FromServer::Other)
        }
        Message::Request { id, method, .. } => FromServer::Question { id, method },
        Message::Response { .. } | Message::Notification { .. } => FromServer::Other,
    }
}

fn progress(params: &Map<String, Value>) -> Option<FromServer> {
    Some(FromServer::Progress {
        id: params.get("progressToken")?.as_i64()?,
        progress: params.get("progress")?.as_f64()?,
        total: params.get("total").and_then(Value::as_f64),
        message: params.get("message").and_then(Value::as_str).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_sends_is_told_apart() {
        let check = |text: &str, wanted: FromServer| {
            assert_eq!(read(text.as_bytes()).unwrap(), [wanted], "{text}");
        };
        check(
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            FromServer::Response { id: 7, outcome: Ok(json!({})) },
        );
        check(r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, FromServer::Other);
        check(
            r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#,
            FromServer::Question { id: Id::Text("q".into()), method: "roots/list".into() },
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#,
            FromServer::Progress { id: 3, progress: 1.0, total: None, message: None },
        );
    }

    #[test]
    fn a_call_asks_for_progress_only_when_somebody_listens() {
        let text = |report| String::from_utf8(tools_call(1, "t", &json!({}), report)).unwrap();
        assert!(!text(false).contains("_meta"));
        assert!(text(true).contains(r#""_meta":{"progressToken":1}"#));
    }

    #[test]
    fn a_ping_is_answered_and_other_questions_are_declined() {
        let text = |method| String::from_utf8(decline(&Id::Number(1), method)).unwrap();
        assert_eq!(text("ping"), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(text("sampling/createMessage").contains("-32601"));
    }

    #[test]
    fn a_broken_list_is_a_fault_of_the_upstream() {
        assert_eq!(tools_page(json!([])).unwrap_err().code, Code::UpstreamError);
        assert_eq!(tools_page(json!({})).unwrap_err().code, Code::UpstreamError);
        assert_eq!(call_answer(json!("x")).unwrap_err().code, Code::UpstreamError);
    }
}
