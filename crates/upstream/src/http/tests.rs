//! A server that greets as fast as it is told to, by a clock that stands still.

use std::sync::atomic::AtomicU64;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Answers each connection once, after so many seconds.
async fn serve(listener: TcpListener, seconds: Arc<AtomicU64>) {
    while let Ok((stream, _)) = listener.accept().await {
        let seconds = seconds.load(Ordering::SeqCst);
        // Whoever no longer waits takes no answer.
        tokio::spawn(async move { drop(answer(stream, seconds).await) });
    }
}

async fn answer(mut stream: TcpStream, seconds: u64) -> std::io::Result<()> {
    let mut asked = vec![0; 16 * 1024];
    let count = stream.read(&mut asked).await?;
    let asked = String::from_utf8_lossy(&asked[..count]).into_owned();
    if asked.contains(r#""method":"vendor/babble""#) {
        return babble(stream).await;
    }
    let (status, body) = if asked.contains(r#""method":"initialize""#) {
        // That is how long it takes, by the clock of whoever waits.
        if seconds > 0 {
            tokio::time::advance(Duration::from_secs(seconds)).await;
        }
        let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
        ("200 OK", format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result}}}"#))
    } else {
        ("202 Accepted", String::new())
    };
    let id = asked.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
    let body = body.replace("ID", id);
    let length = body.len();
    let head = "Content-Type: application/json\r\nConnection: close\r\nContent-Length";
    let answer = format!("HTTP/1.1 {status}\r\n{head}: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_become_slower_is_there_again_in_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let seconds = Arc::<AtomicU64>::default();
    let _serving = AbortOnDropHandle::new(tokio::spawn(serve(listener, Arc::clone(&seconds))));
    let net = Net::new(&url, &Credentials::default(), &Egress::Open).unwrap();
    let wire = HttpWire::new(net, Road::Any, Age::Pinned(Revision::V2025_11_25));
    wire.greet().await.unwrap();

    seconds.store(10, Ordering::SeqCst);
    *wire.open.lock().await = None;
    let mut in_vain = Vec::new();
    while let Err(fault) = wire.greet().await {
        in_vain.push(fault.message);
    }
    let said = |seconds: u64| format!("the upstream did not greet within {seconds} s");
    assert_eq!(in_vain, [said(3), said(6)]);
    assert_eq!(wire.patience().now(), Duration::from_secs(80));
}

/// A stream that says nothing and has no end.
async fn babble(mut stream: TcpStream) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let comment = format!(": {}\n", "x".repeat(64 * 1024));
    loop {
        stream.write_all(comment.as_bytes()).await?;
    }
}

/// D9: what an upstream streams in the course of one call has an end.
#[tokio::test]
async fn a_stream_without_end_is_read_up_to_a_bound() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let _serving = AbortOnDropHandle::new(tokio::spawn(serve(listener, Arc::default())));
    let net = Net::new(&url, &Credentials::default(), &Egress::Open).unwrap();
    let wire = HttpWire::new(net, Road::Any, Age::Pinned(Revision::V2025_11_25));
    let fault = wire.ask(&Asking::own("vendor/babble", serde_json::Map::new())).await.unwrap_err();
    assert!(fault.message.contains("more than 64 MiB"), "{fault:?}");
}
