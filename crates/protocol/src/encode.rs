//! What the gate says, as bytes in the client's revision.

mod spelled;

use model::{Answer, Listed, Method};
use serde::Serialize;
use serde_json::{Map, Value, json};

use self::spelled::Spelled;
use crate::jsonrpc::{Id, RpcError};
use crate::revision::Revision;

/// Marks a list of which some is what an upstream had before; it has not answered since.
const STALE: &str = "toolgate/stale";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

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
pub fn initialized(
    id: &Id,
    revision: Revision,
    server: &ServerInfo,
    capabilities: &Map<String, Value>,
) -> Vec<u8> {
    let mut result = Map::new();
    result.insert("protocolVersion".into(), revision.as_str().into());
    result.insert("capabilities".into(), capabilities.clone().into());
    result.insert("serverInfo".into(), server.to_json());
    if let Some(instructions) = &server.instructions {
        result.insert("instructions".into(), instructions.clone().into());
    }
    response(id, &result)
}

/// The answer to `server/discover`.
pub fn discovered(id: &Id, server: &ServerInfo, capabilities: &Map<String, Value>) -> Vec<u8> {
    let versions: Vec<&str> =
        Revision::ALL.iter().filter(|r| r.is_modern()).map(|r| r.as_str()).collect();
    let mut result = Map::new();
    result.insert("supportedVersions".into(), json!(versions));
    result.insert("capabilities".into(), capabilities.clone().into());
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

/// What is said about a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    pub next_cursor: Option<&'a str>,
    /// Some of it is from before.
    pub stale: bool,
}

/// One page of a list. `items` are texts of JSON already, each one line.
pub fn list<'a>(
    id: &Id,
    revision: Revision,
    server: &ServerInfo,
    what: Listed,
    items: impl IntoIterator<Item = &'a str>,
    about: About<'_>,
) -> Vec<u8> {
    let mut rest = Map::new();
    if let Some(cursor) = about.next_cursor {
        rest.insert("nextCursor".into(), cursor.into());
    }
    if about.stale {
        rest.insert("_meta".into(), json!({STALE: true}));
    }
    if revision.is_modern() && what != Listed::Tasks {
        cacheable(&mut rest);
    }
    stamp(&mut rest, revision, server);
    let mut page = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"{}":["#, text(id), what.key());
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            page.push(',');
        }
        page.push_str(item);
    }
    page.push(']');
    for (key, value) in &rest {
        page.push(',');
        page.push_str(&text(key));
        page.push(':');
        page.push_str(&value.to_string());
    }
    page.push_str("}}");
    one_line(page.into_bytes())
}

/// The answer to a request that an upstream answered, in the client's revision.
pub fn answer(
    id: &Id,
    revision: Revision,
    server: &ServerInfo,
    answer: &Answer,
    method: &Method,
) -> Vec<u8> {
    let dressed = revision.is_modern() || MODERN_KEYS.iter().any(|k| answer.rest.contains_key(*k));
    if !dressed && !has_odd_shape(answer) {
        return response(id, answer);
    }
    let mut result = match serde_json::to_value(answer) {
        Ok(Value::Object(result)) => result,
        _ => Map::new(),
    };
    let written = answer.written.as_deref().map(|text| (text, Value::from(result.clone())));
    if revision.is_modern() {
        if *method == Method::ReadResource && !answer.is_interim() {
            private(&mut result);
        }
        stamp(&mut result, revision, server);
    } else {
        undress(&mut result);
    }
    match written {
        None => response(id, &result),
        Some((text, plain)) => {
            response(id, &Spelled { value: &result.into(), plain: &plain, text })
        }
    }
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

/// A question to the client.
pub fn request(id: &Id, method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Question<'a, T> {
        jsonrpc: &'static str,
        id: &'a Id,
        method: &'a str,
        params: &'a T,
    }
    bytes(&Question { jsonrpc: "2.0", id, method, params })
}

/// A result of the gate's own.
pub fn result(
    id: &Id,
    revision: Revision,
    server: &ServerInfo,
    mut result: Map<String, Value>,
) -> Vec<u8> {
    stamp(&mut result, revision, server);
    response(id, &result)
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

/// Keys that only 2026-07-28 puts on results.
const MODERN_KEYS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// What 2026-07-28 wants on every result.
fn stamp(result: &mut Map<String, Value>, revision: Revision, server: &ServerInfo) {
    if !revision.is_modern() {
        return;
    }
    result.entry("resultType").or_insert_with(|| "complete".into());
    let meta = result.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(SERVER_INFO.into(), server.to_json());
    }
}

/// Whether what it gives is no object, which older clients do not read.
fn has_odd_shape(answer: &Answer) -> bool {
    let given = answer.structured.as_ref().or_else(|| answer.rest.get(STRUCTURED));
    given.is_some_and(|given| !given.is_object())
}

const STRUCTURED: &str = "structuredContent";

/// Takes off what older clients do not know. What was given stays to be read, as text.
fn undress(result: &mut Map<String, Value>) {
    if let Some(given) = result.get(STRUCTURED).filter(|given| !given.is_object()) {
        let text = json!([{"type": "text", "text": given.to_string()}]);
        let said = result.get("content").and_then(Value::as_array);
        if said.is_none_or(Vec::is_empty) {
            result.insert("content".into(), text);
        }
        result.shift_remove(STRUCTURED);
    }
    for key in MODERN_KEYS {
        result.shift_remove(key);
    }
    if let Some(Value::Object(meta)) = result.get_mut("_meta") {
        meta.shift_remove(SERVER_INFO);
        if meta.is_empty() {
            result.shift_remove("_meta");
        }
    }
}

/// Lists depend on who asks, so nobody may share them, and they may change at any time.
fn cacheable(result: &mut Map<String, Value>) {
    result.insert("ttlMs".into(), 0.into());
    result.insert("cacheScope".into(), "private".into());
}

/// What was read for one caller is not for another, whatever its upstream says.
fn private(result: &mut Map<String, Value>) {
    result.entry("ttlMs").or_insert_with(|| 0.into());
    result.insert("cacheScope".into(), "private".into());
}

fn text(value: &impl Serialize) -> String {
    // INVARIANT: ids and strings always have a text.
    serde_json::to_string(value).unwrap_or_default()
}

/// One line of JSON, whoever wrote its parts: on a pipe and in an event a line is a message.
pub(crate) fn bytes(message: &impl Serialize) -> Vec<u8> {
    // INVARIANT: our message types have string keys only, and then serialising to memory cannot fail.
    one_line(serde_json::to_vec(message).unwrap_or_default())
}

/// JSON has line ends as such between its parts alone, where a space says the same. The serialiser
/// writes none, but passes on what others wrote letter by letter.
pub(crate) fn one_line(mut json: Vec<u8>) -> Vec<u8> {
    if json.contains(&b'\n') || json.contains(&b'\r') {
        for byte in &mut json {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> ServerInfo {
        ServerInfo { name: "gate".into(), version: "1".into(), instructions: None }
    }

    fn shown(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn an_answer_fits_the_revision_that_asked() {
        let check = |revision: Revision, wanted: &str| {
            let bytes =
                answer(&Id::Number(1), revision, &server(), &Answer::text("hi"), &Method::CallTool);
            assert_eq!(shown(&bytes), wanted);
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
    fn a_list_says_that_it_is_from_before() {
        for revision in Revision::ALL {
            let about = About { stale: true, ..About::default() };
            let page = list(&Id::Number(1), revision, &server(), Listed::Tools, [], about);
            let page: Value = serde_json::from_slice(&page).unwrap();
            assert_eq!(page["result"]["_meta"]["toolgate/stale"], true, "{page}");
        }
    }

    #[test]
    fn a_list_for_stateless_clients_says_how_long_it_keeps() {
        let page = |revision, items: &[&str], cursor| {
            let items = items.iter().copied();
            let about = About { next_cursor: cursor, stale: false };
            shown(&list(&Id::Number(1), revision, &server(), Listed::Tools, items, about))
        };
        let modern = page(Revision::V2026_07_28, &[], None);
        assert!(modern.contains(r#""ttlMs":0,"cacheScope":"private""#), "{modern}");
        let json: Value = serde_json::from_str(&modern).unwrap();
        assert_eq!(json["result"]["resultType"], "complete");
        assert_eq!(
            page(Revision::V2025_11_25, &["{\"a\":1e2}", "{}"], Some("c")),
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"a":1e2},{}],"nextCursor":"c"}}"#
        );
    }

    #[test]
    fn older_clients_see_nothing_of_2026() {
        let rest = json!({
            "contents": [], "resultType": "complete", "ttlMs": 5, "cacheScope": "public",
            "_meta": {SERVER_INFO: {}},
        });
        let rest = rest.as_object().cloned().unwrap();
        let check = |revision, wanted: &str| {
            let said = Answer::bare(rest.clone());
            let bytes = answer(&Id::Number(1), revision, &server(), &said, &Method::ReadResource);
            assert!(shown(&bytes).contains(wanted), "{}", shown(&bytes));
        };
        check(Revision::V2025_06_18, r#""result":{"contents":[]}}"#);
        check(Revision::V2026_07_28, r#""ttlMs":5,"cacheScope":"private""#);
    }

    /// PROTOCOL 1.13: up to 2025-11-25 structured content is an object. What is none is to be read in
    /// the text.
    #[test]
    fn what_is_no_object_is_text_to_older_clients() {
        let check = |said: Value, method: Method, old: &str| {
            let Ok(answer) = Answer::read(said.clone()) else { panic!("{said}") };
            let shown = |revision| {
                shown(&super::answer(&Id::Number(1), revision, &server(), &answer, &method))
            };
            for revision in Revision::ALL.into_iter().filter(|revision| !revision.is_modern()) {
                let wanted = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{old}}}"#);
                assert_eq!(shown(revision), wanted, "{revision}");
            }
            let modern = shown(Revision::V2026_07_28);
            assert!(modern.contains(r#""structuredContent":"#), "{modern}");
        };
        let call = || Method::CallTool;
        let text = r#"{"content":[{"type":"text","text":"[1,2]"}]}"#;
        check(json!({"content": [], "structuredContent": [1, 2]}), call(), text);
        check(
            json!({"structuredContent": [1, 2], "resultType": "complete", "content": []}),
            call(),
            text,
        );
        let said = json!([{"type": "text", "text": "two"}]);
        let kept = format!(r#"{{"content":{said},"_meta":{{"a":1}}}}"#);
        let dropped = json!({"content": said, "structuredContent": 7, "_meta": {"a": 1}});
        check(dropped, call(), &kept);
        let object = r#"{"content":[],"structuredContent":{"a":1}}"#;
        check(serde_json::from_str(object).unwrap(), call(), object);
    }

    /// What came of a task is passed on as it is, and so has its structured content among the rest.
    #[test]
    fn what_comes_of_a_task_fits_its_reader_too() {
        let rest = json!({"content": [{"type": "text", "text": "x"}], "structuredContent": ["x"]});
        let answer = Answer::bare(rest.as_object().cloned().unwrap());
        let method = Method::Task(model::TaskVerb::Result);
        let bytes =
            super::answer(&Id::Number(1), Revision::V2025_11_25, &server(), &answer, &method);
        let wanted = r#""result":{"content":[{"type":"text","text":"x"}]}}"#;
        assert!(shown(&bytes).ends_with(wanted), "{}", shown(&bytes));
    }

    #[test]
    fn an_error_without_a_readable_id_has_none() {
        let bytes = error(None, &RpcError::new(-32700, "no"));
        assert_eq!(shown(&bytes), r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#);
    }

    /// On a pipe, what stands between two line ends is a message of the gate's own.
    #[test]
    fn a_message_is_one_line_whoever_wrote_it() {
        let smuggled = "{\"content\":[],\"n\":1e2,\n\"x\":\r\n{\"jsonrpc\":\"2.0\"}\r}";
        let mut written = Answer::read(serde_json::from_str(smuggled).unwrap()).unwrap();
        written.written = Some(smuggled.into());
        let id = Id::Number(1);
        for revision in Revision::ALL {
            for said in [&Answer::text("a\nb\r"), &written] {
                let bytes = answer(&id, revision, &server(), said, &Method::CallTool);
                assert!(!bytes.contains(&b'\n') && !bytes.contains(&b'\r'), "{}", shown(&bytes));
                let result = &serde_json::from_slice::<Value>(&bytes).unwrap()["result"];
                assert_eq!(result["content"], json!(said.content), "{revision}");
            }
            let item = ["{\n\"a\":1e2\r}"];
            let page = list(&id, revision, &server(), Listed::Tools, item, About::default());
            assert!(shown(&page).contains("{ \"a\":1e2 }"), "{}", shown(&page));
        }
    }
}
