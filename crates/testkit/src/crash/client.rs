//! One call over HTTP, by hand: a connection that breaks is an answer, too.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What the caller heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Ok,
    /// A fault, by its code.
    Fault(String),
    /// The connection broke: the call may have been made.
    Nothing,
}

const PATIENCE: Duration = Duration::from_secs(15);

pub(super) async fn call(address: &str, tool: &str, args: Value) -> Heard {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": args},
    });
    match tokio::time::timeout(PATIENCE, post(address, &body.to_string())).await {
        Ok(Ok(text)) => read(&text),
        Ok(Err(_)) | Err(_) => Heard::Nothing,
    }
}

async fn post(address: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

fn read(text: &str) -> Heard {
    let json = text.split("\r\n\r\n").nth(1).and_then(|body| {
        let start = body.find('{')?;
        let end = body.rfind('}')?;
        serde_json::from_str::<Value>(body.get(start..=end)?).ok()
    });
    let Some(reply) = json else { return Heard::Nothing };
    let result = &reply["result"];
    if result.is_object() && result["isError"] != true {
        return Heard::Ok;
    }
    let told = result["content"][0]["text"].as_str().unwrap_or_default();
    // A refusal ends its first line with its code in brackets.
    let line = told.lines().next().unwrap_or_default();
    let bracketed = line.rsplit_once('(').map(|(_, code)| code.trim_end_matches(')'));
    let code = bracketed.or_else(|| reply["error"]["data"]["error"].as_str());
    Heard::Fault(code.unwrap_or(line).to_owned())
}
