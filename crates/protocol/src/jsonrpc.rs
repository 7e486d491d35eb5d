//! The JSON-RPC 2.0 envelope: what every MCP message is, whatever it says.

mod envelope;

use model::Fault;
use serde::de::{MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use self::envelope::Envelope;
use crate::strict::{self, Bounds, Fields, Made};

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
/// 2026-07-28: the mirrored HTTP headers and the body disagree.
pub const HEADER_MISMATCH: i64 = -32020;
/// 2026-07-28: the client has not declared what the request needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// Up to 2025-11-25: no resource has this URI.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// 2025-11-25 only: the user must visit an address first.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// 2026-07-28: a revision this server does not speak.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// A request id exactly as the client wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    Number(i64),
    Text(String),
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }

    /// A fault in the protocol channel: the same words and machine code a tool error carries.
    pub fn from_fault(code: i64, fault: &Fault) -> Self {
        Self::new(code, fault.message.clone()).with_data(fault.to_client_json())
    }
}

/// A message that must not be acted on, and the error to send back.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Absent when the message was too broken to carry one.
    pub id: Option<Id>,
    pub error: RpcError,
    /// It is about what a stateless request must say of itself; such clients read the HTTP status.
    pub stateless: bool,
}

impl Refusal {
    pub fn new(id: Option<Id>, code: i64, message: impl Into<String>) -> Self {
        Self { id, error: RpcError::new(code, message), stateless: false }
    }
}

/// One message of either side, before its method is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Request { id: Id, method: String, params: Fields, written: Written },
    Notification { method: String, params: Fields },
    Response { id: Id, outcome: Result<Value, RpcError>, written: Written },
}

/// The text of the parameters or the result, where numbers in it are spelled in a way that values do
/// not keep.
pub type Written = Option<String>;

/// Reads one message or, from clients of the revision that had them, one batch.
pub fn read(bytes: &[u8]) -> Result<Vec<Result<Message, Refusal>>, Refusal> {
    let read = strict::read(bytes)
        .map_err(|error| Refusal::new(None, PARSE_ERROR, format!("unreadable JSON: {error}")))?;
    let odd = read.odd_numbers;
    match read.value {
        Sent::Batch(messages) if messages.is_empty() => {
            Err(Refusal::new(None, INVALID_REQUEST, "an empty batch asks for nothing"))
        }
        Sent::Batch(mut messages) => {
            let written = if odd { spellings(bytes) } else { Vec::new() };
            messages.iter_mut().zip(written).for_each(|(message, text)| keep(message, text));
            Ok(messages)
        }
        Sent::One(mut message) => {
            if odd {
                keep(&mut message, spelling(bytes));
            }
            Ok(vec![message])
        }
    }
}

fn keep(message: &mut Result<Message, Refusal>, text: Written) {
    if let Ok(Message::Request { written, .. } | Message::Response { written, .. }) = message {
        *written = text;
    }
}

/// What came in one frame.
enum Sent {
    One(Result<Message, Refusal>),
    Batch(Vec<Result<Message, Refusal>>),
}

impl Made for Sent {
    fn plain(value: Value) -> Self {
        Self::One(Made::plain(value))
    }

    fn list<'de, A: SeqAccess<'de>>(within: Bounds<'_>, mut items: A) -> Result<Self, A::Error> {
        let mut messages = Vec::new();
        while let Some(message) = items.next_element_seed(within.seed())? {
            messages.push(message);
        }
        Ok(Self::Batch(messages))
    }

    fn object<'de, A: MapAccess<'de>>(within: Bounds<'_>, entries: A) -> Result<Self, A::Error> {
        Made::object(within, entries).map(Self::One)
    }
}

impl Made for Result<Message, Refusal> {
    fn plain(_: Value) -> Self {
        Err(Refusal::new(None, INVALID_REQUEST, "a message must be a JSON object"))
    }

    fn object<'de, A: MapAccess<'de>>(within: Bounds<'_>, entries: A) -> Result<Self, A::Error> {
        Envelope::read(within, entries).map(Envelope::message)
    }
}

/// The same for each message of a batch.
fn spellings(bytes: &[u8]) -> Vec<Written> {
    let items: Vec<&RawValue> = serde_json::from_slice(bytes).unwrap_or_default();
    items.into_iter().map(|item| spelling(item.get().as_bytes())).collect()
}

/// What `params` or `result` of a single message looks like, letter by letter, on one line: whoever
/// passes it on may do so on a pipe.
fn spelling(bytes: &[u8]) -> Written {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        params: Option<&'a RawValue>,
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }
    let envelope: Envelope<'_> = serde_json::from_slice(bytes).ok()?;
    envelope.params.or(envelope.result).map(|raw| raw.get().replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_refused(text: &str, code: i64, wanted: &str) {
        let refusal = match read(text.as_bytes()) {
            Err(refusal) => refusal,
            Ok(messages) => messages.into_iter().next().unwrap().unwrap_err(),
        };
        assert_eq!(refusal.error.code, code, "{text}");
        assert!(refusal.error.message.contains(wanted), "{text}: {}", refusal.error.message);
    }

    #[test]
    fn each_message_of_a_batch_keeps_its_spelling() {
        let text = r#"[{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":1e2}},
            {"jsonrpc":"2.0","id":2,"method":"y"}]"#;
        let written = |message: Result<Message, Refusal>| match message.unwrap() {
            Message::Request { written, .. } => written,
            other => panic!("{other:?}"),
        };
        let read: Vec<Written> = read(text.as_bytes()).unwrap().into_iter().map(written).collect();
        assert_eq!(read, [Some(r#"{"n":1e2}"#.to_owned()), None]);
    }

    #[test]
    fn a_spelling_is_one_line() {
        let check = |text: &str, wanted: &str| {
            let Ok(Message::Request { written, .. }) = read(text.as_bytes()).unwrap().remove(0)
            else {
                panic!("{text}")
            };
            assert_eq!(written.as_deref(), Some(wanted));
        };
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"x","params":"#;
        check(&format!("{request}{{\"n\":1e2,\r\n\"a\\n\":\n1}}}}"), r#"{"n":1e2,  "a\n": 1}"#);
        check(&format!("[{request}{{\n\"n\":1e2}}}}]"), r#"{ "n":1e2}"#);
    }

    #[test]
    fn malformed_envelopes_say_what_is_wrong() {
        check_refused("{", PARSE_ERROR, "unreadable JSON");
        check_refused("[]", INVALID_REQUEST, "empty batch");
        check_refused("7", INVALID_REQUEST, "must be a JSON object");
        check_refused(r#"{"id":1,"method":"ping"}"#, INVALID_REQUEST, "jsonrpc");
        check_refused(r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, INVALID_REQUEST, "`id`");
        check_refused(r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, INVALID_REQUEST, "`id`");
        let id = "x".repeat(257);
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"a"}}"#);
        check_refused(&long, INVALID_REQUEST, "at most 256");
        check_refused(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, INVALID_REQUEST, "`method`");
        check_refused(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#,
            INVALID_REQUEST,
            "`params`",
        );
        check_refused(r#"{"jsonrpc":"2.0"}"#, INVALID_REQUEST, "needs a `method`");
        check_refused(
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
            INVALID_REQUEST,
            "either",
        );
        check_refused(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, INVALID_REQUEST, "`error`");
    }

    #[test]
    fn a_refusal_names_the_request_it_is_about() {
        let text = br#"{"jsonrpc":"1.0","id":"seven","method":"ping"}"#;
        let refusal = read(text).unwrap().remove(0).unwrap_err();
        assert_eq!(refusal.id, Some(Id::Text("seven".to_owned())));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            drop(read(&bytes));
        }

        #[test]
        fn ids_come_back_as_written(number in any::<i64>(), text in ".{0,20}") {
            for id in [Id::Number(number), Id::Text(text)] {
                let line = format!(r#"{{"jsonrpc":"2.0","method":"x","id":{}}}"#, serde_json::to_string(&id).unwrap());
                let read = read(line.as_bytes()).unwrap().remove(0).unwrap();
                let Message::Request { id: got, .. } = read else { panic!("not a request") };
                prop_assert_eq!(got, id);
            }
        }
    }
}
