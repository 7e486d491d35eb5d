//! MCP over HTTP at `/mcp`: one JSON object when there is one answer, a stream when more is said.

mod accept;
mod get;
mod mirror;
mod post;
mod stream;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderMap, HeaderName, StatusCode};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) use self::stream::event_stream;
use super::Mcp;
use super::sse::{self, Mailboxes};
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
#[derive(Clone, Debug)]
pub(super) struct Shared {
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
        sessions: Arc::new(Sessions::new(Arc::clone(&mcp.gateway))),
        mailboxes: Arc::default(),
        mcp: Arc::new(mcp),
        calls: TaskTracker::new(),
        stop: stop.clone(),
        guard: Arc::new(guard),
    };
    let calls = shared.calls.clone();
    accept::accept(listener, router(transport, shared), stop).await;
    calls.close();
    calls.wait().await;
    Ok(())
}

fn router(transport: Transport, shared: Shared) -> Router {
    let routes = match transport {
        Transport::Streamable => {
            let endpoint =
                post(post::post).get(get::get).delete(end_session).fallback(other_method);
            Router::new().route("/mcp", endpoint)
        }
        Transport::LegacySse => {
            Router::new().route("/sse", get(sse::open)).route("/messages/", post(sse::post))
        }
    };
    routes
        .route("/healthz", get(async || "ok\n"))
        .layer(middleware::from_fn_with_state(shared.clone(), check_names))
        .with_state(shared)
}

/// Host and Origin, before anything else and on every route.
async fn check_names(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    match shared.guard.check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err((status, why)) => (status, format!("{why}\n")).into_response(),
    }
}

async fn end_session(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let caller = match authenticate(&shared.mcp.doorkeeper, &headers) {
        Ok(caller) => caller,
        Err(fault) => return refuse(&fault),
    };
    match headers.get(SESSION).and_then(|id| id.to_str().ok()) {
        Some(id) if shared.sessions.end(id, &caller).await => {
            StatusCode::NO_CONTENT.into_response()
        }
        Some(_) => StatusCode::NOT_FOUND.into_response(),
        None => other_method().await,
    }
}

async fn other_method() -> Response {
    only_post()
}

fn only_post() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [("allow", "POST")], "send MCP messages with POST\n")
        .into_response()
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
