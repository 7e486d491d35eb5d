//! MCP servers over Streamable HTTP, as revisions up to 2025-11-25 speak it.
//!
//! Stateless servers and legacy SSE belong to a later issue.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use auth::Credentials;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use model::{Answer, Code, Fault};
use policy::Permit;
use protocol::peer::{self, FromServer};
use protocol::sse::Events;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::connector::Connector;
use crate::errand::{Errand, Progress};
use crate::http_client::{self, HttpClient};
use crate::limits;
use crate::pages::Pages;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// A server at an address.
#[derive(Debug)]
pub struct Http {
    wire: Arc<Wire>,
    host: String,
    session: Mutex<Option<Arc<HeaderMap>>>,
}

#[derive(Debug)]
struct Wire {
    client: HttpClient,
    uri: Uri,
    headers: HeaderMap,
    next_id: AtomicI64,
}

impl Http {
    /// Checks address and credentials; nothing is contacted yet.
    pub fn new(url: &str, credentials: &Credentials) -> Result<Self, Fault> {
        let bad = |message: String| Fault::new(Code::ArgsInvalid, message);
        let uri: Uri = url.parse().map_err(|error| bad(format!("`{url}` is no URL: {error}")))?;
        let host = match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) => host.to_owned(),
            _ => return Err(bad(format!("`{url}` must be an http or https URL"))),
        };
        let wire = Wire {
            client: http_client::client()?,
            uri,
            headers: base_headers(credentials)?,
            next_id: AtomicI64::new(0),
        };
        Ok(Self { wire: Arc::new(wire), host, session: Mutex::new(None) })
    }

    /// The headers of an open conversation, opened if need be.
    async fn session(&self) -> Result<Arc<HeaderMap>, Fault> {
        let mut slot = self.session.lock().await;
        if let Some(session) = slot.as_ref() {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(self.wire.introduce().await?);
        *slot = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Asks within the conversation; a server that forgot it is introduced again, once.
    async fn ask<F>(&self, errand: Option<&Errand>, frame: F) -> Result<Value, Fault>
    where
        F: Fn(i64) -> Vec<u8> + Send + Sync,
    {
        let session = self.session().await?;
        match self.wire.ask(&session, errand, &frame).await? {
            Asked::Answer(value) => return Ok(value),
            Asked::Forgotten => *self.session.lock().await = None,
        }
        let session = self.session().await?;
        match self.wire.ask(&session, errand, &frame).await? {
            Asked::Answer(value) => Ok(value),
            Asked::Forgotten => Err(refused(StatusCode::NOT_FOUND)),
        }
    }
}

#[async_trait]
impl Connector for Http {
    fn protocol(&self) -> &'static str {
        "mcp"
    }

    fn endpoint_host(&self) -> Option<&str> {
        Some(&self.host)
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        let mut pages = Pages::new();
        while let Some(cursor) = pages.wanted() {
            pages.take(self.ask(None, |id| peer::tools_list(id, cursor.as_deref())).await?)?;
        }
        Ok(pages.tools)
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let report = errand.news.is_some();
        let frame = |id| peer::tools_call(id, permit.tool(), permit.arguments(), report);
        peer::call_answer(self.ask(Some(errand), frame).await?)
    }
}

enum Asked {
    Answer(Value),
    /// The server no longer knows our session.
    Forgotten,
}

impl Wire {
    async fn introduce(&self) -> Result<HeaderMap, Fault> {
        let id = self.number();
        let response = self.post(&HeaderMap::new(), peer::initialize(id)).await?;
        let mut session = HeaderMap::new();
        if let Some(value) = response.headers().get(SESSION) {
            session.insert(SESSION, value.clone());
        }
        let result = answer_in(response, id, None).await?;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if let Ok(value) = HeaderValue::from_str(version) {
            session.insert(VERSION, value);
        }
        drop(self.post(&session, peer::initialized()).await?);
        Ok(session)
    }

    async fn ask(
        self: &Arc<Self>,
        session: &Arc<HeaderMap>,
        errand: Option<&Errand>,
        frame: &(dyn Fn(i64) -> Vec<u8> + Send + Sync),
    ) -> Result<Asked, Fault> {
        let id = self.number();
        let mut guard = CancelOnDrop { wire: self, session, id, armed: errand.is_some() };
        let response = self.post(session, frame(id)).await;
        let outcome = match response {
            Ok(response)
                if response.status() == StatusCode::NOT_FOUND && session.contains_key(SESSION) =>
            {
                Ok(Asked::Forgotten)
            }
            Ok(response) => answer_in(response, id, errand).await.map(Asked::Answer),
            Err(fault) => Err(fault),
        };
        guard.armed = false;
        outcome
    }

    async fn post(&self, session: &HeaderMap, frame: Vec<u8>) -> Result<Response<Incoming>, Fault> {
        let mut request = Request::new(Full::new(Bytes::from(frame)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
            .headers_mut()
            .extend(session.iter().map(|(name, value)| (name.clone(), value.clone())));
        http_client::send(&self.client, request).await
    }

    fn number(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Tells the server when a call is given up before its answer.
struct CancelOnDrop<'a> {
    wire: &'a Arc<Wire>,
    session: &'a Arc<HeaderMap>,
    id: i64,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let (wire, session, id) = (Arc::clone(self.wire), Arc::clone(self.session), self.id);
        tokio::spawn(async move {
            let told = wire.post(&session, peer::cancelled(id, "the caller gave up"));
            match tokio::time::timeout(limits::STOP_GRACE, told).await {
                Ok(Ok(_)) => {}
                Ok(Err(fault)) => tracing::debug!(%fault, "a cancellation could not be delivered"),
                Err(_elapsed) => tracing::debug!("a cancellation found no listener"),
            }
        });
    }
}

/// The answer to request `id` in a response that is one JSON text or a stream of events.
async fn answer_in(
    response: Response<Incoming>,
    id: i64,
    errand: Option<&Errand>,
) -> Result<Value, Fault> {
    if !response.status().is_success() {
        return Err(refused_with(response).await);
    }
    let streams = content_type(&response).starts_with("text/event-stream");
    let mut body = response.into_body();
    if !streams {
        let bytes = http_client::read_body(body).await?;
        return pick(&bytes, id, errand)?.unwrap_or_else(|| Err(no_answer()));
    }
    let mut events = Events::new(limits::MESSAGE_BYTES_MAX);
    while let Some(chunk) = http_client::next_chunk(&mut body).await? {
        let complete = events.push(&chunk).map_err(|error| {
            Fault::new(Code::UpstreamError, "the upstream's stream is unusable").logging(error)
        })?;
        for event in complete {
            if let Some(outcome) = pick(event.data.as_bytes(), id, errand)? {
                return outcome;
            }
        }
    }
    Err(no_answer())
}

/// Our answer among what a server sent, if it is there; progress goes to the listener.
fn pick(
    bytes: &[u8],
    id: i64,
    errand: Option<&Errand>,
) -> Result<Option<Result<Value, Fault>>, Fault> {
    let messages = peer::read(bytes).map_err(|refusal| {
        Fault::new(Code::UpstreamError, "the upstream's answer is not JSON-RPC")
            .logging(refusal.error.message)
    })?;
    for message in messages {
        match message {
            FromServer::Response { id: got, outcome } if got == id => {
                return Ok(Some(outcome.map_err(|error| peer::call_fault(&error))));
            }
            FromServer::Progress { progress, total, message, .. } => {
                if let Some(errand) = errand {
                    errand.report(Progress { progress, total, message });
                }
            }
            _ => {}
        }
    }
    Ok(None)
}

fn base_headers(credentials: &Credentials) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    for (name, value) in credentials.reveal() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(Fault::internal)?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|error| Fault::internal(format!("header `{name}` cannot be sent: {error}")))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn content_type(response: &Response<Incoming>) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn no_answer() -> Fault {
    Fault::new(Code::UpstreamError, "the upstream ended its answer without answering")
}

fn refused(status: StatusCode) -> Fault {
    let code = match status.as_u16() {
        401 | 403 => Code::AuthFailed,
        408 | 504 => Code::UpstreamTimeout,
        429 | 500..=599 => Code::UpstreamUnavailable,
        _ => Code::UpstreamError,
    };
    Fault::new(code, format!("the upstream answered with status {}", status.as_u16()))
}

async fn refused_with(response: Response<Incoming>) -> Fault {
    let fault = refused(response.status());
    match http_client::read_body(response.into_body()).await {
        Ok(body) => fault.logging(model::fault::one_line(&String::from_utf8_lossy(&body), 400)),
        Err(_) => fault,
    }
}
