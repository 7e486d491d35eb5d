//! An embedding endpoint in the format of `OpenAI`, on a port of this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::mcp_http::serve;
use crate::notes::Notes;

/// The running endpoint; it stops when dropped. A text that holds `golden` gets one vector, any
/// other text another.
#[derive(Debug)]
pub struct Embedder {
    /// The base, as a configuration names it.
    pub url: String,
    desk: Arc<Desk>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct Desk {
    status: AtomicU16,
    heard: Notes<Value>,
}

impl Embedder {
    pub async fn start() -> Self {
        let desk = Arc::new(Desk { status: AtomicU16::new(200), heard: Notes::new() });
        let router =
            Router::new().route("/v1/embeddings", post(answer)).with_state(Arc::clone(&desk));
        let (address, task) = serve(router).await;
        Self { url: format!("http://{address}/v1"), desk, _task: task }
    }

    /// Answers with this status from now on.
    pub fn answer_with(&self, status: u16) {
        self.desk.status.store(status, Ordering::SeqCst);
    }

    /// Every request in the order it came: the body, and the bearer under `authorization`.
    pub fn heard(&self) -> Vec<Value> {
        self.desk.heard.all()
    }
}

async fn answer(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: String) -> Response {
    let mut asked: Value = serde_json::from_str(&body).expect("clients send JSON");
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    asked["authorization"] = bearer.into();
    desk.heard.push(asked.clone());
    let status = desk.status.load(Ordering::SeqCst);
    if status != 200 {
        return StatusCode::from_u16(status).expect("a status").into_response();
    }
    let texts = asked["input"].as_array().into_iter().flatten();
    let row = |(index, text): (usize, &Value)| {
        let golden = text.as_str().is_some_and(|text| text.contains("golden"));
        let embedding = if golden { [0.9, 0.1, 0.0] } else { [0.0, 0.1, 0.9] };
        json!({"index": index, "embedding": embedding})
    };
    json!({"data": texts.enumerate().map(row).collect::<Vec<_>>()}).to_string().into_response()
}
