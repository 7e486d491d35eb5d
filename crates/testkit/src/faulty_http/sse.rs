//! The same faults where one stream carries all answers, as in 2024-11-05.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use super::{State, Stream, answer, refusal, said};
use crate::faulty::{self, Wrong};

/// The stream that is open, if one is.
#[derive(Debug, Default)]
pub(super) struct Outbox(Mutex<Option<mpsc::Sender<Piece>>>);

#[derive(Debug)]
enum Piece {
    Bytes(Bytes),
    /// The stream ends: in order, or not.
    End {
        reset: bool,
    },
}

impl Outbox {
    fn open(&self) -> Option<mpsc::Sender<Piece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn send(&self, piece: Piece) {
        if let Some(open) = self.open() {
            // A client that has gone hears no more.
            drop(open.send(piece).await);
        }
    }

    async fn bytes(&self, bytes: impl Into<Bytes>) {
        self.send(Piece::Bytes(bytes.into())).await;
    }

    async fn event(&self, text: &str) {
        self.bytes(format!("event: message\ndata: {text}\n\n")).await;
    }
}

/// Serves one stream for as long as its client stays.
pub(super) async fn stream(mut stream: Stream, outbox: &Outbox) -> std::io::Result<()> {
    let (sender, mut pieces) = mpsc::channel(16);
    *outbox.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(b"event: endpoint\ndata: /messages\n\n").await?;
    while let Some(piece) = pieces.recv().await {
        match piece {
            Piece::Bytes(bytes) => stream.write_all(&bytes).await?,
            Piece::End { reset: false } => break,
            Piece::End { reset: true } => return stream.get_ref().set_zero_linger(),
        }
    }
    Ok(())
}

/// Takes one message, and answers it on the stream or errs; says whether the connection is done for.
pub(super) async fn take(
    stream: &mut Stream,
    state: &Arc<State>,
    outbox: &Outbox,
    message: &Value,
) -> std::io::Result<bool> {
    let method = message["method"].as_str().unwrap_or_default();
    let err = state.is_faulty();
    let wrong = faulty::wrong(state.fault, message).filter(|_| err);
    let here = method == "tools/call" && faulty::OVER_NETWORKS.contains(&state.fault);
    if err && (wrong.is_some() || here || faulty::crashes(state.fault, method)) {
        state.commit();
    }
    if err && method == "tools/call" && matches!(state.fault, "status 503" | "redirect") {
        stream.write_all(&refusal(state.fault)).await?;
        return Ok(true);
    }
    stream.write_all(&answer("202 Accepted", "text/plain", b"")).await?;
    if err && (faulty::crashes(state.fault, method) || meets_anew(state.fault, method)) {
        outbox.send(Piece::End { reset: false }).await;
    } else if err && method == "tools/call" && state.fault == "reset" {
        outbox.bytes("data: {\"jsonrpc\":").await;
        outbox.send(Piece::End { reset: true }).await;
    } else if err && method == "tools/call" && state.fault == "endless stream" {
        while state.is_faulty() {
            outbox.bytes(": still here\n\n").await;
        }
    } else if let Some(wrong) = wrong {
        commit(wrong, state, outbox).await;
    } else if let Some(text) = said(message) {
        outbox.event(&text).await;
    }
    Ok(false)
}

/// It ends the stream, so that it is greeted again.
fn meets_anew(fault: &str, method: &str) -> bool {
    method == "tools/call" && faulty::AT_MEETING.contains(&fault)
}

async fn commit(wrong: Wrong, state: &State, outbox: &Outbox) {
    match wrong {
        Wrong::Nothing => {}
        Wrong::Late(bytes) => {
            state.given_up.notified().await;
            outbox.event(String::from_utf8_lossy(&bytes).trim_end()).await;
        }
        Wrong::Storm(times, last) => {
            for _ in 0..times {
                outbox.event(&faulty::changed()).await;
            }
            outbox.event(String::from_utf8_lossy(&last).trim_end()).await;
        }
        Wrong::Questions(rounds, last) => {
            let event = |text: &str| format!("event: message\ndata: {text}\n\n");
            let questions: String = faulty::questions().iter().map(|one| event(one)).collect();
            let questions = Bytes::from(questions);
            for _ in 0..rounds {
                outbox.bytes(questions.clone()).await;
            }
            state.is_over().await;
            outbox.event(String::from_utf8_lossy(&last).trim_end()).await;
        }
        Wrong::Bytes(bytes) if state.fault == "half frame" => {
            outbox.bytes([b"data: ", bytes.as_slice()].concat()).await;
        }
        Wrong::Bytes(bytes) => {
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                outbox.bytes([b"data: ", line, b"\n\n"].concat()).await;
            }
        }
        Wrong::Flood(byte, count) => {
            // It ends with the stream on which it began.
            let Some(open) = outbox.open() else { return };
            let piece = Bytes::from(vec![byte; 1 << 16]);
            for _ in 0..count.div_ceil(piece.len()) {
                if open.send(Piece::Bytes(piece.clone())).await.is_err() {
                    return;
                }
            }
        }
        Wrong::Trickle(bytes) => {
            outbox.bytes("data: ").await;
            for byte in bytes {
                outbox.bytes(vec![byte]).await;
                if state.is_faulty() {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
            outbox.bytes("\n").await;
        }
    }
}
