//! A collector of `OpenTelemetry` on a port of this machine, which keeps the spans it is sent.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use crate::mcp_http::serve;
use crate::notes::Notes;

/// The running collector; it stops when dropped.
#[derive(Debug)]
pub struct Collector {
    /// The base, as a configuration names it.
    pub url: String,
    heard: Notes<Value>,
    _task: AbortOnDropHandle<()>,
}

impl Collector {
    pub async fn start() -> Self {
        let heard = Notes::new();
        let router =
            Router::new().route("/v1/traces", post(take)).with_state(Arc::new(heard.clone()));
        let (address, task) = serve(router).await;
        Self { url: format!("http://{address}"), heard, _task: task }
    }

    /// Every request in the order it came.
    pub fn requests(&self) -> Vec<Value> {
        self.heard.all()
    }

    /// Every span in the order it came.
    pub fn spans(&self) -> Vec<Value> {
        let requests = self.heard.all();
        let of = |request: &Value| request.pointer("/resourceSpans/0/scopeSpans/0/spans").cloned();
        requests
            .iter()
            .filter_map(of)
            .filter_map(|spans| spans.as_array().cloned())
            .flatten()
            .collect()
    }
}

async fn take(
    State(heard): State<Arc<Notes<Value>>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let is_json = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    match serde_json::from_str(&body) {
        Ok(request) if is_json => {
            heard.push(request);
            "{}".into_response()
        }
        _ => StatusCode::BAD_REQUEST.into_response(),
    }
}
