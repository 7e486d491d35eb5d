//! One POST: who sends it, in which revision, and what kind of answer it gets.

use std::sync::Arc;

use axum_core::extract::Request;
use axum_core::response::{IntoResponse, Response};
use gateway::queue::{Receiver, queue};
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Caller, Client, Fault};
use protocol::{Ask, Incoming, Refusal, Request as Asked, Revision, decode, jsonrpc};
use tokio_util::sync::DropGuard;

use super::carry::{self, Carried};
use super::stream::{Stream, stream};
use super::{SESSION, Shared, beside, json, mirror, named_revision, refuse};
use crate::authenticate::authenticate;
use crate::limits;
use crate::mcp::batch::is_batch;
use crate::mcp::{Carrier, Outlet, body};
use crate::reply::{self, Said};
use crate::sessions::Visit;

pub(super) async fn post(shared: Arc<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let caller = match authenticate(&shared.mcp.doorkeeper, &headers) {
        Ok(caller) => caller,
        Err(fault) => return refuse(&fault),
    };
    if let Err(refusal) = body::is_json(&headers) {
        return refusal;
    }
    let bytes = match body::read(body).await {
        Ok(bytes) => bytes,
        Err(refusal) => return refusal,
    };
    match take(&shared, &headers, caller, &bytes).await {
        Ok(response) => response,
        Err(refusal) => json(reply::status_of_refusal(&refusal), reply::refusal(&refusal)),
    }
}

async fn take(
    shared: &Arc<Shared>,
    headers: &HeaderMap,
    caller: Caller,
    bytes: &[u8],
) -> Result<Response, Refusal> {
    let mut messages = decode::client(bytes)?;
    // What is wrong with the message comes before what is wrong with its headers: it names the request.
    if let [Err(refusal)] = messages.as_slice() {
        return Err(mirror::rather_mismatch(headers, refusal.clone()));
    }
    beside::take(headers, &mut messages)?;
    if let [Ok(Incoming::Request(request))] = messages.as_slice() {
        mirror::check(&shared.mcp.gateway, &caller, headers, request)?;
        if request.meta.revision.is_some() {
            return Ok(modern(shared, caller, messages).await);
        }
    }
    let Some(visit) = visit(shared, headers, caller).await? else { return Ok(unknown_session()) };
    if is_batch(visit.revision, bytes, &messages)? {
        return Ok(Box::pin(batch(shared, visit, messages)).await);
    }
    let Some(message) = messages.pop() else { return Ok(accepted()) };
    match message? {
        Incoming::Request(request) => Ok(single(shared, visit, request).await),
        Incoming::Cancelled { id } => {
            visit.running.cancel(&id);
            Ok(accepted())
        }
        Incoming::Response { id, outcome } => {
            visit.memory.answered(&id, outcome);
            Ok(accepted())
        }
        Incoming::Notification { .. } => Ok(accepted()),
    }
}

/// A request that stands for itself. Session headers mean nothing to it.
async fn modern(
    shared: &Arc<Shared>,
    caller: Caller,
    mut messages: Vec<Result<Incoming, Refusal>>,
) -> Response {
    let Some(Ok(Incoming::Request(request))) = messages.pop() else { return accepted() };
    let visit = Visit::new(caller, Revision::V2026_07_28).of(&request.meta);
    answer(shared, visit, request).await
}

/// What is known of the sender; none if it names a session that is not its own.
async fn visit(
    shared: &Shared,
    headers: &HeaderMap,
    caller: Caller,
) -> Result<Option<Visit>, Refusal> {
    // A revision nobody knows is refused within a session, too.
    let revision = named_revision(headers)
        .map_err(|error| Refusal::new(None, jsonrpc::INVALID_REQUEST, error.to_string()))?;
    // The revision without sessions ignores the header, in what needs no answer, too.
    if let Some(modern) = revision.filter(|revision| revision.is_modern()) {
        return Ok(Some(Visit::new(caller, modern)));
    }
    if let Some(id) = headers.get(SESSION) {
        let id = id.to_str().unwrap_or_default();
        return Ok(shared.sessions.find(id, caller).await);
    }
    Ok(Some(Visit::new(caller, revision.unwrap_or(Revision::UNNAMED_HTTP))))
}

async fn single(shared: &Arc<Shared>, mut visit: Visit, request: Box<Asked>) -> Response {
    if let Ask::Initialize { asked_version, capabilities, info } = &request.ask {
        let client =
            Client { capabilities: capabilities.clone(), info: info.clone(), ..Client::default() };
        if let Err(fault) = visit.introduce(asked_version, client) {
            return said(visit.revision, reply::error(&request.id, visit.revision, &fault));
        }
        return Box::pin(begin(shared, visit, request)).await;
    }
    answer(shared, visit, request).await
}

/// An `initialize` opens a session, whose id the client sends from then on.
async fn begin(shared: &Arc<Shared>, visit: Visit, request: Box<Asked>) -> Response {
    let id = match shared.sessions.begin(&visit).await {
        Ok(id) => id,
        Err(fault) => return refuse(&fault),
    };
    let mut response = answer(shared, visit, request).await;
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(SESSION, value);
    }
    response
}

/// Answers one request: as JSON if the answer is all there is, as a stream if news comes first.
async fn answer(shared: &Arc<Shared>, visit: Visit, request: Box<Asked>) -> Response {
    let revision = visit.revision;
    let Started { mut news, mut answer, cancel_on_close } = match start(shared, visit, request) {
        Ok(started) => started,
        Err(refused) => return said(revision, refused),
    };
    // Whichever comes first decides the form; neither arm loses what the other would have brought.
    tokio::select! {
        biased;
        Some(first) = news.recv() => {
            stream(Stream { first, news, answer: answer.let_go(), cancel_on_close })
        }
        answered = &mut answer => {
            let Some(answered) = answered else { return broken_off() };
            // What was said in the same breath as the answer is heard before it.
            if let Some(first) = news.try_recv() {
                let answer = carry::at_once(answered);
                return stream(Stream { first, news, answer, cancel_on_close });
            }
            if let Some(guard) = cancel_on_close {
                guard.disarm();
            }
            said(revision, answered)
        }
    }
}

/// A request under way: what it says on the way, and what it comes to.
struct Started {
    news: Receiver<Vec<u8>>,
    answer: Carried,
    /// Cancels it when its client goes away, if that is a client that means it.
    cancel_on_close: Option<DropGuard>,
}

/// Begins a request, or says why not. A client that goes away leaves it to its end and its record.
fn start(shared: &Arc<Shared>, visit: Visit, request: Box<Asked>) -> Result<Started, Said> {
    let refused = |fault: Fault| reply::error(&request.id, visit.revision, &fault);
    let underway = visit.running.enter(&request.id).map_err(refused)?;
    // A long answer is a stream of changes, and counts as one.
    let long = matches!(request.ask, Ask::Listen(_));
    let place =
        long.then(|| shared.mcp.streams.take(&visit.caller)).transpose().map_err(refused)?;
    let modern = visit.revision.is_modern();
    let cancel_on_close = modern.then(|| underway.cancel.clone().drop_guard());
    let (frames, news) = queue(limits::FRAMES_QUEUED);
    let (calls, shared) = (&shared.calls, Arc::clone(shared));
    let answer = calls.track_future(async move {
        let _place = place;
        let (cancel, stop, carrier) = (&underway.cancel, &shared.stop, Carrier::Own);
        let outlet = Outlet { cancel, stop, frames: &frames, carrier };
        shared.mcp.answer(&visit, request, &outlet).await
    });
    Ok(Started { news, answer: Carried::new(answer), cancel_on_close })
}

/// Several messages in one array, as 2025-03-26 allows: all answers in one array.
async fn batch(
    shared: &Shared,
    visit: Visit,
    messages: Vec<Result<Incoming, Refusal>>,
) -> Response {
    let place = match visit.running.enter_batch() {
        Ok(place) => place,
        Err(fault) => return refuse(&fault),
    };
    let (mcp, stop) = (Arc::clone(&shared.mcp), shared.stop.clone());
    // There is no stream beside an array: what is said before the answers is heard by nobody.
    let (frames, _) = queue(1);
    let answering = async move {
        let _place = place;
        mcp.batch(&visit, messages, &stop, &frames).await
    };
    // A client that goes away leaves its calls to their end and their records.
    match tokio::spawn(shared.calls.track_future(answering)).await {
        Ok(Some(answers)) => json(StatusCode::OK, answers),
        Ok(None) => accepted(),
        Err(error) => {
            tracing::error!(%error, "a batch broke off");
            broken_off()
        }
    }
}

fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}

/// A request whose task ended without an answer; the log has the reason.
fn broken_off() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, "the gate could not answer; its log says why\n")
        .into_response()
}

pub(super) fn unknown_session() -> Response {
    (StatusCode::NOT_FOUND, "unknown session; send `initialize` again\n").into_response()
}

fn said(revision: Revision, said: Said) -> Response {
    json(reply::status(revision, said.error_code), said.bytes)
}
