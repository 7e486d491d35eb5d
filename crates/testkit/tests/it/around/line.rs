//! One client over any transport, written by hand down to the bytes, in this process.

#![expect(
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fall over"
)]

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use server::{Guard, Transport, stdio};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolgate_testkit::World;

use crate::{mcp, open_door};

/// Reaching it is a failure.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Stdio,
    Http,
    Sse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// With a session.
    Old,
    /// 2026-07-28: every request stands for itself.
    Modern,
}

pub(crate) const ALL: [(Over, Era); 5] = [
    (Over::Stdio, Era::Old),
    (Over::Stdio, Era::Modern),
    (Over::Http, Era::Old),
    (Over::Http, Era::Modern),
    (Over::Sse, Era::Old),
];

pub(crate) struct Line {
    era: Era,
    last_id: u64,
    wire: Wire,
    _stop: DropGuard,
}

enum Wire {
    Pipe(DuplexStream, Lines<BufReader<DuplexStream>>),
    Http { to: SocketAddr, session: Option<String> },
    Sse { to: SocketAddr, endpoint: String, stream: Lines<BufReader<TcpStream>> },
}

impl Line {
    pub(crate) async fn connect(world: &World, over: Over, era: Era) -> Self {
        let mut line = Self::open(world, over, era).await;
        if era == Era::Old {
            let greeted = line.greet("2025-11-25", json!({})).await;
            assert!(greeted["result"].is_object(), "{greeted}");
        }
        line
    }

    /// The same, without a word.
    pub(crate) async fn open(world: &World, over: Over, era: Era) -> Self {
        let stop = CancellationToken::new();
        let wire = match over {
            Over::Stdio => {
                let (input, theirs) = tokio::io::duplex(1 << 20);
                let (output, gate) = tokio::io::duplex(1 << 20);
                tokio::spawn(stdio::serve(mcp(world, open_door()), theirs, gate, stop.clone()));
                Wire::Pipe(input, BufReader::new(output).lines())
            }
            Over::Http => {
                let to = listen(world, Transport::Streamable, &stop).await;
                Wire::Http { to, session: None }
            }
            Over::Sse => subscribe(listen(world, Transport::LegacySse, &stop).await).await,
        };
        Self { era, last_id: 0, wire, _stop: stop.drop_guard() }
    }

    /// Introduces the client as one that can do this.
    pub(crate) async fn greet(&mut self, revision: &str, able: Value) -> Value {
        let info = json!({"name": "around", "version": "1"});
        let greeting =
            json!({"protocolVersion": revision, "capabilities": able, "clientInfo": info});
        self.ask("initialize", greeting).await
    }

    /// Sends a message as it is; the next thing the gate says.
    pub(crate) async fn say(&mut self, message: &Value) -> Value {
        let saying = tokio::time::timeout(PATIENCE, self.said_to(message));
        let said = saying.await.unwrap_or_else(|_| panic!("no answer to {message}"));
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("no JSON: {said}"))
    }

    async fn said_to(&mut self, message: &Value) -> String {
        match &mut self.wire {
            Wire::Pipe(pipe, lines) => {
                pipe.write_all(format!("{message}\n").as_bytes()).await.unwrap();
                lines.next_line().await.unwrap().expect("the gate speaks")
            }
            Wire::Http { to, session } => post(*to, "/mcp", session.as_deref(), message).await.1,
            Wire::Sse { to, endpoint, stream } => {
                let (head, body) = post(*to, endpoint, None, message).await;
                if !head.starts_with("HTTP/1.1 202") {
                    return body;
                }
                loop {
                    let line = stream.next_line().await.unwrap().expect("the stream goes on");
                    if let Some(data) = line.strip_prefix("data: ") {
                        return data.to_owned();
                    }
                }
            }
        }
    }

    /// Sends one request and gives its answer, whatever it is.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        if self.era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = tokio::time::timeout(PATIENCE, self.answer(&message, id)).await;
        answer.unwrap_or_else(|_| panic!("no answer to {message}"))
    }

    async fn answer(&mut self, message: &Value, id: u64) -> Value {
        match &mut self.wire {
            Wire::Pipe(pipe, lines) => {
                pipe.write_all(format!("{message}\n").as_bytes()).await.unwrap();
                loop {
                    let heard = lines.next_line().await.unwrap().expect("the gate speaks");
                    let heard: Value = serde_json::from_str(&heard).unwrap();
                    if heard["id"] == id {
                        return heard;
                    }
                }
            }
            Wire::Http { to, session } => {
                let (head, body) = post(*to, "/mcp", session.as_deref(), message).await;
                let given = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
                if let Some(given) = given {
                    *session = Some(given.to_owned());
                }
                body.lines().find_map(|line| of_line(line, id)).unwrap_or(Value::Null)
            }
            Wire::Sse { to, endpoint, stream } => {
                let (head, _) = post(*to, endpoint, None, message).await;
                if !head.starts_with("HTTP/1.1 202") {
                    return Value::Null;
                }
                loop {
                    let line = stream.next_line().await.unwrap().expect("the stream goes on");
                    if let Some(answer) = of_line(&line, id) {
                        return answer;
                    }
                }
            }
        }
    }
}

/// An answer in a line of a body, be it JSON or an event.
fn of_line(line: &str, id: u64) -> Option<Value> {
    let text = line.strip_prefix("data: ").or_else(|| line.strip_prefix("data:")).unwrap_or(line);
    let value: Value = serde_json::from_str(text).ok()?;
    (value["id"] == id).then_some(value)
}

async fn listen(world: &World, transport: Transport, stop: &CancellationToken) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bound = listener.local_addr().unwrap();
    let guard = Guard::new(bound, &[], &[]);
    tokio::spawn(server::serve(mcp(world, open_door()), transport, listener, guard, stop.clone()));
    bound
}

async fn post(
    to: SocketAddr,
    path: &str,
    session: Option<&str>,
    message: &Value,
) -> (String, String) {
    let body = message.to_string();
    let session = session.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
    let modern = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    let mut more = modern.map(|v| format!("mcp-protocol-version: {v}\r\n")).unwrap_or_default();
    if modern.is_some() {
        let text = |name: &str, value: &Value| {
            value.as_str().map(|value| format!("{name}: {value}\r\n")).unwrap_or_default()
        };
        more += &text("mcp-method", &message["method"]);
        let params = &message["params"];
        more += &text(
            "mcp-name",
            if params["uri"].is_string() { &params["uri"] } else { &params["name"] },
        );
    }
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{session}{more}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

async fn subscribe(to: SocketAddr) -> Wire {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let request = format!("GET /sse HTTP/1.1\r\nhost: {to}\r\naccept: text/event-stream\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut stream = BufReader::new(stream).lines();
    loop {
        let line = stream.next_line().await.unwrap().expect("the stream begins");
        let endpoint = line.strip_prefix("data: ").or_else(|| line.strip_prefix("data:"));
        if let Some(endpoint) = endpoint {
            return Wire::Sse { to, endpoint: endpoint.trim().to_owned(), stream };
        }
    }
}
