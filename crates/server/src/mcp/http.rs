//! MCP over HTTP at `/mcp`: one JSON object when there is one answer, a stream when more is said.

mod accept;
pub(super) mod beside;
mod carry;
mod cors;
mod get;
mod mirror;
mod post;
mod stream;

use std::sync::Arc;

use axum_core::body::Body;
use axum_core::extract::Request;
use axum_core::response::{IntoResponse, Response};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use protocol::Revision;
use protocol::revision::UnknownRevision;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) use self::stream::event_stream;
use super::Mcp;
use super::sse::{self, Mailboxes};
use crate::admin;
use crate::authenticate::authenticate;
use crate::guard::Guard;
use crate::reply;
use crate::sessions::Sessions;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Which HTTP transport is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP at `/mcp`.
    Streamable,
    /// The two endpoints of 2024-11-05, `/sse` and `/messages/`.
    LegacySse,
}

/// What the routes share.
#[derive(Debug)]
pub(super) struct Shared {
    transport: Transport,
    pub(super) mcp: Arc<Mcp>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) mailboxes: Arc<Mailboxes>,
    /// Calls under way; the server waits for them before it returns.
    pub(super) calls: TaskTracker,
    pub(super) stop: CancellationToken,
    guard: Arc<Guard>,
}

/// Serves until `stop` is cancelled, then takes no new request and finishes what is under way.
pub async fn serve(
    mcp: Mcp,
    transport: Transport,
    listener: TcpListener,
    guard: Guard,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let shared = Shared {
        transport,
        sessions: Arc::new(Sessions::new(Arc::clone(&mcp.gateway))),
        mailboxes: Arc::default(),
        mcp: Arc::new(mcp),
        calls: TaskTracker::new(),
        stop: stop.clone(),
        guard: Arc::new(guard),
    };
    let calls = shared.calls.clone();
    accept::accept(listener, Arc::new(shared), stop).await;
    calls.close();
    calls.wait().await;
    Ok(())
}

/// Host and Origin, before anything else and on every route; then what their browser must hear of
/// pages of other origins, then the route.
async fn answer(shared: Arc<Shared>, request: Request) -> Response {
    if let Err((status, why)) = shared.guard.check(request.headers()) {
        return (status, format!("{why}\n")).into_response();
    }
    let Some(page) = shared.guard.reader(request.headers()).filter(|_| is_route(&request)) else {
        return route(shared, request).await;
    };
    let answer = if cors::asks(request.method(), request.headers()) {
        cors::may_send()
    } else {
        Box::pin(route(shared, request)).await
    };
    cors::may_read(answer, page)
}

/// Whether it goes to MCP. What is for people is for pages of the gate's own.
fn is_route(request: &Request) -> bool {
    ["/mcp", "/sse", "/messages/"].contains(&request.uri().path())
}

async fn route(shared: Arc<Shared>, request: Request) -> Response {
    let method = request.method().clone();
    match (shared.transport, request.uri().path(), method) {
        (Transport::Streamable, "/mcp", Method::POST) => post::post(shared, request).await,
        (Transport::Streamable, "/mcp", Method::GET) => {
            Box::pin(get::get(shared, request.headers())).await
        }
        (Transport::Streamable, "/mcp", Method::DELETE) => {
            Box::pin(end_session(&shared, request.headers())).await
        }
        (Transport::LegacySse, "/sse", Method::GET) => sse::open(&shared, request.headers()),
        (Transport::LegacySse, "/sse", _) => only("GET", "open the stream with GET\n"),
        (Transport::LegacySse, "/messages/", Method::POST) => {
            Box::pin(sse::post(shared, request)).await
        }
        (Transport::Streamable, "/mcp", _) | (Transport::LegacySse, "/messages/", _) => only_post(),
        (_, "/healthz", Method::GET | Method::HEAD) => health(&shared),
        (_, "/healthz", _) => only("GET,HEAD", "ask with GET\n"),
        (_, path, method) if admin::is_route(path) => {
            let path = path.to_owned();
            Box::pin(admin::answer(&shared.mcp, &path, &method, request)).await
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// It serves; and whether it does so by the policy and the manifests that were written last. Why not is for the
/// operator's eyes.
fn health(shared: &Shared) -> Response {
    let gateway = &shared.mcp.gateway;
    let policy = gateway.rules_trouble().map(|_| {
        "policy: the file has a mistake, so the last good policy stays in force; \
         see `toolgate policy check`\n"
    });
    let manifests = gateway.manifests_trouble().map(|_| {
        "manifests: a file has a mistake, so the last good ones stay in force; \
         see `toolgate manifest check`\n"
    });
    let said = ["ok\n"].into_iter().chain(policy).chain(manifests);
    said.collect::<String>().into_response()
}

async fn end_session(shared: &Shared, headers: &HeaderMap) -> Response {
    let caller = match authenticate(&shared.mcp.doorkeeper, headers) {
        Ok(caller) => caller,
        Err(fault) => return refuse(&fault),
    };
    if let Err(response) = has_sessions(headers) {
        return response;
    }
    match headers.get(SESSION).and_then(|id| id.to_str().ok()) {
        Some(id) if shared.sessions.end(id, &caller).await => {
            StatusCode::NO_CONTENT.into_response()
        }
        Some(_) => StatusCode::NOT_FOUND.into_response(),
        None => only_post(),
    }
}

/// The revision a request says it is of, if it says so.
fn named_revision(headers: &HeaderMap) -> Result<Option<Revision>, UnknownRevision> {
    headers.get(VERSION).map(|version| version.to_str().unwrap_or_default().parse()).transpose()
}

/// Whether there is anything but POST in the revision this request says it is of.
fn has_sessions(headers: &HeaderMap) -> Result<(), Response> {
    match named_revision(headers) {
        Ok(Some(revision)) if revision.is_modern() => Err(only_post()),
        Ok(_) => Ok(()),
        Err(unknown) => {
            let why = format!("{unknown}; `MCP-Protocol-Version` must name one that is served\n");
            Err((StatusCode::BAD_REQUEST, why).into_response())
        }
    }
}

fn only_post() -> Response {
    only("POST", "send MCP messages with POST\n")
}

fn only(methods: &'static str, hint: &'static str) -> Response {
    let allow = [(ALLOW, HeaderValue::from_static(methods))];
    (StatusCode::METHOD_NOT_ALLOWED, allow, hint).into_response()
}

/// A request that ends before its message is looked at.
pub(super) fn refuse(fault: &model::Fault) -> Response {
    let status = reply::status_of(fault);
    let body = format!("{}\n", fault.message);
    match status {
        StatusCode::UNAUTHORIZED => {
            (status, [("www-authenticate", "Bearer")], body).into_response()
        }
        _ => (status, body).into_response(),
    }
}

/// A message as the whole answer.
pub(super) fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
