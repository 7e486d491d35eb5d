//! What the gate says, as bytes in the client's revision.

use model::Answer;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::jsonrpc::{Id, RpcError};
use crate::revision::Revision;

/// How the gate presents itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    pub name: String,
    pub version: String,
    pub instructions: Option<String>,
}

impl ServerInfo {
    fn to_json(&self) -> Value {
        json!({"name": self.name, "version": self.version})
    }
}

/// The answer to `initialize`.
pub fn initialized(id: &Id, revision: Revision, server: &ServerInfo) -> Vec<u8> {
    let mut result = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": {"tools": {}},
        "serverInfo": server.to_json(),
    });
    if let (Some(instructions), Some(object)) = (&server.instructions, result.as_object_mut()) {
        object.insert("instructions".into(), instructions.clone().into());
    }
    response(id, &result)
}

/// The answer to `server/discover`.
pub fn discovered(id: &Id, server: &ServerInfo) -> Vec<u8> {
    let versions: Vec<&str> =
        Revision::ALL.iter().filter(|r| r.is_modern()).map(|r| r.as_str()).collect();
    let mut result = Map::new();
    result.insert("supportedVersions".into(), json!(versions));
    result.insert("capabilities".into(), json!({"tools": {}}));
    if let Some(instructions) = &server.instructions {
        result.insert("instructions".into(), instructions.clone().into());
    }
    cacheable(&mut result);
    stamp(&mut result, Revision::V2026_07_28, server);
    response(id, &result)
}

/// An empty result, as for `ping`.
pub fn done(id: &Id, revision: Revision, server: &ServerInfo) -> Vec<u8> {
    let mut result = Map::new();
    stamp(&mut result, revision, server);
    response(id, &result)
}

/// One page of `tools/list`.
pub fn tools(
    id: &Id,
    revision: Revision,
    server: &ServerInfo,
    tools: &[Value],
    next_cursor: Option<&str>,
) -> Vec<u8> {
    let mut result = Map::new();
    result.insert("tools".into(), Value::Array(tools.to_vec()));
    if let Some(cursor) = next_cursor {
        result.insert("nextCursor".into(), cursor.into());
    }
    if revision.is_modern() {
        cacheable(&mut result);
    }
    stamp(&mut result, revision, server);
    response(id, &result)
}

/// The answer to `tools/call`.
pub fn answer(id: &Id, revision: Revision, server: &ServerInfo, answer: &Answer) -> Vec<u8> {
    if !revision.is_modern() {
        return response(id, answer);
    }
    let mut result = match serde_json::to_value(answer) {
        Ok(Value::Object(result)) => result,
        _ => Map::new(),
    };
    stamp(&mut result, revision, server);
    response(id, &result)
}

pub fn error(id: Option<&Id>, error: &RpcError) -> Vec<u8> {
    #[derive(Serialize)]
    struct Failure<'a> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Id>,
        error: &'a RpcError,
    }
    bytes(&Failure { jsonrpc: "2.0", id, error })
}

/// News of a call under way, for the client that gave this token.
pub fn progress(
    token: &Value,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
) -> Vec<u8> {
    let mut params = Map::new();
    params.insert("progressToken".into(), token.clone());
    params.insert("progress".into(), progress.into());
    if let Some(total) = total {
        params.insert("total".into(), total.into());
    }
    if let Some(message) = message {
        params.insert("message".into(), message.into());
    }
    notification("notifications/progress", &params)
}

pub fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct News<'a, T> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a T,
    }
    bytes(&News { jsonrpc: "2.0", method, params })
}

fn response(id: &Id, result: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Success<'a, T> {
        jsonrpc: &'static str,
        id: &'a Id,
        result: &'a T,
    }
    bytes(&Success { jsonrpc: "2.0", id, result })
}

/// What 2026-07-28 wants on every result.
fn stamp(result: &mut Map<String, Value>, revision: Revision, server: &ServerInfo) {
    if !revision.is_modern() {
        return;
    }
    result.entry("resultType").or_insert_with(|| "complete".into());
    let meta = result.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert("io.modelcontextprotocol/serverInfo".into(), server.to_json());
    }
}

/// Lists depend on who asks, so nobody may share them, and they may change at any time.
fn cacheable(result: &mut Map<String, Value>) {
    result.insert("ttlMs".into(), 0.into());
    result.insert("cacheScope".into(), "private".into());
}

/// One line of JSON: the serialiser escapes newlines inside strings and writes none outside.
pub(crate) fn bytes(message: &impl Serialize) -> Vec<u8> {
    // INVARIANT: our message types have string keys only, and then serialising to memory cannot fail.
    serde_json::to_vec(message).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> ServerInfo {
        ServerInfo { name: "gate".into(), version: "1".into(), instructions: None }
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn an_answer_fits_the_revision_that_asked() {
        let check = |revision: Revision, wanted: &str| {
            let bytes = answer(&Id::Number(1), revision, &server(), &Answer::text("hi"));
            assert_eq!(text(&bytes), wanted);
        };
        let plain =
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}"#;
        check(Revision::V2024_11_05, plain);
        check(Revision::V2025_11_25, plain);
        check(
            Revision::V2026_07_28,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"gate","version":"1"}}}}"#,
        );
    }

    #[test]
    fn a_list_for_stateless_clients_says_how_long_it_keeps() {
        let bytes = tools(&Id::Number(1), Revision::V2026_07_28, &server(), &[], None);
        assert!(text(&bytes).contains(r#""ttlMs":0,"cacheScope":"private""#));
        let bytes = tools(&Id::Number(1), Revision::V2025_11_25, &server(), &[], Some("c"));
        assert_eq!(
            text(&bytes),
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"c"}}"#
        );
    }

    #[test]
    fn an_error_without_a_readable_id_has_none() {
        let bytes = error(None, &RpcError::new(-32700, "no"));
        assert_eq!(text(&bytes), r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#);
    }

    #[test]
    fn a_message_is_one_line() {
        let bytes = answer(&Id::Number(1), Revision::V2025_11_25, &server(), &Answer::text("a\nb"));
        assert!(!bytes.contains(&b'\n'));
    }
}
