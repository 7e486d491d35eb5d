//! A server over HTTP that commits one fault until it is told that the fault is over. It writes its
//! answers by hand: no decent library would. How it does so with a stream of 2024-11-05 is in `sse`.

mod bomb;
mod sse;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use self::sse::Outbox;
use crate::faulty::{self, OVER_HTTP, OVER_NETWORKS, Wrong};
use crate::mcp::{self, Reaction};

const JSON: &str = "application/json";

/// The running server; it stops when dropped, with all its connections.
#[derive(Debug)]
pub struct FaultyHttp {
    pub url: String,
    state: Arc<State>,
    _serving: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct State {
    fault: &'static str,
    /// It is one of 2026-07-28.
    modern: bool,
    faulty: AtomicBool,
    committed: AtomicBool,
    /// A client has given a request up.
    given_up: Notify,
    /// Where answers go if not back along the request.
    outbox: Option<Outbox>,
}

type Stream = BufReader<TcpStream>;

impl FaultyHttp {
    /// A server that behaves until [`FaultyHttp::err`].
    pub async fn start(fault: &'static str) -> Self {
        Self::serve("mcp", fault, false, None).await
    }

    /// The same of 2026-07-28.
    pub async fn start_modern(fault: &'static str) -> Self {
        Self::serve("mcp", fault, true, None).await
    }

    /// The same with one stream for all answers.
    pub async fn start_sse(fault: &'static str) -> Self {
        Self::serve("sse", fault, false, Some(Outbox::default())).await
    }

    async fn serve(path: &str, fault: &'static str, modern: bool, outbox: Option<Outbox>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/{path}", listener.local_addr().expect("it has an address"));
        let (faulty, committed) = (AtomicBool::new(false), AtomicBool::new(false));
        let given_up = Notify::new();
        let state = Arc::new(State { fault, modern, faulty, committed, given_up, outbox });
        let shared = Arc::clone(&state);
        let serving = AbortOnDropHandle::new(tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                // A client that goes away ends its connection, as it should.
                connections.spawn(async move { drop(serve(stream, &state).await) });
                while connections.try_join_next().is_some() {}
            }
        }));
        Self { url, state, _serving: serving }
    }

    /// The fault begins, or is over.
    pub fn err(&self, faulty: bool) {
        self.state.faulty.store(faulty, Ordering::SeqCst);
    }

    /// The fault was committed at least once.
    pub fn has_erred(&self) -> bool {
        self.state.committed.load(Ordering::SeqCst)
    }
}

impl State {
    fn is_faulty(&self) -> bool {
        self.faulty.load(Ordering::SeqCst)
    }

    async fn is_over(&self) {
        while self.is_faulty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn commit(&self) {
        self.committed.store(true, Ordering::SeqCst);
    }
}

async fn serve(stream: TcpStream, state: &Arc<State>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let Some((method, body)) = request(&mut stream).await? else { return Ok(()) };
        match (method.as_str(), &state.outbox) {
            ("GET", Some(outbox)) => return sse::stream(stream, outbox).await,
            ("POST", _) => {}
            _ => {
                stream.write_all(&answer("405 Method Not Allowed", "text/plain", b"")).await?;
                continue;
            }
        }
        let message: Value = serde_json::from_slice(&body)?;
        if message["method"] == "notifications/cancelled" {
            state.given_up.notify_waiters();
        }
        if state.is_faulty() && state.fault == "question storm" && message.get("method").is_none() {
            // Answers to its questions are not taken.
            std::future::pending::<()>().await;
        }
        if let Some(outbox) = &state.outbox {
            if sse::take(&mut stream, state, outbox, &message).await? {
                return Ok(());
            }
        } else if state.is_faulty() && err(&mut stream, state, &message).await? {
            return Ok(());
        } else if let Some(greeting) = mcp::discovered(&message).filter(|_| state.modern) {
            stream.write_all(&answer("200 OK", JSON, greeting.to_string().as_bytes())).await?;
        } else {
            stream.write_all(&right(&message)).await?;
        }
    }
}

/// What a server that behaves answers, with the session that a conversation needs.
fn right(message: &Value) -> Vec<u8> {
    match said(message) {
        None => answer("202 Accepted", "text/plain", b""),
        Some(text) if message["method"] == "initialize" => {
            answer("200 OK", "application/json\r\nMcp-Session-Id: one", text.as_bytes())
        }
        Some(text) => answer("200 OK", JSON, text.as_bytes()),
    }
}

fn said(message: &Value) -> Option<String> {
    mcp::react(message).into_iter().rev().find_map(|reaction| match reaction {
        Reaction::Send(answer) => Some(answer.to_string()),
        _ => None,
    })
}

/// Commits the fault if this message is one for it; the connection is then no longer of use.
async fn err(stream: &mut Stream, state: &State, message: &Value) -> std::io::Result<bool> {
    let method = message["method"].as_str().unwrap_or_default();
    if faulty::crashes(state.fault, method) {
        state.commit();
        return Ok(true);
    }
    if method == "tools/call" {
        if faulty::AT_MEETING.contains(&state.fault) {
            // It forgets the conversation, so that it is greeted again.
            stream.write_all(&answer("404 Not Found", "text/plain", b"")).await?;
            return Ok(true);
        }
        if OVER_NETWORKS.contains(&state.fault) || OVER_HTTP.contains(&state.fault) {
            state.commit();
        }
        if at_call(stream, state.fault, message).await? {
            return Ok(true);
        }
    }
    let head = |rest: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\n{rest}\r\n");
    let wrong = faulty::wrong(state.fault, message);
    if wrong.is_some() {
        state.commit();
    }
    match wrong {
        None => return Ok(false),
        Some(Wrong::Questions(rounds, last)) => {
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            let event = |text: &str| format!("data: {text}\n\n");
            let questions: String = faulty::questions().iter().map(|one| event(one)).collect();
            for _ in 0..rounds {
                stream.write_all(questions.as_bytes()).await?;
            }
            state.is_over().await;
            stream.write_all(event(String::from_utf8_lossy(&last).trim_end()).as_bytes()).await?;
        }
        Some(Wrong::Nothing) => std::future::pending::<()>().await,
        Some(Wrong::Late(bytes)) => {
            state.given_up.notified().await;
            stream.write_all(&answer("200 OK", JSON, &bytes)).await?;
        }
        Some(Wrong::Storm(times, last)) => {
            let event = |text: &str| format!("data: {text}\n\n");
            let storm = event(&faulty::changed()).repeat(times);
            let last = event(String::from_utf8_lossy(&last).trim_end());
            let body = format!("{storm}{last}");
            stream.write_all(&answer("200 OK", "text/event-stream", body.as_bytes())).await?;
        }
        Some(Wrong::Bytes(bytes)) => stream.write_all(&answer("200 OK", JSON, &bytes)).await?,
        Some(Wrong::Flood(byte, count)) => {
            stream.write_all(head("Connection: close\r\n").as_bytes()).await?;
            let piece = vec![byte; 1 << 16];
            for _ in 0..count.div_ceil(piece.len()) {
                stream.write_all(&piece).await?;
            }
        }
        Some(Wrong::Trickle(bytes)) => {
            let length = format!("Content-Length: {}\r\n", bytes.len());
            stream.write_all(head(&length).as_bytes()).await?;
            for byte in bytes {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
    Ok(true)
}

/// Faults of HTTP rather than of words.
async fn at_call(stream: &mut Stream, fault: &str, message: &Value) -> std::io::Result<bool> {
    let head =
        |kind: &str, rest: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{rest}\r\n");
    match fault {
        "status 503" | "redirect" => stream.write_all(&refusal(fault)).await?,
        "reset" => {
            stream.write_all(head(JSON, "Content-Length: 5000\r\n").as_bytes()).await?;
            stream.write_all(b"{\"jsonrpc\":").await?;
            stream.flush().await?;
            stream.get_ref().set_zero_linger()?;
        }
        "length too short" | "length too long" => {
            // Too short: the rest stands where the next answer should begin. Too long: it never comes.
            let text = said(message).unwrap_or_default();
            let length = if fault.ends_with("short") { text.len() / 2 } else { text.len() * 2 };
            let length = format!("Content-Length: {length}\r\n");
            stream.write_all(head(JSON, &length).as_bytes()).await?;
            stream.write_all(text.as_bytes()).await?;
        }
        "gzip bomb" => {
            let body = &*bomb::GZIP;
            let rest = format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", body.len());
            stream.write_all(head(JSON, &rest).as_bytes()).await?;
            stream.write_all(body).await?;
        }
        "endless stream" => {
            let head = head("text/event-stream", "Connection: close\r\n");
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(b": still here\n\n").await?;
                tokio::task::yield_now().await;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn refusal(fault: &str) -> Vec<u8> {
    match fault {
        "redirect" => b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => answer("503 Service Unavailable", "text/plain", b"later"),
    }
}

fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The method and the body of the next request; none when the client has gone.
async fn request(stream: &mut Stream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let (mut method, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if method.is_empty() {
            line.split(' ').next().unwrap_or_default().clone_into(&mut method);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some((method, body)))
}
