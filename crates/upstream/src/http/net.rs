//! The address, the credentials and the pooled connections of one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use auth::Credentials;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use model::{Code, Fault};

use crate::egress::Egress;
use crate::http_client::{self, HttpClient};
use crate::limits;
use crate::mcp::talk::Questions;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

#[derive(Debug)]
pub(crate) struct Net {
    client: HttpClient,
    uri: Uri,
    host: String,
    headers: HeaderMap,
    /// The same without a host, for addresses that the server has named.
    hostless: HeaderMap,
    next_id: AtomicI64,
    questions: Questions,
}

impl Net {
    pub(super) fn new(
        url: &str,
        credentials: &Credentials,
        egress: &Egress,
    ) -> Result<Self, Fault> {
        let bad = |message: String| Fault::new(Code::ArgsInvalid, message);
        let uri: Uri = url.parse().map_err(|error| bad(format!("`{url}` is no URL: {error}")))?;
        let host = match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) => host.to_owned(),
            _ => return Err(bad(format!("`{url}` must be an http or https URL"))),
        };
        let hostless = base_headers(credentials)?;
        Ok(Self {
            client: http_client::client_through(egress)?,
            headers: with_host(hostless.clone(), &uri),
            uri,
            host,
            hostless,
            next_id: AtomicI64::new(0),
            questions: Questions::default(),
        })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// What the server asks, on whichever of its streams.
    pub(super) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// A number for one request, never used before.
    pub(super) fn number(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// What goes with every request, credentials included. The headers of a conversation begin with them.
    pub(super) const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(super) async fn post(
        &self,
        headers: &HeaderMap,
        frame: Vec<u8>,
    ) -> Result<Response<Incoming>, Fault> {
        self.send(Method::POST, headers, Bytes::from(frame)).await
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The same at an address that the server has named.
    pub(super) async fn post_at(
        &self,
        to: &Uri,
        frame: Vec<u8>,
    ) -> Result<Response<Incoming>, Fault> {
        self.send_to(to, Method::POST, &self.hostless, Bytes::from(frame)).await
    }

    pub(super) fn tell_soon_at(self: &Arc<Self>, to: Uri, frame: Vec<u8>) {
        let net = Arc::clone(self);
        tokio::spawn(async move { net.tell_at(&to, frame).await });
    }

    pub(super) async fn tell_at(&self, to: &Uri, frame: Vec<u8>) {
        let told = tokio::time::timeout(limits::STOP_GRACE, self.post_at(to, frame)).await;
        if !matches!(told, Ok(Ok(_))) {
            tracing::debug!("a message could not be delivered");
        }
    }

    /// Opens the stream on which a server speaks unasked.
    pub(super) async fn get(&self, headers: &HeaderMap) -> Result<Response<Incoming>, Fault> {
        self.send(Method::GET, headers, Bytes::new()).await
    }

    pub(super) async fn end_session(&self, headers: &HeaderMap) {
        let told = self.send(Method::DELETE, headers, Bytes::new());
        if !matches!(tokio::time::timeout(limits::STOP_GRACE, told).await, Ok(Ok(_))) {
            tracing::debug!("an upstream did not hear that its session has ended");
        }
    }

    /// Sends a notification or a reply without waiting for it to arrive.
    pub(super) fn tell_soon(self: &Arc<Self>, headers: HeaderMap, frame: Vec<u8>) {
        let net = Arc::clone(self);
        tokio::spawn(async move { net.tell(&headers, frame).await });
    }

    pub(super) async fn tell(&self, headers: &HeaderMap, frame: Vec<u8>) {
        match tokio::time::timeout(limits::STOP_GRACE, self.post(headers, frame)).await {
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => tracing::debug!(%fault, "a message could not be delivered"),
            Err(_elapsed) => tracing::debug!("a message found no listener"),
        }
    }

    async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Fault> {
        self.send_to(&self.uri, method, headers, body).await
    }

    async fn send_to(
        &self,
        to: &Uri,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Fault> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = to.clone();
        *request.headers_mut() = headers.clone();
        http_client::send(&self.client, request).await
    }
}

/// What hyper would put together anew for every request. A host that an operator names stays.
fn with_host(mut headers: HeaderMap, uri: &Uri) -> HeaderMap {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let name = uri.host().unwrap_or_default();
    let name = match uri.port().filter(|port| port.as_u16() != usual) {
        Some(port) => HeaderValue::try_from(format!("{name}:{port}")),
        None => HeaderValue::from_str(name),
    };
    if let Ok(name) = name {
        headers.entry(HOST).or_insert(name);
    }
    headers
}

fn base_headers(credentials: &Credentials) -> Result<HeaderMap, Fault> {
    let mut headers = http_client::headers(credentials)?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_goes_without_the_usual_port() {
        let check = |url: &str, expected: &str| {
            let headers = with_host(HeaderMap::new(), &url.parse().unwrap());
            assert_eq!(headers.get(HOST).unwrap(), expected, "{url}");
        };
        check("http://tools.example/mcp", "tools.example");
        check("http://tools.example:80/mcp", "tools.example");
        check("http://tools.example:443/mcp", "tools.example:443");
        check("https://tools.example:443/mcp", "tools.example");
        check("https://tools.example:8443/mcp", "tools.example:8443");
        check("http://me:pass@127.0.0.1:1/mcp", "127.0.0.1:1");
        check("http://[::1]:8080/mcp", "[::1]:8080");
        let named = HeaderMap::from_iter([(HOST, HeaderValue::from_static("inner.example"))]);
        let kept = with_host(named, &"http://127.0.0.1:1/mcp".parse().unwrap());
        assert_eq!(kept.get_all(HOST).iter().collect::<Vec<_>>(), ["inner.example"]);
    }
}
