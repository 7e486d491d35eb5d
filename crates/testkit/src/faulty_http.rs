//! A server over HTTP that commits one fault until it is told that the fault is over. It writes its
//! answers by hand: no decent library would.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use crate::faulty::{self, Wrong};
use crate::mcp::{self, Reaction};

/// The running server; it stops when dropped.
#[derive(Debug)]
pub struct FaultyHttp {
    pub url: String,
    faulty: Arc<AtomicBool>,
    _serving: AbortOnDropHandle<()>,
}

impl FaultyHttp {
    /// A server that behaves until [`FaultyHttp::err`].
    pub async fn start(fault: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("it has an address"));
        let faulty = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&faulty);
        let serving = AbortOnDropHandle::new(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let flag = Arc::clone(&flag);
                tokio::spawn(async move {
                    // A client that goes away ends its connection, as it should.
                    drop(serve(stream, fault, &flag).await);
                });
            }
        }));
        Self { url, faulty, _serving: serving }
    }

    /// The fault begins, or is over.
    pub fn err(&self, faulty: bool) {
        self.faulty.store(faulty, Ordering::SeqCst);
    }
}

async fn serve(stream: TcpStream, fault: &str, faulty: &AtomicBool) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let Some((method, body)) = request(&mut stream).await? else { return Ok(()) };
        if method != "POST" {
            stream.write_all(&answer("405 Method Not Allowed", "text/plain", b"")).await?;
            continue;
        }
        let message: Value = serde_json::from_slice(&body)?;
        if faulty.load(Ordering::SeqCst) && err(&mut stream, fault, &message).await? {
            return Ok(());
        }
        let said = mcp::react(&message).into_iter().rev().find_map(|reaction| match reaction {
            Reaction::Send(answer) => Some(answer.to_string()),
            _ => None,
        });
        let bytes = match said {
            Some(text) => answer("200 OK", "application/json", text.as_bytes()),
            None => answer("202 Accepted", "text/plain", b""),
        };
        stream.write_all(&bytes).await?;
    }
}

/// Commits the fault if this message is one for it; the connection is then no longer of use.
async fn err(
    stream: &mut BufReader<TcpStream>,
    fault: &str,
    message: &Value,
) -> std::io::Result<bool> {
    const JSON: &str = "application/json";
    let head =
        |kind: &str, rest: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{rest}\r\n");
    if message["method"] == "tools/call" {
        match fault {
            "status 503" => {
                stream
                    .write_all(&answer("503 Service Unavailable", "text/plain", b"later"))
                    .await?;
                return Ok(true);
            }
            "redirect" => {
                let to = "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(to.as_bytes()).await?;
                return Ok(true);
            }
            "reset" | "wrong length" => {
                let head = head(JSON, "Content-Length: 5000\r\n");
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(b"{\"jsonrpc\":").await?;
                return Ok(true);
            }
            "gzip bomb" => {
                // A stored block of deflate that claims to be followed by more of the same.
                let head = head(JSON, "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n");
                stream.write_all(head.as_bytes()).await?;
                flood(stream, 0, 100 << 20, true).await?;
                return Ok(true);
            }
            "endless stream" => {
                let head = head("text/event-stream", "Connection: close\r\n");
                stream.write_all(head.as_bytes()).await?;
                loop {
                    stream.write_all(b": still here\n\n").await?;
                    tokio::task::yield_now().await;
                }
            }
            _ => {}
        }
    }
    match faulty::wrong(fault, message) {
        None => return Ok(false),
        Some(Wrong::Nothing) => std::future::pending::<()>().await,
        Some(Wrong::Bytes(bytes)) => stream.write_all(&answer("200 OK", JSON, &bytes)).await?,
        Some(Wrong::Flood(byte, count)) => {
            stream.write_all(head(JSON, "Connection: close\r\n").as_bytes()).await?;
            flood(stream, byte, count, false).await?;
        }
        Some(Wrong::Trickle(bytes)) => {
            let length = format!("Content-Length: {}\r\n", bytes.len());
            stream.write_all(head(JSON, &length).as_bytes()).await?;
            for byte in bytes {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
    Ok(true)
}

async fn flood(
    stream: &mut BufReader<TcpStream>,
    byte: u8,
    count: usize,
    chunked: bool,
) -> std::io::Result<()> {
    let piece = vec![byte; 1 << 16];
    for _ in 0..count / piece.len() {
        if chunked {
            stream.write_all(b"10000\r\n").await?;
        }
        stream.write_all(&piece).await?;
        if chunked {
            stream.write_all(b"\r\n").await?;
        }
    }
    Ok(())
}

fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The method and the body of the next request; none when the client has gone.
async fn request(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<(String, Vec<u8>)>> {
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
