//! The same clients over Streamable HTTP: each message a request of its own, and what the gate asks
//! comes with the answer that is being waited for.

use std::net::SocketAddr;

use serde_json::Value;
use server::{Guard, Transport};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::{Client, MODERN};
use super::servers::{Over, front};
use super::{ASKS, REVISIONS, asks, calls, fails, lists, reports, roots, samples};

/// Questions find their client whatever carries them, between any two ages.
#[tokio::test]
async fn questions_reach_clients_over_http_too() {
    for server in ["2025-06-18", "2025-11-25", MODERN] {
        let front = front(Over::Pipe, server).await;
        for revision in REVISIONS.into_iter().filter(|revision| *revision >= "2025-03-26") {
            let mut client = Client::connect_over_http(&front.world, revision).await;
            lists(&mut client).await;
            calls(&mut client).await;
            fails(&mut client).await;
            reports(&mut client).await;
            samples(&mut client).await;
            roots(&mut client).await;
            if revision >= ASKS {
                asks(&mut client).await;
            }
            client.leave().await;
        }
    }
}

/// Serves a gate at a port of its own and carries lines to it and back, until no more come.
pub(super) async fn carry(surface: server::Mcp, lines: DuplexStream, output: DuplexStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let guard = Guard::new(to, &[], &[]);
    let serving =
        tokio::spawn(server::serve(surface, Transport::Streamable, listener, guard, stop.clone()));
    let (said, heard) = mpsc::channel(64);
    let writing = tokio::spawn(write(heard, output));
    Carrier { to, session: None, revision: MODERN.to_owned(), said }.run(lines).await;
    writing.await.unwrap();
    stop.cancel();
    serving.await.unwrap().unwrap();
}

async fn write(mut heard: mpsc::Receiver<String>, mut output: DuplexStream) {
    while let Some(line) = heard.recv().await {
        // A client that has left hears no more.
        drop(output.write_all(format!("{line}\n").as_bytes()).await);
    }
}

struct Carrier {
    to: SocketAddr,
    session: Option<String>,
    revision: String,
    said: mpsc::Sender<String>,
}

impl Carrier {
    async fn run(mut self, lines: DuplexStream) {
        let mut lines = BufReader::new(lines).lines();
        let mut underway = JoinSet::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            let posting = post(self.to, self.head(&message), line, self.said.clone());
            if message["method"] == "initialize" {
                let asked = message["params"]["protocolVersion"].as_str();
                asked.unwrap().clone_into(&mut self.revision);
                self.session = posting.await;
            } else {
                underway.spawn(posting);
            }
        }
        underway.join_all().await;
    }

    /// What a client of this revision says in the head of its requests.
    fn head(&self, message: &Value) -> String {
        let mut head = String::new();
        let mut say = |name: &str, value: &str| {
            head.extend([name, ": ", value, "\r\n"]);
        };
        if let Some(session) = &self.session {
            say("mcp-session-id", session);
        }
        if message["method"] != "initialize" && self.revision.as_str() >= "2025-06-18" {
            say("mcp-protocol-version", &self.revision);
        }
        if self.revision == MODERN {
            say("mcp-method", message["method"].as_str().unwrap());
            if let Some(name) = message["params"]["name"].as_str() {
                say("mcp-name", name);
            }
        }
        head
    }
}

/// One request; what comes back is passed on line by line. The session, where one is named.
async fn post(
    to: SocketAddr,
    head: String,
    body: String,
    said: mpsc::Sender<String>,
) -> Option<String> {
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{head}content-length: {length}\r\n\r\n{body}"
    );
    let mut stream = BufReader::new(TcpStream::connect(to).await.unwrap());
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut session, mut length, mut streams) = (None, 0, false);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name {
            "mcp-session-id" => session = Some(value.to_owned()),
            "content-length" => length = value.parse().unwrap(),
            "content-type" => streams = value.starts_with("text/event-stream"),
            _ => {}
        }
    }
    if streams {
        // An event is written whole, so that the sizes of pieces stand on lines of their own.
        let mut lines = stream.lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(text) = line.strip_prefix("data: ").filter(|text| !text.is_empty()) {
                said.send(text.to_owned()).await.unwrap();
            }
        }
    } else if length > 0 {
        let mut text = vec![0; length];
        stream.read_exact(&mut text).await.unwrap();
        said.send(String::from_utf8(text).unwrap()).await.unwrap();
    }
    session
}
