//! The other side of the wire: what the gate asks of MCP servers, and how it reads their answers.

use model::limits::{ID_BYTES_MAX, NEWS_BYTES_MAX};
use model::{Client, Fault, Listed, LogLevel};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::decode::meta;
use crate::encode;
use crate::jsonrpc::{self, Id, Message, Refusal, RpcError, Written};
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
///
/// One conversation serves many clients, so it offers what any of them may; a question that the
/// client in question does not take is declined in its name.
pub fn initialize(id: i64, revision: Revision) -> Vec<u8> {
    let mut capabilities = Map::new();
    // That a client's roots changed is not told: a server that hears it could not say whose.
    capabilities.insert("roots".into(), json!({}));
    if revision >= Revision::V2025_11_25 {
        // What a client's own model is given, its client says no to where it must.
        capabilities.insert("sampling".into(), json!({"context": {}, "tools": {}}));
        capabilities.insert("elicitation".into(), json!({"form": {}, "url": {}}));
    } else {
        capabilities.insert("sampling".into(), json!({}));
    }
    if revision == Revision::V2025_06_18 {
        capabilities.insert("elicitation".into(), json!({}));
    }
    let params = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": capabilities,
        "clientInfo": own_info(),
    });
    request(id, "initialize", &params)
}

pub fn initialized() -> Vec<u8> {
    encode::notification("notifications/initialized", &json!({}))
}

pub fn cancelled(id: i64, reason: &str) -> Vec<u8> {
    encode::notification("notifications/cancelled", &json!({"requestId": id, "reason": reason}))
}

/// `_meta` of one request, in the revision of the server.
///
/// A server of 2026-07-28 learns with each request for whom it is made; with `report`, any server
/// is asked for progress under the request's own number.
pub fn meta(
    rest: &Map<String, Value>,
    revision: Revision,
    client: Option<&Client>,
    report: Option<i64>,
) -> Map<String, Value> {
    let mut said = rest.clone();
    if revision.is_modern() {
        let own = Client::default();
        let client = client.unwrap_or(&own);
        said.insert(meta::VERSION.into(), revision.as_str().into());
        said.insert(meta::CAPABILITIES.into(), client.capabilities.clone().into());
        said.insert(meta::CLIENT.into(), client.info.clone().unwrap_or_else(own_info));
        if let Some(level) = client.log_level {
            said.insert(meta::LOG_LEVEL.into(), level.as_str().into());
        }
    }
    if let Some(id) = report {
        said.insert("progressToken".into(), id.into());
    }
    said
}

fn own_info() -> Value {
    json!({"name": "toolgate", "version": env!("CARGO_PKG_VERSION")})
}

/// What a server sent.
#[derive(Clone, Debug, PartialEq)]
pub enum FromServer {
    Response {
        id: i64,
        outcome: Result<Value, RpcError>,
        written: Written,
    },
    Progress {
        id: i64,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
        /// Whatever else it says, such as `_meta`.
        rest: Map<String, Value>,
    },
    /// `notifications/message`: how severe, and all of it.
    Log {
        level: LogLevel,
        params: Map<String, Value>,
    },
    /// A question to us; it must get an answer or the server may wait for ever.
    Question {
        id: Id,
        method: String,
        params: Map<String, Value>,
    },
    Changed(Listed),
    Updated {
        uri: String,
    },
    /// `notifications/tasks` or `notifications/tasks/status`, in the server's words.
    TaskNews {
        params: Map<String, Value>,
    },
    /// `notifications/elicitation/complete`: somebody has been where they were sent.
    Visited {
        elicitation_id: String,
    },
    Other,
}

/// Reads what a server sent. Numbers it answers to are ours, so anything else is not for us.
///
/// What comes in the course of something else waits with many of its kind for who listens, and so
/// what is too long for that is not taken in.
pub fn read(bytes: &[u8]) -> Result<Vec<FromServer>, Refusal> {
    let messages = jsonrpc::read(bytes)?;
    let long = bytes.len() > NEWS_BYTES_MAX;
    let kept = |message| if long { shortened(message) } else { message };
    messages.into_iter().map(|message| Ok(kept(interpret(message?)))).collect()
}

/// What is said in so long a text of what nobody waits for: of a task how it stands, which is all one
/// need hear to ask for the rest.
fn shortened(message: FromServer) -> FromServer {
    const STATE: [&str; 8] = [
        "taskId",
        "status",
        "createdAt",
        "lastUpdatedAt",
        "ttl",
        "ttlMs",
        "pollInterval",
        "pollIntervalMs",
    ];
    match message {
        FromServer::TaskNews { mut params } => {
            params.retain(|key, value| {
                let short = value.as_str().is_none_or(|text| text.len() <= ID_BYTES_MAX);
                STATE.contains(&key.as_str()) && short && !value.is_object() && !value.is_array()
            });
            FromServer::TaskNews { params }
        }
        FromServer::Progress { .. }
        | FromServer::Log { .. }
        | FromServer::Updated { .. }
        | FromServer::Visited { .. } => FromServer::Other,
        other => other,
    }
}

/// Our answer to a question of a server.
pub fn reply(id: &Id, outcome: &Result<Value, RpcError>) -> Vec<u8> {
    match outcome {
        Ok(result) => encode::bytes(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err(error) => encode::error(Some(id), error),
    }
}

/// What a server hears when there is nobody to answer its question.
pub fn unanswered(method: &str) -> Result<Value, RpcError> {
    match method {
        "ping" => Ok(json!({})),
        "roots/list" => Ok(json!({"roots": []})),
        "elicitation/create" => Ok(json!({"action": "decline"})),
        _ => {
            let message = format!("`{}` is not offered", model::fault::one_line(method, 80));
            Err(RpcError::new(jsonrpc::METHOD_NOT_FOUND, message))
        }
    }
}

/// One page of a server's list.
pub fn page(what: Listed, result: Value) -> Result<(Vec<Value>, Option<String>), Fault> {
    let broken = |why: &str| {
        Fault::new(model::Code::UpstreamError, format!("the upstream's `{}` {why}", what.method()))
    };
    let Value::Object(mut object) = result else { return Err(broken("answer is not an object")) };
    let Some(Value::Array(items)) = object.shift_remove(what.key()) else {
        return Err(broken(&format!("answer has no `{}`", what.key())));
    };
    let cursor = object.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Ok((items, cursor))
}

/// An error the server gave in place of an answer.
pub fn call_fault(error: RpcError) -> Fault {
    let RpcError { code, message, data } = error;
    Fault::new(model::Code::UpstreamError, format!("the upstream refused: {message}"))
        .with("upstream_code", code)
        .said_by_upstream(code, message, data)
}

fn interpret(message: Message) -> FromServer {
    match message {
        Message::Response { id: Id::Number(id), outcome, written } => {
            FromServer::Response { id, outcome, written }
        }
        Message::Response { .. } => FromServer::Other,
        Message::Request { id, method, params, .. } => {
            FromServer::Question { id, method, params: params.into_map() }
        }
        Message::Notification { method, params } => news(&method, params.into_map()),
    }
}

fn news(method: &str, params: Map<String, Value>) -> FromServer {
    match method {
        "notifications/progress" => progress(params).unwrap_or(FromServer::Other),
        "notifications/message" => {
            let level = params.get("level").and_then(Value::as_str).and_then(LogLevel::read);
            level.map_or(FromServer::Other, |level| FromServer::Log { level, params })
        }
        "notifications/tools/list_changed" => FromServer::Changed(Listed::Tools),
        "notifications/prompts/list_changed" => FromServer::Changed(Listed::Prompts),
        "notifications/resources/list_changed" => FromServer::Changed(Listed::Resources),
        "notifications/resources/updated" => match params.get("uri").and_then(Value::as_str) {
            Some(uri) => FromServer::Updated { uri: uri.to_owned() },
            None => FromServer::Other,
        },
        "notifications/elicitation/complete" => {
            let id = params.get("elicitationId").and_then(Value::as_str);
            id.map_or(FromServer::Other, |id| FromServer::Visited { elicitation_id: id.to_owned() })
        }
        "notifications/tasks" | "notifications/tasks/status" => FromServer::TaskNews { params },
        _ => FromServer::Other,
    }
}

fn progress(mut params: Map<String, Value>) -> Option<FromServer> {
    let mut take = |key: &str| params.shift_remove(key);
    let message = |value: Value| if let Value::String(text) = value { Some(text) } else { None };
    Some(FromServer::Progress {
        id: take("progressToken")?.as_i64()?,
        progress: take("progress")?.as_f64()?,
        total: take("total").and_then(|total| total.as_f64()),
        message: take("message").and_then(message),
        rest: params,
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
            FromServer::Response { id: 7, outcome: Ok(json!({})), written: None },
        );
        check(r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, FromServer::Other);
        check(
            r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#,
            FromServer::Question {
                id: Id::Text("q".into()),
                method: "roots/list".into(),
                params: Map::new(),
            },
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1,"_meta":{"v/x":7}}}"#,
            FromServer::Progress {
                id: 3,
                progress: 1.0,
                total: None,
                message: None,
                rest: Map::from_iter([("_meta".to_owned(), json!({"v/x": 7}))]),
            },
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            FromServer::Changed(Listed::Tools),
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#,
            FromServer::Updated { uri: "a:b".into() },
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
            FromServer::Other,
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}"#,
            FromServer::Visited { elicitation_id: "e1".into() },
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{}}"#,
            FromServer::Other,
        );
        check(r#"{"jsonrpc":"2.0","method":"vendor/news"}"#, FromServer::Other);
    }

    #[test]
    fn long_news_are_not_taken_in() {
        let check = |method: &str, params: &str, padding: usize, kept: bool| {
            let space = " ".repeat(padding);
            let text =
                format!(r#"{{"jsonrpc":"2.0","method":"{method}",{space}"params":{params}}}"#);
            let [read] = &read(text.as_bytes()).unwrap()[..] else { panic!("{method}") };
            assert_eq!(*read != FromServer::Other, kept, "{method}, {padding}");
        };
        for (method, params) in [
            ("notifications/message", r#"{"level":"info","data":""}"#),
            ("notifications/progress", r#"{"progressToken":3,"progress":1}"#),
            ("notifications/resources/updated", r#"{"uri":"a:b"}"#),
        ] {
            check(method, params, NEWS_BYTES_MAX - 200, true);
            check(method, params, NEWS_BYTES_MAX, false);
        }
        check("notifications/tools/list_changed", "{}", NEWS_BYTES_MAX, true);
        let result = "x".repeat(NEWS_BYTES_MAX);
        let task =
            json!({"taskId": "t", "status": "completed", "ttlMs": 5, "result": {"a": result}});
        let news = json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": task});
        let short = json!({"taskId": "t", "status": "completed", "ttlMs": 5});
        let Some(FromServer::TaskNews { params }) =
            read(news.to_string().as_bytes()).unwrap().pop()
        else {
            panic!("{short}")
        };
        assert_eq!(Value::Object(params), short);
        let long =
            format!(r#"{{"jsonrpc":"2.0","id":7,{}"result":{{}}}}"#, " ".repeat(NEWS_BYTES_MAX));
        assert!(matches!(read(long.as_bytes()).unwrap()[..], [FromServer::Response { id: 7, .. }]));
    }

    #[test]
    fn a_request_is_dressed_for_the_server_it_goes_to() {
        let check = |revision, report, wanted: Value| {
            let rest = json!({"vendor/x": 1}).as_object().cloned().unwrap();
            assert_eq!(Value::Object(meta(&rest, revision, None, report)), wanted);
        };
        check(Revision::V2025_06_18, None, json!({"vendor/x": 1}));
        check(Revision::V2025_06_18, Some(7), json!({"vendor/x": 1, "progressToken": 7}));
        check(
            Revision::V2026_07_28,
            None,
            json!({
                "vendor/x": 1,
                meta::VERSION: "2026-07-28",
                meta::CAPABILITIES: {},
                meta::CLIENT: own_info(),
            }),
        );
    }

    #[test]
    fn a_question_nobody_takes_is_declined() {
        let text = |method| String::from_utf8(reply(&Id::Number(1), &unanswered(method))).unwrap();
        assert_eq!(text("ping"), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert_eq!(text("roots/list"), r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
        assert!(text("elicitation/create").contains("decline"));
        assert!(text("sampling/createMessage").contains("-32601"));
    }

    #[test]
    fn a_broken_list_is_a_fault_of_the_upstream() {
        for broken in [json!([]), json!({}), json!({"tools": {}})] {
            let fault = page(Listed::Tools, broken).unwrap_err();
            assert_eq!(fault.code, model::Code::UpstreamError);
        }
    }
}
