//! Bytes of a client into what it asks for, whatever revision it speaks.

mod ask;
pub mod meta;

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use self::ask::{Ask, Interest, METHODS, Reference};
pub use self::meta::Meta;
use crate::jsonrpc::{self, Id, Message, Refusal, RpcError};
use crate::strict::Fields;

/// What a client sent, one message at a time.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    Request(Box<Request>),
    /// The client no longer wants the answer to this request.
    Cancelled {
        id: Id,
    },
    /// Any other notification: understood as far as it needs no action.
    Notification {
        method: String,
    },
    /// The client's answer to a question of ours.
    Response {
        id: Id,
        outcome: Result<Value, RpcError>,
    },
}

impl Incoming {
    /// Whether it is a request that names its own revision, and so stands for itself.
    pub fn is_stateless(&self) -> bool {
        matches!(self, Self::Request(request) if request.meta.revision.is_some())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub id: Id,
    pub method: String,
    pub ask: Ask,
    pub meta: Meta,
    /// Parameters that do not decide the way, to be passed on as they are.
    pub rest: Map<String, Value>,
    /// The text of the arguments, where their numbers are spelled in a way that values do not keep; of
    /// all parameters, where nobody knows which are arguments.
    pub written: jsonrpc::Written,
}

/// Reads what a client sent: one message, or the messages of one batch.
pub fn client(bytes: &[u8]) -> Result<Vec<Result<Incoming, Refusal>>, Refusal> {
    let messages = jsonrpc::read(bytes)?;
    Ok(messages.into_iter().map(|message| message.and_then(interpret)).collect())
}

/// `name version` of an implementation, for people.
pub fn label(info: &Value) -> Option<String> {
    let name = info.get("name")?.as_str()?;
    let version = info.get("version").and_then(Value::as_str).unwrap_or("?");
    Some(model::fault::one_line(&format!("{name} {version}"), 100))
}

/// The text of an object within the text of one, letter by letter.
pub fn part(object: &str, key: &str) -> Option<String> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(object).ok()?;
    let text = fields.get(key)?.get();
    text.starts_with('{').then(|| text.to_owned())
}

fn interpret(message: Message) -> Result<Incoming, Refusal> {
    match message {
        Message::Request { id, method, params, written } => {
            request(id, method, params, written.as_deref())
        }
        Message::Notification { method, params } if method == "notifications/cancelled" => {
            let mut params = params;
            match params.take("requestId").map(serde_json::from_value) {
                Some(Ok(id)) => Ok(Incoming::Cancelled { id }),
                _ => Ok(Incoming::Notification { method }),
            }
        }
        Message::Notification { method, .. } => Ok(Incoming::Notification { method }),
        Message::Response { id, outcome, .. } => Ok(Incoming::Response { id, outcome }),
    }
}

fn request(
    id: Id,
    method: String,
    mut params: Fields,
    written: Option<&str>,
) -> Result<Incoming, Refusal> {
    let meta = meta::take(&mut params).map_err(|refused| Refusal {
        id: Some(id.clone()),
        stateless: refused.stateless,
        error: refused.error,
    })?;
    let modern = meta.revision.is_some();
    // Whatever the revision, what is wrong with the parameters of a method is an answer to it.
    let ask = ask::take(&method, modern, &mut params)
        .map_err(|message| Refusal::new(Some(id.clone()), jsonrpc::INVALID_PARAMS, message))?;
    let written = written.and_then(|params| match ask {
        Ask::CallTool { .. } | Ask::GetPrompt { .. } => part(params, "arguments"),
        Ask::Other => Some(params.to_owned()),
        _ => None,
    });
    Ok(Incoming::Request(Box::new(Request {
        id,
        method,
        ask,
        meta,
        rest: params.into_map(),
        written,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::Revision;
    use model::{Listed, LogLevel, TaskVerb};
    use proptest::prelude::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<Incoming, Refusal> {
        client(value.to_string().as_bytes()).unwrap().remove(0)
    }

    fn read_request(method: &str, params: &Value) -> Result<Request, Refusal> {
        match read(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))? {
            Incoming::Request(request) => Ok(*request),
            other => panic!("{other:?}"),
        }
    }

    /// CO-200: initialize, list and call as clients send them.
    #[test]
    fn requests_are_understood() {
        let check = |method: &str, params: Value, ask: Ask| {
            assert_eq!(read_request(method, &params).unwrap().ask, ask, "{method}");
        };
        check(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "clientInfo": {"name": "c", "version": "1"}}),
            Ask::Initialize {
                asked_version: "2025-06-18".into(),
                capabilities: Map::new(),
                info: Some(json!({"name": "c", "version": "1"})),
            },
        );
        check("ping", json!({}), Ask::Ping);
        check("server/discover", json!({}), Ask::Discover);
        let list =
            |what, cursor: Option<&str>| Ask::List { what, cursor: cursor.map(str::to_owned) };
        check("tools/list", json!({"cursor": "x"}), list(Listed::Tools, Some("x")));
        check("prompts/list", json!({"cursor": ""}), list(Listed::Prompts, Some("")));
        check("resources/list", json!({}), list(Listed::Resources, None));
        check("resources/templates/list", json!({}), list(Listed::Templates, None));
        check("tasks/list", json!({}), list(Listed::Tasks, None));
        check("resources/read", json!({"uri": "a:b"}), Ask::ReadResource { uri: "a:b".into() });
        check(
            "prompts/get",
            json!({"name": "p"}),
            Ask::GetPrompt { name: "p".into(), arguments: json!({}) },
        );
        check(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {}}),
            Ask::Complete(Reference::Prompt("p".into())),
        );
        check(
            "resources/unsubscribe",
            json!({"uri": "a:b"}),
            Ask::Subscribe { uri: "a:b".into(), wanted: false },
        );
        check("logging/setLevel", json!({"level": "info"}), Ask::SetLevel(LogLevel::Info));
        check(
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["a:b"]}}),
            Ask::Listen(Interest { tools: true, uris: vec!["a:b".into()], ..Interest::default() }),
        );
        check(
            "tasks/cancel",
            json!({"taskId": "7"}),
            Ask::Task { verb: TaskVerb::Cancel, id: "7".into() },
        );
        let call = |arguments| Ask::CallTool { name: "t".into(), arguments };
        check("tools/call", json!({"name": "t"}), call(json!({})));
        check("tools/call", json!({"name": "t", "arguments": null}), call(json!({})));
        check("tools/call", json!({"name": "t", "arguments": {"a": 1}}), call(json!({"a": 1})));
        check("tools/call", json!({"name": "t", "arguments": [1]}), call(json!([1])));
        check("vendor/magic", json!({}), Ask::Other);
    }

    #[test]
    fn wrong_params_are_refused_with_the_id() {
        let check = |method: &str, params: Value, wanted: &str| {
            let refusal = read_request(method, &params).unwrap_err();
            assert_eq!(refusal.id, Some(Id::Number(1)));
            assert_eq!(refusal.error.code, jsonrpc::INVALID_PARAMS);
            assert!(refusal.error.message.contains(wanted), "{}", refusal.error.message);
        };
        check("initialize", json!({}), "protocolVersion");
        check("tools/list", json!({"cursor": 7}), "cursor");
        check("tools/call", json!({}), "name");
        check("resources/read", json!({}), "uri");
        check("completion/complete", json!({"ref": {"type": "x"}}), "ref.type");
        check("completion/complete", json!({"ref": {"type": "ref/prompt"}}), "must name");
        check("logging/setLevel", json!({"level": "loud"}), "log levels");
        check("subscriptions/listen", json!({"notifications": {"taskIds": [7]}}), "strings");
        check("tasks/get", json!({}), "taskId");
        check("tools/list", json!({"_meta": 7}), "_meta");
        check("prompts/get", json!({"name": "p", "arguments": [1]}), "arguments");
        for token in [json!({}), json!(true), json!("x".repeat(257))] {
            check("tools/list", json!({"_meta": {"progressToken": token}}), "progressToken");
        }
        check("tools/list", json!({"_meta": {meta::VERSION: "2026-07-28"}}), meta::CAPABILITIES);
    }

    /// PROTOCOL 1.3: only what a stateless request must say of itself has a status of its own.
    #[test]
    fn a_wrong_parameter_is_no_bad_request() {
        let check = |params: Value, stateless: bool| {
            let refusal = read_request("tools/call", &params).unwrap_err();
            assert_eq!(refusal.stateless, stateless, "{params}");
        };
        let whole = json!({meta::VERSION: "2026-07-28", meta::CAPABILITIES: {}});
        check(json!({"_meta": whole}), false);
        check(json!({"name": "t", "_meta": {meta::VERSION: "2026-07-28"}}), true);
        check(json!({"name": "t", "_meta": {meta::VERSION: "2031-01-01"}}), true);
        check(json!({"name": "t", "_meta": {meta::CEILING: "sky"}}), false);
        check(json!({"name": "t", "_meta": 7}), false);
    }

    #[test]
    fn a_stateless_request_names_its_revision() {
        let meta = json!({"_meta": {meta::VERSION: "2026-07-28", meta::CAPABILITIES: {}, "progressToken": 7}});
        let request = read_request("tools/list", &meta).unwrap();
        assert_eq!(request.meta.revision, Some(Revision::V2026_07_28));
        assert_eq!(request.meta.progress_token, Some(json!(7)));
        let refusal = read_request("tools/list", &json!({"_meta": {meta::VERSION: "2031-01-01"}}));
        let error = refusal.unwrap_err().error;
        assert_eq!(error.code, jsonrpc::UNSUPPORTED_VERSION);
        assert_eq!(
            error.data,
            Some(json!({"supported": ["2026-07-28"], "requested": "2031-01-01"}))
        );
    }

    #[test]
    fn what_decides_nothing_is_kept_for_the_upstream() {
        let request = read_request(
            "tools/call",
            &json!({"name": "t", "task": {"ttl": 5}, "x": 1.5, "_meta": {"vendor/a": [1], "progressToken": 1}}),
        );
        let request = request.unwrap();
        assert_eq!(Value::Object(request.rest), json!({"task": {"ttl": 5}, "x": 1.5}));
        assert_eq!(Value::Object(request.meta.rest), json!({"vendor/a": [1]}));
    }

    #[test]
    fn a_removed_method_is_known_as_such_before_its_parameters_are_read() {
        let stateless = json!({"_meta": {meta::VERSION: "2026-07-28", meta::CAPABILITIES: {}}});
        for method in ["initialize", "ping", "resources/subscribe", "tasks/result"] {
            assert_eq!(read_request(method, &stateless).unwrap().ask, Ask::Removed, "{method}");
        }
    }

    #[test]
    fn a_cancellation_names_its_request() {
        let cancel = |params: Value| {
            read(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        };
        let id = Id::Text("a".into());
        assert_eq!(cancel(json!({"requestId": "a"})), Ok(Incoming::Cancelled { id }));
        assert!(matches!(cancel(json!({})), Ok(Incoming::Notification { .. })));
    }

    proptest! {
        #[test]
        fn nothing_a_client_sends_makes_us_panic(text in "\\PC{0,200}") {
            drop(client(text.as_bytes()));
        }
    }
}
