//! The upstream that has effects: each payment is noted under its key, and never forgotten.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::callers::{LONG, LOOK, PAY, WIRE};
use crate::mcp_http::serve;

/// Words of a text that is too long for a model.
const LONG_WORDS: usize = 4_000;

type Effects = Arc<Mutex<BTreeMap<String, u32>>>;

#[derive(Debug)]
pub struct Ledger {
    pub url: String,
    effects: Effects,
    _task: AbortOnDropHandle<()>,
}

impl Ledger {
    pub async fn start() -> Self {
        let effects = Effects::default();
        let router = Router::new().route("/mcp", post(answer)).with_state(Arc::clone(&effects));
        let (address, task) = serve(router).await;
        Self { url: format!("http://{address}/mcp"), effects, _task: task }
    }

    /// A way to ask how often each key took effect.
    pub fn handle(&self) -> impl Fn() -> BTreeMap<String, u32> + Send + Sync + 'static {
        let effects = Arc::clone(&self.effects);
        move || effects.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn answer(State(effects): State<Effects>, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap_or_default();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "ledger", "version": "1"},
        }),
        "tools/list" => {
            let tools = [PAY, WIRE, LOOK].map(|name| crate::tool(name, json!({})));
            json!({"tools": tools})
        }
        "tools/call" => call(&effects, &message["params"]),
        _ if message.get("id").is_none() => return StatusCode::ACCEPTED.into_response(),
        _ => json!({}),
    };
    let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    ([(CONTENT_TYPE, "application/json")], reply.to_string()).into_response()
}

fn call(effects: &Effects, params: &Value) -> Value {
    let key = params["arguments"]["key"].as_str().unwrap_or_default();
    if params["name"] != LOOK {
        let mut effects = effects.lock().unwrap_or_else(PoisonError::into_inner);
        *effects.entry(key.to_owned()).or_default() += 1;
    }
    let text =
        if key.ends_with(LONG) { format!("{key} ").repeat(LONG_WORDS) } else { "done".into() };
    json!({"content": [{"type": "text", "text": text}]})
}
