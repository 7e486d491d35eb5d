//! One POST: who sends it, in which revision, and what kind of answer it gets.

use std::sync::Arc;

use axum_core::body::Body;
use axum_core::extract::Request;
use axum_core::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use model::{Caller, Client, Fault};
use protocol::{Ask, Id, Incoming, Refusal, Request as Asked, Revision, decode, jsonrpc};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::carry::{self, Carried};
use super::stream::{Stream, stream};
use super::{SESSION, Shared, VERSION, mirror, refuse};
use crate::authenticate::authenticate;
use crate::limits;
use crate::mcp::{Outlet, body};
use crate::reply;
use crate::sessions::Visit;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

pub(super) async fn post(shared: Arc<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let caller = match authenticate(&shared.mcp.doorkeeper, &headers) {
        Ok(caller) => caller,
        Err(fault) => return refuse(&fault),
    };
    if !is_json(&headers) {
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "send `Content-Type: application/json`\n")
            .into_response();
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
    shared: &Shared,
    headers: &HeaderMap,
    caller: Caller,
    bytes: &[u8],
) -> Result<Response, Refusal> {
    let mut messages = decode::client(bytes)?;
    // What is wrong with the message comes before what is wrong with its headers: it names the request.
    if let [Err(refusal)] = messages.as_slice() {
        return Err(mirror::rather_mismatch(headers, refusal.clone()));
    }
    if let [Ok(Incoming::Request(request))] = messages.as_mut_slice() {
        take_key(headers, request)?;
        take_trace(headers, request);
        mirror::check(&shared.mcp.gateway, &caller, headers, request)?;
        if request.meta.revision.is_some() {
            return modern(shared, caller, messages).await;
        }
    }
    let Some(visit) = visit(shared, headers, caller).await? else { return Ok(unknown_session()) };
    // A batch of one is answered as a batch where there are any; elsewhere it is taken for its message.
    let batched = bytes.trim_ascii_start().first() == Some(&b'[') && visit.revision.has_batches();
    if batched || messages.len() > 1 {
        return Box::pin(batch(shared, &visit, messages)).await;
    }
    let Some(message) = messages.pop() else { return Ok(accepted()) };
    match message? {
        Incoming::Request(request) => single(shared, visit, *request).await,
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

/// A key may also come in a header. Two that differ are a mistake nobody should guess about.
fn take_key(headers: &HeaderMap, request: &mut Asked) -> Result<(), Refusal> {
    let header = headers.get(IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok());
    let Some(header) = header.filter(|key| !key.is_empty()) else { return Ok(()) };
    let key = request.meta.idempotency_key.get_or_insert_with(|| header.to_owned());
    if key == header {
        return Ok(());
    }
    let message = "the header `Idempotency-Key` and the key in `_meta` differ";
    Err(Refusal::new(Some(request.id.clone()), jsonrpc::INVALID_REQUEST, message))
}

/// The trace of the message itself goes before that of the request which carries it.
fn take_trace(headers: &HeaderMap, request: &mut Asked) {
    let header = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
    if request.meta.traceparent.is_none() {
        request.meta.traceparent = header.map(str::to_owned);
    }
}

/// A request that stands for itself. Session headers mean nothing to it.
async fn modern(
    shared: &Shared,
    caller: Caller,
    mut messages: Vec<Result<Incoming, Refusal>>,
) -> Result<Response, Refusal> {
    let Some(Ok(Incoming::Request(request))) = messages.pop() else { return Ok(accepted()) };
    let visit = Visit::new(caller, Revision::V2026_07_28).of(&request.meta);
    answer(shared, visit, *request).await
}

/// What is known of the sender; none if it names a session that is not its own.
async fn visit(
    shared: &Shared,
    headers: &HeaderMap,
    caller: Caller,
) -> Result<Option<Visit>, Refusal> {
    // A revision nobody knows is refused within a session, too.
    let revision = match headers.get(VERSION).map(|version| version.to_str().unwrap_or_default()) {
        None => Revision::UNNAMED_HTTP,
        Some(version) => {
            version.parse().map_err(|error: protocol::revision::UnknownRevision| {
                Refusal::new(None, jsonrpc::INVALID_REQUEST, error.to_string())
            })?
        }
    };
    if let Some(id) = headers.get(SESSION) {
        let id = id.to_str().unwrap_or_default();
        return Ok(shared.sessions.find(id, &caller).await);
    }
    Ok(Some(Visit::new(caller, revision)))
}

async fn single(shared: &Shared, mut visit: Visit, request: Asked) -> Result<Response, Refusal> {
    if let Ask::Initialize { asked_version, capabilities, info } = &request.ask {
        let client =
            Client { capabilities: capabilities.clone(), info: info.clone(), ..Client::default() };
        visit.introduce(asked_version, client);
        return Box::pin(begin(shared, visit, request)).await;
    }
    answer(shared, visit, request).await
}

/// An `initialize` opens a session, whose id the client sends from then on.
async fn begin(shared: &Shared, visit: Visit, request: Asked) -> Result<Response, Refusal> {
    let id = match shared.sessions.begin(&visit).await {
        Ok(id) => id,
        Err(fault) => return Ok(refuse(&fault)),
    };
    let mut response = answer(shared, visit, request).await?;
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(SESSION, value);
    }
    Ok(response)
}

/// Answers one request: as JSON if the answer is all there is, as a stream if news comes first.
async fn answer(shared: &Shared, visit: Visit, request: Asked) -> Result<Response, Refusal> {
    let revision = visit.revision;
    let Started { mut news, mut answer, cancel } = start(shared, visit, request)?;
    let cancel_on_close = revision.is_modern().then(|| cancel.drop_guard());
    // Whichever comes first decides the form; neither arm loses what the other would have brought.
    tokio::select! {
        biased;
        Some(first) = news.recv() => {
            Ok(stream(Stream { first, news, answer: answer.let_go(), cancel_on_close }))
        }
        said = &mut answer => {
            let Some(said) = said else { return Ok(broken_off()) };
            // What was said in the same breath as the answer is heard before it.
            if let Ok(first) = news.try_recv() {
                let answer = carry::at_once(said);
                return Ok(stream(Stream { first, news, answer, cancel_on_close }));
            }
            if let Some(guard) = cancel_on_close {
                guard.disarm();
            }
            Ok(json(reply::status(revision, said.error_code), said.bytes))
        }
    }
}

/// A request under way: what it says on the way, what it comes to, and how to call it off.
struct Started {
    news: mpsc::Receiver<Vec<u8>>,
    answer: Carried,
    cancel: CancellationToken,
}

/// Begins a request. A client that goes away leaves it to its end and its record; whether going
/// away also cancels it is for the caller to say.
fn start(shared: &Shared, visit: Visit, request: Asked) -> Result<Started, Refusal> {
    let underway = enter(&visit, &request.id)?;
    let cancel = underway.cancel.clone();
    let (frames, news) = mpsc::channel(limits::FRAMES_QUEUED);
    let (mcp, stop) = (Arc::clone(&shared.mcp), shared.stop.clone());
    let answer = shared.calls.track_future(async move {
        let outlet = Outlet { cancel: underway.cancel.clone(), stop, frames };
        mcp.answer(&visit, request, &outlet).await
    });
    Ok(Started { news, answer: Carried::new(answer), cancel })
}

/// Several messages in one array, as 2025-03-26 allows: all answers in one array.
async fn batch(
    shared: &Shared,
    visit: &Visit,
    messages: Vec<Result<Incoming, Refusal>>,
) -> Result<Response, Refusal> {
    if !visit.revision.has_batches() || messages.len() > limits::BATCH_MAX {
        let message = "send one message at a time";
        return Err(Refusal::new(None, jsonrpc::INVALID_REQUEST, message));
    }
    let mut answers = Vec::new();
    for message in messages {
        match message {
            Err(refusal) => answers.push(reply::refusal(&refusal)),
            Ok(Incoming::Request(request)) => {
                let started = start(shared, visit.clone(), *request)?;
                let Some(said) = started.answer.await else { return Ok(broken_off()) };
                answers.push(said.bytes);
            }
            Ok(Incoming::Cancelled { id }) => visit.running.cancel(&id),
            Ok(Incoming::Response { id, outcome }) => visit.memory.answered(&id, outcome),
            Ok(Incoming::Notification { .. }) => {}
        }
    }
    if answers.is_empty() {
        return Ok(accepted());
    }
    let joined = answers.join(&b","[..]);
    Ok(json(StatusCode::OK, [b"[", joined.as_slice(), b"]"].concat()))
}

fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}

/// A request whose task ended without an answer; the log has the reason.
fn broken_off() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, "the gate could not answer; its log says why\n")
        .into_response()
}

fn enter(visit: &Visit, id: &Id) -> Result<crate::sessions::Underway, Refusal> {
    let refused =
        |fault: Fault| Refusal::new(Some(id.clone()), jsonrpc::INVALID_REQUEST, fault.message);
    visit.running.enter(id).map_err(refused)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

pub(super) fn unknown_session() -> Response {
    (StatusCode::NOT_FOUND, "unknown session; send `initialize` again\n").into_response()
}

fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-206: whichever place a trace is named in.
    #[test]
    fn the_trace_of_the_message_goes_before_that_of_the_request() {
        let check = |meta: &str, header: Option<&str>, expected: Option<&str>| {
            let text = format!(
                r#"{{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {{"_meta": {meta}}}}}"#
            );
            let mut messages = decode::client(text.as_bytes()).unwrap();
            let Some(Ok(Incoming::Request(request))) = messages.first_mut() else {
                panic!("`{text}` is no request")
            };
            let value = header.map(|text| (TRACEPARENT, HeaderValue::from_str(text).unwrap()));
            take_trace(&value.into_iter().collect(), request);
            assert_eq!(request.meta.traceparent.as_deref(), expected);
        };
        check("{}", None, None);
        check("{}", Some("00-a"), Some("00-a"));
        check(r#"{"traceparent": "00-b"}"#, Some("00-a"), Some("00-b"));
        check(r#"{"traceparent": "00-b"}"#, None, Some("00-b"));
    }
}
