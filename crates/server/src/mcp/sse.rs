//! The HTTP transport of 2024-11-05: a stream at `/sse`, messages to `/messages/`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum_core::body::Body;
use axum_core::extract::Request;
use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use gateway::Change;
use gateway::queue::{Receiver, queue};
use http::{HeaderMap, StatusCode};
use model::{Client, Fault, SessionId};
use protocol::{Ask, Incoming, Refusal, Request as Asked, Revision, decode, jsonrpc, sse};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

use super::batch::is_batch;
use super::http::{Shared, beside, event_stream, json, refuse};
use super::{Carrier, Frames, Mcp, Outlet, body, deliver, end};
use crate::authenticate::authenticate;
use crate::limits;
use crate::reply;
use crate::sessions::Visit;
use crate::streams::StreamPlace;

/// The open streams, by the id their clients send messages under.
#[derive(Debug, Default)]
pub(super) struct Mailboxes {
    open: Mutex<HashMap<SessionId, Mailbox>>,
}

#[derive(Clone, Debug)]
struct Mailbox {
    visit: Visit,
    frames: Frames,
}

pub(super) fn open(shared: &Shared, headers: &HeaderMap) -> Response {
    let caller = match authenticate(&shared.mcp.doorkeeper, headers) {
        Ok(caller) => caller,
        Err(fault) => return refuse(&fault),
    };
    let place = match shared.mcp.streams.take(&caller) {
        Ok(place) => place,
        Err(fault) => return refuse(&fault),
    };
    let (frames, news) = queue(limits::FRAMES_QUEUED);
    let id = SessionId::random();
    let visit = Visit::new(caller, Revision::V2024_11_05);
    if !shared.mailboxes.add(&id, Mailbox { visit, frames }) {
        return (StatusCode::TOO_MANY_REQUESTS, "too many streams are open\n").into_response();
    }
    let endpoint = sse::write("endpoint", format!("/messages/?session_id={id}").as_bytes());
    let state = Open {
        first: Some(endpoint),
        changes: shared.mcp.gateway.changes(),
        mcp: Arc::clone(&shared.mcp),
        news,
        stop: shared.stop.clone(),
        closing: Closing { id, mailboxes: Arc::clone(&shared.mailboxes) },
        _place: place,
    };
    let events = unfold(state, async |mut state| {
        let event = state.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(event)), state))
    });
    event_stream(Body::from_stream(events))
}

pub(super) async fn post(shared: Arc<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let caller = match authenticate(&shared.mcp.doorkeeper, &parts.headers) {
        Ok(caller) => caller,
        Err(fault) => return refuse(&fault),
    };
    if let Err(refusal) = body::is_json(&parts.headers) {
        return refusal;
    }
    let id = parts.uri.query().and_then(session_id).unwrap_or_default();
    let mailbox =
        shared.mailboxes.find(id).filter(|open| open.visit.caller.principal == caller.principal);
    let Some(mut mailbox) = mailbox else {
        return (StatusCode::NOT_FOUND, "unknown session; open `/sse` first\n").into_response();
    };
    // Whichever of the two came from a page: what is sent on the stream is for that page to read.
    let opened_by = mailbox.visit.caller.origin.take();
    mailbox.visit.caller.origin = caller.origin.or(opened_by);
    let bytes = match body::read(body).await {
        Ok(bytes) => bytes,
        Err(refusal) => return refusal,
    };
    let read = decode::client(&bytes).and_then(|mut messages| {
        beside::take(&parts.headers, &mut messages)?;
        messages.iter().flatten().try_for_each(is_of_here)?;
        is_batch(mailbox.visit.revision, &bytes, &messages).map(|batched| (messages, batched))
    });
    match read {
        Err(refusal) => return json(StatusCode::BAD_REQUEST, reply::refusal(&refusal)),
        Ok((messages, true)) => {
            if let Err(fault) = batch(&shared, mailbox, messages) {
                return refuse(&fault);
            }
        }
        Ok((messages, false)) => {
            for message in messages {
                if let Err(unread) = take(&shared, id, &mailbox, message) {
                    return unread;
                }
            }
        }
    }
    (StatusCode::ACCEPTED, "Accepted").into_response()
}

/// Here nothing holds the headers of a 2026-07-28 request against its body, or ends it with its
/// connection.
fn is_of_here(message: &Incoming) -> Result<(), Refusal> {
    match message {
        Incoming::Request(request) if message.is_stateless() => {
            let message = "a request of 2026-07-28 goes to Streamable HTTP, which this gate does not \
                           serve here; send `initialize`";
            Err(Refusal::new(Some(request.id.clone()), jsonrpc::INVALID_REQUEST, message))
        }
        _ => Ok(()),
    }
}

/// Answered in a task of its own, as a request is.
fn batch(
    shared: &Shared,
    mailbox: Mailbox,
    messages: Vec<Result<Incoming, Refusal>>,
) -> Result<(), Fault> {
    let (mcp, stop) = (Arc::clone(&shared.mcp), shared.stop.clone());
    let place = mailbox.visit.running.enter_batch()?;
    shared.calls.spawn(async move {
        let Mailbox { visit, frames } = mailbox;
        if let Some(answers) = mcp.batch(&visit, messages, &stop, &frames).await {
            deliver(&frames, answers).await;
        }
        drop(place);
    });
    Ok(())
}

fn take(
    shared: &Shared,
    id: &str,
    mailbox: &Mailbox,
    message: Result<Incoming, Refusal>,
) -> Result<(), Response> {
    match message {
        Err(refusal) => return say(&mailbox.frames, reply::refusal(&refusal)),
        Ok(Incoming::Request(request)) => return start(shared, id, mailbox, request),
        Ok(Incoming::Cancelled { id }) => mailbox.visit.running.cancel(&id),
        Ok(Incoming::Response { id, outcome }) => mailbox.visit.memory.answered(&id, outcome),
        Ok(Incoming::Notification { .. }) => {}
    }
    Ok(())
}

fn start(
    shared: &Shared,
    id: &str,
    mailbox: &Mailbox,
    request: Box<Asked>,
) -> Result<(), Response> {
    let Mailbox { mut visit, frames } = mailbox.clone();
    if let Ask::Initialize { asked_version, capabilities, info } = &request.ask {
        let (capabilities, info) = (capabilities.clone(), info.clone());
        let client = Client { capabilities, info, ..Client::default() };
        if let Err(fault) = visit.introduce(asked_version, client) {
            return say(&frames, reply::error(&request.id, visit.revision, &fault).bytes);
        }
        shared.mailboxes.introduce(id, &visit);
    }
    let visit = visit.of(&request.meta);
    let underway = match visit.running.enter(&request.id) {
        Ok(underway) => underway,
        Err(fault) => {
            return say(&frames, reply::error(&request.id, visit.revision, &fault).bytes);
        }
    };
    let (mcp, stop) = (Arc::clone(&shared.mcp), shared.stop.clone());
    shared.calls.spawn(async move {
        let (cancel, carrier) = (&underway.cancel, Carrier::Shared);
        let outlet = Outlet { cancel, stop: &stop, frames: &frames, carrier };
        let said = mcp.answer(&visit, request, &outlet).await;
        end(underway, &frames, said.bytes).await;
    });
    Ok(())
}

/// What is said at once. A client that leaves so much unread that there is no room for it is told so
/// in the answer to its message, which nobody need wait with.
fn say(frames: &Frames, bytes: Vec<u8>) -> Result<(), Response> {
    let unread = (StatusCode::TOO_MANY_REQUESTS, "read what the stream holds first\n");
    frames.try_send(bytes).map_err(|_unsent| unread.into_response())
}

impl Mailboxes {
    fn add(&self, id: &SessionId, mailbox: Mailbox) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs =
            |known: &&Mailbox| known.visit.caller.principal == mailbox.visit.caller.principal;
        let room = open.len() < limits::SESSIONS_MAX
            && open.values().filter(theirs).count() < limits::SESSIONS_PER_PRINCIPAL_MAX;
        if room {
            open.insert(id.clone(), mailbox);
        }
        room
    }

    fn find(&self, id: &str) -> Option<Mailbox> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&SessionId::from_string(id)).cloned()
    }

    fn introduce(&self, id: &str, visit: &Visit) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mailbox) = open.get_mut(&SessionId::from_string(id)) {
            mailbox.visit = visit.clone();
        }
    }
}

/// Removes the mailbox when its stream ends, however it ends.
struct Closing {
    id: SessionId,
    mailboxes: Arc<Mailboxes>,
}

impl Closing {
    fn close(&self) {
        let mut open = self.mailboxes.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mailbox) = open.remove(&self.id) {
            mailbox.visit.memory.leave();
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.close();
    }
}

struct Open {
    first: Option<Vec<u8>>,
    changes: broadcast::Receiver<Change>,
    mcp: Arc<Mcp>,
    news: Receiver<Vec<u8>>,
    stop: CancellationToken,
    closing: Closing,
    _place: StreamPlace,
}

impl Open {
    async fn next(&mut self) -> Option<Vec<u8>> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            // Every arm is cancel safe: a frame that was sent is not lost when another arm wins.
            let frame = tokio::select! {
                biased;
                frame = self.news.recv() => frame,
                () = self.stop.cancelled() => self.last_words().await,
                change = self.changes.recv() => {
                    let told = self.tell(change)?;
                    if told.is_empty() {
                        continue;
                    }
                    return Some(told.iter().flat_map(|frame| sse::write("message", frame)).collect());
                }
                () = tokio::time::sleep(limits::KEEP_ALIVE) => {
                    return Some(sse::KEEP_ALIVE.to_vec());
                }
            };
            return frame.map(|frame| sse::write("message", &frame));
        }
    }

    fn tell(&self, heard: Result<Change, RecvError>) -> Option<Vec<Vec<u8>>> {
        let mailbox = self.closing.mailboxes.find(self.closing.id.as_str())?;
        self.mcp.unasked(&mailbox.visit, heard)
    }

    /// At the stop nothing new is taken, but what running calls still say is delivered. Each holds a
    /// sender; when the last is gone, so is the stream.
    async fn last_words(&mut self) -> Option<Vec<u8>> {
        self.closing.close();
        self.news.recv().await
    }
}

fn session_id(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("session_id="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Principal;

    /// D3: whoever opens streams without end keeps nobody else from opening one.
    #[test]
    fn one_caller_has_only_so_many_streams() {
        let mailboxes = Mailboxes::default();
        let open = |name: &str| {
            let caller = model::Caller::new(Principal::user(name));
            let (frames, _) = queue(1);
            let visit = Visit::new(caller, Revision::V2024_11_05);
            mailboxes.add(&SessionId::random(), Mailbox { visit, frames })
        };
        for _ in 0..limits::SESSIONS_PER_PRINCIPAL_MAX {
            assert!(open("ann"));
        }
        assert!(!open("ann"));
        assert!(open("bob"));
    }
}
