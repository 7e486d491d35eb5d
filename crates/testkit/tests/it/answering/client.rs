//! A client of either era that is asked something in the course of a call, and a receiver of
//! webhooks.

#![expect(clippy::indexing_slicing, clippy::expect_used, reason = "a test may fall over")]

use std::time::Duration;

use serde_json::{Value, json};
use server::stdio;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolgate_testkit::World;

use crate::{mcp, open_door};

/// Reaching it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const MODERN: &str = "2026-07-28";

pub(super) struct Client {
    era: &'static str,
    able: Value,
    last_id: u64,
    call: Value,
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
}

impl Client {
    pub(super) async fn connect(world: &World, era: &'static str, able: Value) -> Self {
        let (input, theirs) = tokio::io::duplex(1 << 20);
        let (output, gate) = tokio::io::duplex(1 << 20);
        tokio::spawn(stdio::serve(mcp(world, open_door()), theirs, gate, CancellationToken::new()));
        let output = BufReader::new(output).lines();
        let mut client = Self { era, able, last_id: 0, call: Value::Null, input, output };
        if era != MODERN {
            let info = json!({"name": "asked", "version": "1"});
            let params =
                json!({"protocolVersion": era, "capabilities": client.able, "clientInfo": info});
            client.send("initialize", params).await;
            client.next().await;
        }
        client
    }

    /// Makes a call and answers the question it leads to, if any, with `said`.
    pub(super) async fn call(
        &mut self,
        tool: &str,
        args: Value,
        said: Value,
    ) -> (Option<Value>, Value) {
        let first = self.begin(tool, args).await;
        let asked = question(&first);
        if asked.is_none() {
            return (None, first);
        }
        let answer = self.reply(&first, said).await;
        (asked, answer)
    }

    /// Makes a call; the first thing the gate says.
    pub(super) async fn begin(&mut self, tool: &str, args: Value) -> Value {
        self.call = json!({"name": tool, "arguments": args});
        self.send("tools/call", self.call.clone()).await;
        self.next().await
    }

    /// Answers a question as the era wants it; what the gate says then.
    pub(super) async fn reply(&mut self, first: &Value, said: Value) -> Value {
        if self.era == MODERN {
            let key = first["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap();
            let mut again = self.call.clone();
            again["inputResponses"] = json!({key: said});
            again["requestState"] = first["result"]["requestState"].clone();
            self.send("tools/call", again).await;
        } else {
            let reply = json!({"jsonrpc": "2.0", "id": first["id"], "result": said});
            self.input.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
        }
        self.next().await
    }

    async fn send(&mut self, method: &str, mut params: Value) {
        self.last_id += 1;
        if self.era == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self.able,
            });
        }
        let id = self.last_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await;
            let line = line.expect("the gate says something").unwrap().expect("the gate is there");
            let heard: Value = serde_json::from_str(&line).unwrap();
            if heard.get("id").is_some() {
                return heard;
            }
        }
    }
}

/// The question in what the gate said, in either form.
fn question(said: &Value) -> Option<Value> {
    if said.get("method").is_some() {
        return Some(said.clone());
    }
    said["result"]["inputRequests"].as_object()?.values().next().cloned()
}

/// Takes webhooks: the signature and the body of each.
pub(crate) async fn receiver() -> (String, mpsc::UnboundedReceiver<(String, String)>) {
    answering("").await
}

/// The same, and answers each with these words.
pub(crate) async fn answering(
    words: &'static str,
) -> (String, mpsc::UnboundedReceiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (tell, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            let mut piece = [0; 4096];
            while !is_whole(&bytes) {
                let read = stream.read(&mut piece).await.unwrap();
                bytes.extend_from_slice(piece.get(..read).unwrap());
            }
            let length = words.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{words}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
            let text = String::from_utf8(bytes).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let signature = head.lines().find_map(|l| l.strip_prefix("x-toolgate-signature: "));
            if tell.send((signature.unwrap_or_default().to_owned(), body.to_owned())).is_err() {
                return;
            }
        }
    });
    (url, heard)
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0)
}
