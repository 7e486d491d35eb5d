//! Sends spans to a collector that speaks OTLP over HTTP with JSON. Best effort: what cannot be
//! delivered is said in the log and dropped, because the records are the truth.

use std::time::Duration;

use auth::Credentials;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::Full;
use model::{Code, Fault};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::http_client::{self, HttpClient};
use crate::limits;

/// Spans that wait to be sent; beyond that they are dropped, and the calls go on.
const SPANS_QUEUED: usize = 4_096;
/// Spans of one request to the collector.
const SPANS_SENT_MAX: usize = 512;
/// Where a collector takes traces.
const TRACES: &str = "/v1/traces";
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes spans from any thread and never waits.
#[derive(Clone, Debug)]
pub struct Spans(mpsc::Sender<Told>);

#[derive(Debug)]
enum Told {
    /// As OTLP writes it in JSON.
    Span(Value),
    /// Somebody waits until all before this has been sent.
    Flush(oneshot::Sender<()>),
}

impl Spans {
    /// Says whether it will be sent: a slow collector misses spans.
    pub fn tell(&self, span: Value) -> bool {
        self.0.try_send(Told::Span(span)).is_ok()
    }

    /// Waits until what was told has been sent, or cannot be in time.
    pub async fn flush(&self) {
        let (done, sent) = oneshot::channel();
        let told = async {
            let asked = self.0.send(Told::Flush(done)).await;
            asked.is_ok() && sent.await.is_ok()
        };
        if !tokio::time::timeout(limits::STOP_GRACE, told).await.is_ok_and(|sent| sent) {
            tracing::warn!("the collector was too slow for the last spans");
        }
    }
}

/// A collector.
#[derive(Debug)]
pub struct Otlp {
    client: HttpClient,
    uri: Uri,
    headers: HeaderMap,
    service: String,
}

impl Otlp {
    /// `url` is the collector's base, such as `http://127.0.0.1:4318`, or its endpoint for traces.
    /// Nothing is contacted yet.
    pub fn new(url: &str, service: &str, credentials: &Credentials) -> Result<Self, Fault> {
        let base = url.trim_end_matches('/');
        let path = if base.ends_with(TRACES) { "" } else { TRACES };
        let bad = || Fault::new(Code::ArgsInvalid, format!("`{url}` must be an http or https URL"));
        let uri: Uri = format!("{base}{path}").parse().map_err(|_error| bad())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(bad());
        }
        let (client, headers) = (http_client::client()?, http_client::headers(credentials)?);
        Ok(Self { client, uri, headers, service: service.to_owned() })
    }

    /// Begins to send what the other end is told, until that is gone.
    pub fn start(self) -> Spans {
        let (told, heard) = mpsc::channel(SPANS_QUEUED);
        tokio::spawn(self.export(heard));
        Spans(told)
    }

    /// What comes while a request is under way goes together in the next.
    async fn export(self, mut told: mpsc::Receiver<Told>) {
        let mut batch = Vec::new();
        let mut lost: usize = 0;
        while told.recv_many(&mut batch, SPANS_SENT_MAX).await > 0 {
            let (mut spans, mut waiting) = (Vec::new(), Vec::new());
            for told in batch.drain(..) {
                match told {
                    Told::Span(span) => spans.push(span),
                    Told::Flush(done) => waiting.push(done),
                }
            }
            lost = self.deliver(spans, lost).await;
            for done in waiting {
                if done.send(()).is_err() {
                    tracing::debug!("nobody waits for the last spans any more");
                }
            }
        }
    }

    /// Sends them, and says how many have been lost since the collector last took any.
    async fn deliver(&self, spans: Vec<Value>, lost: usize) -> usize {
        let count = spans.len();
        if count == 0 {
            return lost;
        }
        let sent = tokio::time::timeout(SEND_TIMEOUT, self.send(spans)).await;
        match (sent.unwrap_or_else(|_elapsed| Err(late())), lost) {
            (Ok(()), 0) => 0,
            (Ok(()), lost) => {
                tracing::info!(spans.lost = lost, "the collector takes spans again");
                0
            }
            (Err(fault), 0) => {
                tracing::warn!(%fault, "the collector takes no spans; they are dropped");
                count
            }
            (Err(_again), lost) => lost.saturating_add(count),
        }
    }

    async fn send(&self, spans: Vec<Value>) -> Result<(), Fault> {
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": [
                {"key": "service.name", "value": {"stringValue": self.service}},
                {"key": "service.version", "value": {"stringValue": env!("CARGO_PKG_VERSION")}},
            ]},
            "scopeSpans": [{"scope": {"name": "toolgate"}, "spans": spans}],
        }]});
        let mut request = Request::new(Full::new(Bytes::from(body.to_string())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let json = http::HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        let response = http_client::send(&self.client, request).await?;
        let status = response.status();
        // Read to its end, so that the connection can be used again.
        http_client::read_body(response.into_body()).await?;
        if status.is_success() {
            return Ok(());
        }
        let message = format!("the collector answered with status {}", status.as_u16());
        Err(Fault::new(Code::UpstreamUnavailable, message))
    }
}

fn late() -> Fault {
    Fault::new(Code::UpstreamTimeout, "the collector gave no answer in time")
}
