//! A bucket over HTTP, with the TLS the rest of the gate has.

use std::time::Duration;

use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use hyper_util::rt::TokioExecutor;
use object_store::aws::AmazonS3Builder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ClientOptions, ObjectStore, RetryConfig};

use super::Bucket;
use crate::limits::{BUCKET_RETRIES_MAX, BUCKET_RETRY_WAIT, BUCKET_WAIT};
use crate::store::OpenError;

pub(super) fn open(bucket: &Bucket) -> Result<Box<dyn ObjectStore>, OpenError> {
    let wrong = |cause: String| OpenError::Bucket { url: bucket.url.clone(), cause };
    let (name, prefix) =
        address(&bucket.url).ok_or_else(|| wrong("it is not `s3://bucket/prefix`".to_owned()))?;
    let retry = RetryConfig {
        max_retries: BUCKET_RETRIES_MAX,
        retry_timeout: BUCKET_RETRY_WAIT,
        ..RetryConfig::default()
    };
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(name)
        .with_retry(retry)
        // One at a time: not every service that speaks S3 knows the other way.
        .with_disable_bulk_delete(true)
        .with_http_connector(Connector);
    if let Some(region) = &bucket.region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = &bucket.endpoint {
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
    }
    if let (Some(id), Some(key)) = (&bucket.access_key_id, &bucket.secret_access_key) {
        builder = builder.with_access_key_id(id.reveal()).with_secret_access_key(key.reveal());
    }
    let store = builder.build().map_err(|error| wrong(error.to_string()))?;
    Ok(match prefix {
        "" => Box::new(store),
        prefix => Box::new(PrefixStore::new(store, Path::from(prefix))),
    })
}

fn address(url: &str) -> Option<(&str, &str)> {
    let (name, prefix) =
        url.strip_prefix("s3://").map(|rest| rest.split_once('/').unwrap_or((rest, "")))?;
    let named = !name.is_empty() && !name.contains(['@', ':', '?', '#']);
    named.then(|| (name, prefix.trim_matches('/')))
}

#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| object_store::Error::Generic { store: "S3", source: error.into() })?
            .with_webpki_roots()
            .with_no_client_auth();
        let mut tcp = Tcp::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        // Plain HTTP is refused by the builder unless the endpoint asks for it.
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(https);
        Ok(HttpClient::new(Service { client, wait: BUCKET_WAIT }))
    }
}

#[derive(Debug)]
struct Service {
    client: hyper_util::client::legacy::Client<HttpsConnector<Tcp>, HttpRequestBody>,
    wait: Duration,
}

#[async_trait::async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = tokio::time::timeout(self.wait, self.client.request(request)).await;
        let answer = answer
            .map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?
            .map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?;
        let body = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        Ok(answer.map(|incoming| {
            HttpResponseBody::new(http_body_util::BodyExt::map_err(incoming, body))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_bucket_and_a_prefix() {
        let check = |url: &str, expected: Option<(&str, &str)>| {
            assert_eq!(address(url), expected, "{url}");
        };
        check("s3://bucket", Some(("bucket", "")));
        check("s3://bucket/", Some(("bucket", "")));
        check("s3://bucket/a/b/", Some(("bucket", "a/b")));
        check("s3://", None);
        check("s3://key:secret@bucket", None);
        check("https://bucket", None);
    }
}
