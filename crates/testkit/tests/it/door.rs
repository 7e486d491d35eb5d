//! A gate behind a port of its own, spoken to byte by byte, for what no client library would send.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use server::{Guard, Mcp, Transport};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Reaching it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// Little room for what nobody reads, so that a writer soon has to wait.
const UNREAD_BYTES: u32 = 8 * 1024;

pub(crate) struct Door {
    pub(crate) to: SocketAddr,
    _stop: DropGuard,
}

impl Door {
    pub(crate) async fn open(mcp: Mcp, transport: Transport) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let (stop, guard) = (CancellationToken::new(), Guard::new(to, &[], &[]));
        tokio::spawn(server::serve(mcp, transport, listener, guard, stop.clone()));
        Self { to, _stop: stop.drop_guard() }
    }

    /// A JSON request with these lines in its head besides; all that comes back.
    pub(crate) async fn send(&self, first: &str, lines: &str, body: &str) -> String {
        let lines = format!(
            "host: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{lines}",
            self.to
        );
        self.raw(first, &lines, body).await
    }

    /// The same with no other lines than these.
    pub(crate) async fn raw(&self, first: &str, lines: &str, body: &str) -> String {
        let lines = format!("connection: close\r\n{lines}");
        let mut stream = self.write(first, &lines, body).await;
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).await.unwrap();
        String::from_utf8(heard).unwrap()
    }

    /// A request whose answer has no end: what follows its head, and the head.
    pub(crate) async fn stream(&self, first: &str, lines: &str, body: &str) -> (TcpStream, String) {
        let lines = format!(
            "host: {}\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n{lines}",
            self.to
        );
        let mut stream = self.write(first, &lines, body).await;
        let mut head = String::new();
        while !head.contains("\r\n\r\n") {
            head.push(char::from(stream.read_u8().await.unwrap()));
        }
        (stream, head)
    }

    async fn write(&self, first: &str, lines: &str, body: &str) -> TcpStream {
        let length = body.len();
        let request = format!("{first} HTTP/1.1\r\n{lines}content-length: {length}\r\n\r\n{body}");
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(UNREAD_BYTES).unwrap();
        let mut stream = socket.connect(self.to).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }
}

/// A stream of the older transport, and where the messages of its client go.
pub(crate) struct OldStream<'d> {
    door: &'d Door,
    endpoint: String,
    lines: Lines<BufReader<TcpStream>>,
}

impl<'d> OldStream<'d> {
    /// Of a client that has introduced itself in this revision.
    pub(crate) async fn open(door: &'d Door, revision: &str) -> Self {
        let (stream, _) = door.stream("GET /sse", "", "").await;
        let lines = BufReader::new(stream).lines();
        let mut stream = Self { door, endpoint: String::new(), lines };
        stream.endpoint = stream.heard().await;
        let hello = json!({"protocolVersion": revision, "capabilities": {}});
        let hello = json!({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": hello});
        assert_eq!(status(&stream.post("", &hello).await), 202);
        stream.heard().await;
        stream
    }

    /// Sends a message, with these lines in its head besides; what the request is answered with.
    pub(crate) async fn post(&self, lines: &str, message: &Value) -> String {
        self.door.send(&format!("POST {}", self.endpoint), lines, &message.to_string()).await
    }

    /// The next thing that is said on the stream.
    pub(crate) async fn heard(&mut self) -> String {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await.unwrap();
            if let Some(data) = line.unwrap().unwrap().strip_prefix("data: ") {
                return data.to_owned();
            }
        }
    }
}

pub(crate) fn status(said: &str) -> u16 {
    said.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default()
}

/// The session that an answer to `initialize` opens, as a line of a head.
pub(crate) fn session_line(said: &str) -> String {
    let id = said.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    format!("mcp-session-id: {id}\r\n")
}
