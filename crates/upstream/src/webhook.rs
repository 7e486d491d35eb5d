//! Messages of our own to an address that the operator named: JSON there, JSON back, in time. No
//! tool is reached here, so no permit is asked for.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use model::{Code, Fault, Secret};
use serde_json::Value;

use crate::egress::Egress;
use crate::http_client::{self, HttpClient};

/// By which a receiver knows that a message is ours: `sha256=` and the HMAC of the body.
pub const SIGNATURE: HeaderName = HeaderName::from_static("x-toolgate-signature");

#[derive(Debug)]
pub struct Webhook {
    client: HttpClient,
    uri: Uri,
    key: Option<Secret>,
    timeout: Duration,
}

impl Webhook {
    /// Nothing is contacted yet.
    pub fn new(
        url: &str,
        key: Option<Secret>,
        timeout: Duration,
        egress: &Egress,
    ) -> Result<Self, Fault> {
        let bad = |message: String| Fault::new(Code::ArgsInvalid, message);
        let uri: Uri = url.parse().map_err(|error| bad(format!("`{url}` is no URL: {error}")))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(bad(format!("`{url}` must be an http or https URL")));
        }
        Ok(Self { client: http_client::client_through(egress)?, uri, key, timeout })
    }

    /// Sends a message that needs no answer.
    pub async fn tell(&self, message: &Value) -> Result<(), Fault> {
        self.post(message).await.map(|_body| ())
    }

    /// Sends a message and gives what came back, within the deadline.
    pub async fn ask(&self, message: &Value) -> Result<Value, Fault> {
        let body = self.post(message).await?;
        serde_json::from_slice(&body).map_err(|error| {
            Fault::new(Code::UpstreamError, "the webhook's answer is not JSON").logging(error)
        })
    }

    async fn post(&self, message: &Value) -> Result<Vec<u8>, Fault> {
        let late = |_elapsed| {
            let waited = self.timeout.as_millis();
            let message = format!("the webhook gave no answer within {waited} ms");
            Fault::new(Code::UpstreamTimeout, message)
        };
        tokio::time::timeout(self.timeout, self.send(message)).await.map_err(late)?
    }

    async fn send(&self, message: &Value) -> Result<Vec<u8>, Fault> {
        let body = message.to_string();
        let signature = self.key.as_ref().map(|key| auth::sign(key, body.as_bytes()));
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(signature) = signature {
            let value = HeaderValue::from_str(&format!("sha256={signature}"));
            headers.insert(SIGNATURE, value.map_err(Fault::internal)?);
        }
        let response = http_client::send(&self.client, request).await?;
        let status = response.status();
        let body = http_client::read_body(response.into_body()).await?;
        if status.is_success() {
            return Ok(body);
        }
        let message = format!("the webhook answered with status {}", status.as_u16());
        Err(Fault::new(Code::UpstreamError, message))
    }
}
