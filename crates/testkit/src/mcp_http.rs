//! A scripted MCP server over Streamable HTTP, on a port of this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::mcp::{self, Reaction};
use crate::notes::Notes;

const CHALLENGE: &str = r#"Bearer error="insufficient_scope", scope="mail.send mail.read""#;
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The form in which requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Json,
    Sse,
    /// As `Json`, but a call wants a scope that nobody holds.
    Scoped,
}

/// The running server; it stops when dropped.
#[derive(Debug)]
pub struct McpHttp {
    pub url: String,
    desk: Arc<Desk>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct Desk {
    style: Style,
    /// The session that counts; a request under another one is unknown.
    session: AtomicU32,
    heard: Notes<Value>,
}

impl McpHttp {
    pub async fn start(style: Style) -> Self {
        let desk = Arc::new(Desk { style, session: AtomicU32::new(0), heard: Notes::new() });
        let router = Router::new().route("/mcp", post(answer)).with_state(Arc::clone(&desk));
        let (address, task) = serve(router).await;
        Self { url: format!("http://{address}/mcp"), desk, _task: task }
    }

    /// Every message, in the order it came.
    pub fn heard(&self) -> &Notes<Value> {
        &self.desk.heard
    }

    /// Messages with this method.
    pub fn count(&self, method: &str) -> usize {
        self.desk.heard.all().iter().filter(|message| message["method"] == method).count()
    }

    /// Forgets the session: the next request under it is answered with 404.
    pub fn forget_session(&self) {
        self.desk.session.fetch_add(1, Ordering::SeqCst);
    }
}

/// Serves the router on a free port until the handle is dropped.
pub(crate) async fn serve(router: Router) -> (std::net::SocketAddr, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    let serving = async move { axum::serve(listener, router).await.expect("the server runs") };
    (address, AbortOnDropHandle::new(tokio::spawn(serving)))
}

async fn answer(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).expect("clients send JSON");
    desk.heard.push(message.clone());
    if message["method"] != "initialize" && headers.get(SESSION) != Some(&desk.session()) {
        return StatusCode::NOT_FOUND.into_response();
    }
    if desk.style == Style::Scoped && message["method"] == "tools/call" {
        return (StatusCode::FORBIDDEN, [(WWW_AUTHENTICATE, CHALLENGE)]).into_response();
    }
    let mut sent = Vec::new();
    for reaction in mcp::react(&message) {
        match reaction {
            Reaction::Send(message) => sent.push(message),
            Reaction::Note(_) => return StatusCode::ACCEPTED.into_response(),
            Reaction::Silence => std::future::pending().await,
        }
    }
    let mut response = desk.render(&sent).into_response();
    if message["method"] == "initialize" {
        response.headers_mut().insert(SESSION, desk.session());
    }
    response
}

impl Desk {
    fn session(&self) -> HeaderValue {
        HeaderValue::from(self.session.load(Ordering::SeqCst))
    }

    fn render(&self, sent: &[Value]) -> impl IntoResponse + use<> {
        match self.style {
            // One JSON text has room for the answer alone.
            Style::Json | Style::Scoped => {
                let answer = sent.last().map(ToString::to_string).unwrap_or_default();
                ([(CONTENT_TYPE, "application/json")], answer)
            }
            Style::Sse => {
                let hello = std::iter::once(": hello\n\n".to_owned());
                let events = sent.iter().map(|message| format!("data: {message}\n\n"));
                let events: Vec<String> = hello.chain(events).collect();
                ([(CONTENT_TYPE, "text/event-stream")], events.concat())
            }
        }
    }
}
