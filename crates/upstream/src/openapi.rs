//! Services described by an OpenAPI document: plans come from `openapi`, requests go out from here.

use async_trait::async_trait;
use auth::Credentials;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;
use model::{Answer, Code, Effect, Fault};
use openapi::{Document, RequestPlan};
use policy::Permit;
use serde_json::Value;

use crate::connector::Connector;
use crate::egress::Egress;
use crate::errand::Errand;
use crate::http_client::{self, HttpClient};

/// Where services look for a key, by the draft of the IETF.
const KEY_HEADER: &str = "Idempotency-Key";

#[derive(Debug)]
pub struct OpenApi {
    document: Document,
    base: String,
    host: String,
    credentials: Credentials,
    client: HttpClient,
}

impl OpenApi {
    /// Takes a document and where the service is; without `base` the document says it.
    pub fn new(
        document: Document,
        base: Option<&str>,
        credentials: Credentials,
    ) -> Result<Self, Fault> {
        let bad = |message: String| Fault::new(Code::ArgsInvalid, message);
        let base = document.base_url(base).map_err(|error| bad(error.to_string()))?;
        let uri: Uri = base.parse().map_err(|error| bad(format!("`{base}` is no URL: {error}")))?;
        let host = uri.host().ok_or_else(|| bad(format!("`{base}` names no host")))?.to_owned();
        Ok(Self { document, base, host, credentials, client: http_client::client()? })
    }

    /// The same, where not every address may be reached.
    pub fn through(self, egress: &Egress) -> Result<Self, Fault> {
        Ok(Self { client: http_client::client_through(egress)?, ..self })
    }

    async fn carry_out(
        &self,
        plan: RequestPlan,
        effect: Effect,
        errand: &Errand,
    ) -> Result<Answer, Fault> {
        let response = http_client::send(&self.client, self.request(plan)?).await?;
        let status = response.status().as_u16();
        errand.note_status(status);
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or_default().to_owned();
        let body = http_client::read_body(response.into_body()).await?;
        let answer = openapi::answer(status, &media_type, &body);
        // A service that broke while it changed something says nothing about what it changed.
        if effect.is_write() && status >= 500 {
            let fault = Fault::new(Code::UpstreamError, answer.full_text());
            return Err(fault.with("status", status));
        }
        Ok(answer)
    }

    fn request(&self, plan: RequestPlan) -> Result<Request<Full<Bytes>>, Fault> {
        let has_body = plan.body.is_some();
        let mut request = Request::new(Full::new(Bytes::from(plan.body.unwrap_or_default())));
        *request.method_mut() =
            Method::from_bytes(plan.method.as_bytes()).map_err(Fault::internal)?;
        *request.uri_mut() = plan.url.parse().map_err(Fault::internal)?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let planned = plan.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        // Credentials last: no argument may replace them.
        for (name, value) in planned.chain(self.credentials.reveal()) {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(Fault::internal)?;
            headers.insert(name, HeaderValue::from_str(value).map_err(Fault::internal)?);
        }
        Ok(request)
    }
}

/// The caller's key, for services that know the header, unless the call already carries one.
fn key_header(plan: &RequestPlan, errand: &Errand) -> Option<(String, String)> {
    let key = errand.idempotency_key.as_ref().filter(|key| HeaderValue::from_str(key).is_ok())?;
    let given = |(name, _): &(String, String)| name.eq_ignore_ascii_case(KEY_HEADER);
    (!plan.headers.iter().any(given)).then(|| (KEY_HEADER.to_owned(), key.clone()))
}

#[async_trait]
impl Connector for OpenApi {
    fn protocol(&self) -> &'static str {
        "openapi"
    }

    fn endpoint_host(&self) -> Option<&str> {
        Some(&self.host)
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(self.document.operations().iter().map(openapi::Operation::definition).collect())
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let Some(operation) = self.document.operation(permit.tool()) else {
            return Err(Fault::new(Code::ToolNotFound, "no such operation").at(permit.tool()));
        };
        let mut plan = operation.plan(&self.base, permit.arguments())?;
        plan.headers.extend(key_header(&plan, errand));
        let trace = errand.traceparent.iter();
        plan.headers.extend(trace.map(|text| ("traceparent".to_owned(), text.clone())));
        self.carry_out(plan, permit.effect(), errand).await
    }
}
