//! The first messages of well-known clients, as far as they were recorded or published, said again
//! to the gate: it must understand each, answer under the id as sent, and offer its tools.
//!
//! Beside this file lie the recordings; each says where it is known from and what in it is a guess.
//! The call at its end is ours, except that Claude Code's `_meta` was recorded.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::peer::{Over, Peer};
use crate::web;

const METHOD_NOT_FOUND: i64 = -32601;

/// One recorded connection.
#[derive(Deserialize)]
struct Recording {
    client: String,
    /// Where the messages are known from.
    seen: String,
    over: Vec<String>,
    /// What the client looks for with GET, before or beside its messages.
    #[serde(default)]
    pages: Vec<String>,
    messages: Vec<Value>,
}

/// CW-104
#[tokio::test]
async fn claude_code_is_understood() {
    check(include_str!("handshakes/claude-code.json")).await;
}

/// CW-103
#[tokio::test]
async fn claude_desktop_is_understood() {
    check(include_str!("handshakes/claude-desktop.json")).await;
}

/// CW-105
#[tokio::test]
async fn visual_studio_code_is_understood() {
    check(include_str!("handshakes/vscode.json")).await;
}

/// CW-106
#[tokio::test]
async fn cursor_is_understood() {
    check(include_str!("handshakes/cursor.json")).await;
}

/// CW-103, CW-104, CW-105, CW-106: the manual's table says what was recorded.
fn has_its_row(recording: &Recording) {
    let manual = include_str!("../../../../docs/clients.md");
    let begins = format!("| {} | ", recording.client);
    let row = manual.lines().find(|line| line.starts_with(&begins));
    let row = row.unwrap_or_else(|| panic!("`{}` has no row", recording.client));
    let hello = &recording.messages[0]["params"];
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let (name, version) =
        (word(&hello["clientInfo"]["name"]), word(&hello["clientInfo"]["version"]));
    let transports = recording
        .over
        .iter()
        .map(|over| if over == "stdio" { over.clone() } else { over.to_uppercase() });
    let said = [format!("`{name}` {version}"), word(&hello["protocolVersion"])];
    for part in said.into_iter().chain(transports) {
        assert!(row.contains(&part), "`{part}` in {row}");
    }
}

async fn check(file: &str) {
    let recordings: Vec<Recording> = serde_json::from_str(file).unwrap();
    for recording in recordings {
        has_its_row(&recording);
        assert!(!recording.seen.is_empty() && !recording.over.is_empty(), "{}", recording.client);
        for over in &recording.over {
            let over = match over.as_str() {
                "stdio" => Over::Stdio,
                "http" => Over::Http,
                "sse" => Over::Sse,
                other => panic!("`{other}` is no transport"),
            };
            replay(&recording, over).await;
        }
    }
}

async fn replay(recording: &Recording, over: Over) {
    let mut peer = Peer::start(over, &["--mode", "native"]).await;
    let mut offered = Value::Null;
    let calls = recording.messages.iter().any(|message| message["method"] == "tools/call");
    let params = json!({"name": "reports_list_reports", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1_000, "method": "tools/call", "params": params});
    for message in recording.messages.iter().chain((!calls).then_some(&call)) {
        let who = format!("{} over {over:?}: {message}", recording.client);
        let Some(answer) = peer.say(message).await else { continue };
        assert_eq!(answer["id"], message["id"], "{who}");
        judge(message, &answer, &offered, &who);
        if message["method"] == "initialize" {
            offered = answer["result"]["capabilities"].clone();
        }
    }
    for page in &recording.pages {
        if let Some(url) = peer.url() {
            look(&url, page).await;
        }
    }
}

/// What the gate offers must work; what it does not offer it may say it does not have.
fn judge(message: &Value, answer: &Value, offered: &Value, who: &str) {
    let (method, result) = (message["method"].as_str().unwrap(), &answer["result"]);
    match method {
        "initialize" => {
            let asked = &message["params"]["protocolVersion"];
            assert_eq!(&result["protocolVersion"], asked, "{who}: {answer}");
            assert!(result["serverInfo"]["name"].is_string(), "{who}: {answer}");
        }
        "tools/list" => {
            let tools = result["tools"].as_array().unwrap_or_else(|| panic!("{who}: {answer}"));
            assert!(!tools.is_empty(), "{who}");
        }
        "tools/call" => {
            assert!(result["content"].is_array(), "{who}: {answer}");
            assert_ne!(result["isError"], true, "{who}: {answer}");
        }
        _ => {
            let feature = method.split('/').next().unwrap();
            let refused = answer["error"]["code"] == METHOD_NOT_FOUND && offered[feature].is_null();
            assert!(result.is_object() || refused, "{who}: {answer}");
        }
    }
}

/// A page that is not there is said not to be there, in a way that lets the client go on.
async fn look(url: &str, page: &str) {
    let address = url.replace("/mcp", page);
    let answer =
        web::send(Method::GET, &address, &[("accept", "text/event-stream")], String::new());
    let status = answer.await.status().as_u16();
    assert!([200, 400, 404, 405].contains(&status), "GET {page}: {status}");
}
