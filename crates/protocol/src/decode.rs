//! Bytes of a client into what it asks for, whatever revision it speaks.

use serde_json::{Map, Value};

use crate::jsonrpc::{self, Id, Message, Refusal, RpcError};
use crate::revision::Revision;

/// Keys of `_meta` that 2026-07-28 defines for every request.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// Our own keys of `_meta`, for callers that name their run or guard a write.
const META_RUN: &str = "toolgate/run_id";
const META_IDEMPOTENCY: &str = "toolgate/idempotency_key";

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
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub id: Id,
    pub method: String,
    pub ask: Ask,
    pub meta: Meta,
}

/// What travels beside the arguments of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// Set when the request names its own revision, as stateless clients do.
    pub revision: Option<Revision>,
    pub client: Option<String>,
    pub progress_token: Option<Value>,
    pub traceparent: Option<String>,
    pub run_id: Option<String>,
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    Initialize {
        asked_version: String,
        client: Option<String>,
    },
    Discover,
    Ping,
    ToolsList {
        cursor: Option<String>,
    },
    ToolsCall {
        name: String,
        arguments: Value,
    },
    /// A method this gate does not serve.
    Unknown,
}

/// Reads what a client sent: one message, or the messages of one batch.
pub fn client(bytes: &[u8]) -> Result<Vec<Result<Incoming, Refusal>>, Refusal> {
    let messages = jsonrpc::read(bytes)?;
    Ok(messages.into_iter().map(|message| message.and_then(interpret)).collect())
}

fn interpret(message: Message) -> Result<Incoming, Refusal> {
    match message {
        Message::Request { id, method, params } => request(id, method, params),
        Message::Notification { method, params } if method == "notifications/cancelled" => {
            match params.get("requestId").cloned().map(serde_json::from_value) {
                Some(Ok(id)) => Ok(Incoming::Cancelled { id }),
                _ => Ok(Incoming::Notification { method }),
            }
        }
        Message::Notification { method, .. } => Ok(Incoming::Notification { method }),
        Message::Response { id, .. } => Ok(Incoming::Response { id }),
    }
}

fn request(id: Id, method: String, mut params: Map<String, Value>) -> Result<Incoming, Refusal> {
    let meta =
        meta(&params).map_err(|error| Refusal { id: Some(id.clone()), error, stateless: true })?;
    let ask = ask(&method, &mut params).map_err(|message| Refusal {
        stateless: meta.revision.is_some(),
        ..Refusal::new(Some(id.clone()), jsonrpc::INVALID_PARAMS, message)
    })?;
    Ok(Incoming::Request(Box::new(Request { id, method, ask, meta })))
}

fn ask(method: &str, params: &mut Map<String, Value>) -> Result<Ask, &'static str> {
    Ok(match method {
        "initialize" => Ask::Initialize {
            asked_version: text(params.get("protocolVersion"))
                .ok_or("`protocolVersion` must be a string")?,
            client: params.get("clientInfo").and_then(client_label),
        },
        "server/discover" => Ask::Discover,
        "ping" => Ask::Ping,
        "tools/list" => Ask::ToolsList {
            cursor: match params.get("cursor") {
                None | Some(Value::Null) => None,
                cursor => Some(text(cursor).ok_or("`cursor` must be a string")?),
            },
        },
        "tools/call" => Ask::ToolsCall {
            name: text(params.get("name")).ok_or("`name` must be a string")?,
            arguments: match params.remove("arguments") {
                None | Some(Value::Null) => Value::Object(Map::new()),
                Some(arguments @ Value::Object(_)) => arguments,
                Some(_) => return Err("`arguments` must be an object"),
            },
        },
        _ => Ask::Unknown,
    })
}

fn meta(params: &Map<String, Value>) -> Result<Meta, RpcError> {
    let Some(Value::Object(meta)) = params.get("_meta") else { return Ok(Meta::default()) };
    let revision = match meta.get(META_VERSION) {
        None => None,
        Some(version) => Some(modern(version, meta)?),
    };
    Ok(Meta {
        revision,
        client: meta.get(META_CLIENT).and_then(client_label),
        progress_token: meta.get("progressToken").cloned().filter(|token| !token.is_null()),
        traceparent: text(meta.get("traceparent")),
        run_id: text(meta.get(META_RUN)),
        idempotency_key: text(meta.get(META_IDEMPOTENCY)),
    })
}

/// The revision a stateless request names, checked for what that revision demands.
fn modern(version: &Value, meta: &Map<String, Value>) -> Result<Revision, RpcError> {
    let asked = version.as_str().unwrap_or_default();
    let known = asked.parse::<Revision>().ok().filter(|revision| revision.is_modern());
    let Some(revision) = known else {
        let supported: Vec<&str> =
            Revision::ALL.iter().filter(|r| r.is_modern()).map(|r| r.as_str()).collect();
        let data = serde_json::json!({"supported": supported, "requested": asked});
        return Err(RpcError::new(
            jsonrpc::UNSUPPORTED_VERSION,
            format!("revision `{}` is not served here", model::fault::one_line(asked, 40)),
        )
        .with_data(data));
    };
    if !meta.get(META_CAPABILITIES).is_some_and(Value::is_object) {
        let message = format!("`_meta` lacks `{META_CAPABILITIES}`");
        return Err(RpcError::new(jsonrpc::INVALID_PARAMS, message));
    }
    Ok(revision)
}

fn client_label(info: &Value) -> Option<String> {
    let name = info.get("name")?.as_str()?;
    let version = info.get("version").and_then(Value::as_str).unwrap_or("?");
    Some(model::fault::one_line(&format!("{name} {version}"), 100))
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
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
            Ask::Initialize { asked_version: "2025-06-18".into(), client: Some("c 1".into()) },
        );
        check("ping", json!({}), Ask::Ping);
        check("server/discover", json!({}), Ask::Discover);
        check("tools/list", json!({"cursor": "x"}), Ask::ToolsList { cursor: Some("x".into()) });
        let call = |arguments| Ask::ToolsCall { name: "t".into(), arguments };
        check("tools/call", json!({"name": "t"}), call(json!({})));
        check("tools/call", json!({"name": "t", "arguments": null}), call(json!({})));
        check("tools/call", json!({"name": "t", "arguments": {"a": 1}}), call(json!({"a": 1})));
        check("vendor/magic", json!({}), Ask::Unknown);
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
        check("tools/call", json!({"name": "t", "arguments": [1]}), "arguments");
        check("tools/list", json!({"_meta": {META_VERSION: "2026-07-28"}}), META_CAPABILITIES);
    }

    #[test]
    fn a_stateless_request_names_its_revision() {
        let meta = json!({"_meta": {META_VERSION: "2026-07-28", META_CAPABILITIES: {}, "progressToken": 7}});
        let request = read_request("tools/list", &meta).unwrap();
        assert_eq!(request.meta.revision, Some(Revision::V2026_07_28));
        assert_eq!(request.meta.progress_token, Some(json!(7)));
        let refusal = read_request("tools/list", &json!({"_meta": {META_VERSION: "2031-01-01"}}));
        let error = refusal.unwrap_err().error;
        assert_eq!(error.code, jsonrpc::UNSUPPORTED_VERSION);
        assert_eq!(
            error.data,
            Some(json!({"supported": ["2026-07-28"], "requested": "2031-01-01"}))
        );
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
