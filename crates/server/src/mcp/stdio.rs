//! MCP over a pair of pipes: one client, one line a message, nothing else on standard output.

use std::sync::Arc;

use model::Caller;
use protocol::frame::{Line, Lines};
use protocol::{Ask, Incoming, Refusal, Request, Revision, decode, jsonrpc};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Frames, Mcp};
use crate::limits;
use crate::reply;
use crate::sessions::Visit;

/// Serves one client until it closes its end or `stop` is cancelled; running calls are finished.
pub async fn serve<R, W>(mcp: Mcp, input: R, output: W, stop: CancellationToken)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (frames, queue) = mpsc::channel(limits::FRAMES_QUEUED);
    let writing = tokio::spawn(write(output, queue));
    let mut pipe = Pipe {
        visit: Visit::new(mcp.doorkeeper.local(), Revision::NEWEST_LEGACY),
        mcp: Arc::new(mcp),
        frames,
        calls: TaskTracker::new(),
    };
    pipe.read(input, stop).await;
    pipe.calls.close();
    pipe.calls.wait().await;
    drop(pipe);
    if let Err(error) = writing.await {
        tracing::error!(%error, "writing to the client broke off");
    }
}

struct Pipe {
    mcp: Arc<Mcp>,
    visit: Visit,
    frames: Frames,
    calls: TaskTracker,
}

impl Pipe {
    async fn read(&mut self, mut input: impl AsyncRead + Unpin, stop: CancellationToken) {
        let mut lines = Lines::new(limits::BODY_BYTES_MAX);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            // If `stop` wins, bytes not yet read stay in the pipe; nobody will answer them.
            let count = tokio::select! {
                () = stop.cancelled() => return,
                count = input.read(&mut buffer) => count,
            };
            let Ok(count @ 1..) = count else { break };
            for line in lines.push(buffer.get(..count).unwrap_or_default()) {
                self.line(line).await;
            }
        }
        if let Some(rest) = lines.end() {
            self.line(Line::Complete(rest)).await;
        }
    }

    async fn line(&mut self, line: Line) {
        let messages = match line {
            Line::Complete(bytes) => decode::client(&bytes),
            Line::TooLong => Err(Refusal::new(
                None,
                jsonrpc::INVALID_REQUEST,
                format!("a message may have at most {} bytes", limits::BODY_BYTES_MAX),
            )),
        };
        match messages {
            Err(refusal) => self.send(reply::refusal(&refusal)).await,
            Ok(messages) => {
                for message in messages {
                    match message {
                        Err(refusal) => self.send(reply::refusal(&refusal)).await,
                        Ok(message) => self.message(message).await,
                    }
                }
            }
        }
    }

    async fn message(&mut self, message: Incoming) {
        match message {
            Incoming::Request(request) => self.request(*request).await,
            Incoming::Cancelled { id } => self.visit.running.cancel(&id),
            Incoming::Notification { .. } | Incoming::Response { .. } => {}
        }
    }

    async fn request(&mut self, request: Request) {
        let visit = self.visit_of(&request);
        let underway = match visit.running.enter(&request.id) {
            Ok(underway) => underway,
            Err(fault) => return self.send(reply::error(&request.id, &fault)).await,
        };
        let (mcp, frames) = (Arc::clone(&self.mcp), self.frames.clone());
        let work = async move {
            let cancel = underway.cancel.clone();
            let bytes = mcp.answer(&visit, request, cancel.clone(), &frames).await;
            drop(underway);
            // A client that cancelled must not get an answer any more.
            if !cancel.is_cancelled() && frames.send(bytes).await.is_err() {
                tracing::debug!("an answer found no client");
            }
        };
        self.calls.spawn(work);
    }

    /// Who asks, in which revision. An `initialize` settles it for what follows.
    fn visit_of(&mut self, request: &Request) -> Visit {
        if let Ask::Initialize { asked_version, client } = &request.ask {
            self.visit.revision = Revision::negotiate(asked_version);
            self.visit.caller.client.clone_from(client);
        }
        let mut visit = self.visit.clone();
        if let Some(revision) = request.meta.revision {
            let client = request.meta.client.clone().or(visit.caller.client);
            visit.caller = Caller { client, ..visit.caller };
            visit.revision = revision;
        }
        visit
    }

    async fn send(&self, frame: Vec<u8>) {
        if self.frames.send(frame).await.is_err() {
            tracing::debug!("an answer found no client");
        }
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut frame) = queue.recv().await {
        frame.push(b'\n');
        let written = async {
            output.write_all(&frame).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            return tracing::debug!(%error, "the client stopped reading");
        }
    }
}
