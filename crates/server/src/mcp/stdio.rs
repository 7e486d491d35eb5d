//! MCP over a pair of pipes: one client, one line a message, nothing else on standard output.

use std::sync::Arc;

use gateway::queue::{Receiver, queue};
use model::{Client, Fault};
use protocol::frame::{Line, Lines};
use protocol::{Ask, Incoming, Refusal, Request, Revision, decode, jsonrpc};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::batch::is_batch;
use super::{Carrier, Frames, Mcp, Outlet, deliver, end};
use crate::limits;
use crate::reply;
use crate::sessions::Visit;

/// Serves one client until it closes its end or `stop` is cancelled; running calls are finished, and
/// what only waits for the client is not.
pub async fn serve<R, W>(mcp: Mcp, input: R, output: W, stop: CancellationToken)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (frames, queued) = queue(limits::FRAMES_QUEUED);
    let writing = tokio::spawn(write(output, queued));
    let gone = stop.child_token();
    let mut pipe = Pipe {
        visit: Visit::new(mcp.doorkeeper.local(), Revision::NEWEST_LEGACY),
        mcp: Arc::new(mcp),
        frames,
        calls: TaskTracker::new(),
        stop: gone.clone(),
        telling: None,
    };
    pipe.read(input, stop).await;
    pipe.telling = None;
    gone.cancel();
    pipe.visit.memory.leave();
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
    /// The client has gone, or the gate stops.
    stop: CancellationToken,
    /// Tells the client of changes, once it has introduced itself.
    telling: Option<AbortOnDropHandle<()>>,
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
        let bytes = match line {
            Line::Complete(bytes) => bytes,
            Line::TooLong => {
                let message =
                    format!("a message may have at most {} bytes", limits::BODY_BYTES_MAX);
                let refusal = Refusal::new(None, jsonrpc::INVALID_REQUEST, message);
                return self.send(reply::refusal(&refusal)).await;
            }
        };
        let read = decode::client(&bytes).and_then(|messages| {
            is_batch(self.visit.revision, &bytes, &messages).map(|batched| (messages, batched))
        });
        match read {
            Err(refusal) => self.send(reply::refusal(&refusal)).await,
            Ok((messages, true)) => self.batch(messages).await,
            Ok((messages, false)) => {
                for message in messages {
                    match message {
                        Err(refusal) => self.send(reply::refusal(&refusal)).await,
                        Ok(message) => self.message(message).await,
                    }
                }
            }
        }
    }

    /// Answered in a task of its own, as a request is.
    async fn batch(&self, messages: Vec<Result<Incoming, Refusal>>) {
        let place = match self.visit.running.enter_batch() {
            Ok(place) => place,
            Err(fault) => return self.send(reply::unaddressed(self.visit.revision, &fault)).await,
        };
        let (mcp, visit, stop) = (Arc::clone(&self.mcp), self.visit.clone(), self.stop.clone());
        let frames = self.frames.clone();
        self.calls.spawn(async move {
            if let Some(answers) = mcp.batch(&visit, messages, &stop, &frames).await {
                deliver(&frames, answers).await;
            }
            drop(place);
        });
    }

    async fn message(&mut self, message: Incoming) {
        match message {
            Incoming::Request(request) => self.request(request).await,
            Incoming::Cancelled { id } => self.visit.running.cancel(&id),
            Incoming::Response { id, outcome } => self.visit.memory.answered(&id, outcome),
            Incoming::Notification { method } if method == "notifications/initialized" => {
                self.tell_of_changes();
            }
            Incoming::Notification { .. } => {}
        }
    }

    async fn request(&mut self, request: Box<Request>) {
        let visit = self.visit_of(&request);
        let begun = visit.and_then(|visit| Ok((visit.running.enter(&request.id)?, visit)));
        let (underway, visit) = match begun {
            Ok(begun) => begun,
            Err(fault) => {
                let said = reply::error(&request.id, self.visit.revision, &fault);
                return self.send(said.bytes).await;
            }
        };
        let mcp = Arc::clone(&self.mcp);
        let (stop, frames) = (self.stop.clone(), self.frames.clone());
        let work = async move {
            let (cancel, carrier) = (&underway.cancel, Carrier::Shared);
            let outlet = Outlet { cancel, stop: &stop, frames: &frames, carrier };
            let said = mcp.answer(&visit, request, &outlet).await;
            end(underway, &frames, said.bytes).await;
        };
        self.calls.spawn(work);
    }

    /// Who asks, in which revision. An `initialize` settles it for what follows.
    fn visit_of(&mut self, request: &Request) -> Result<Visit, Fault> {
        if let (Ask::Initialize { asked_version, capabilities, info }, None) =
            (&request.ask, request.meta.revision)
        {
            let (capabilities, info) = (capabilities.clone(), info.clone());
            let client = Client { capabilities, info, ..Client::default() };
            self.visit.introduce(asked_version, client)?;
        }
        Ok(self.visit.of(&request.meta))
    }

    /// From now on the client hears of changes unasked.
    fn tell_of_changes(&mut self) {
        let (mcp, visit, frames) = (Arc::clone(&self.mcp), self.visit.clone(), self.frames.clone());
        let mut changes = mcp.gateway.changes();
        let telling = async move {
            while let Some(told) = mcp.unasked(&visit, changes.recv().await) {
                for frame in told {
                    if frames.send(frame).await.is_err() {
                        return;
                    }
                }
            }
        };
        self.telling = Some(AbortOnDropHandle::new(tokio::spawn(telling)));
    }

    async fn send(&self, frame: Vec<u8>) {
        deliver(&self.frames, frame).await;
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut frames: Receiver<Vec<u8>>) {
    while let Some(mut frame) = frames.recv().await {
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
