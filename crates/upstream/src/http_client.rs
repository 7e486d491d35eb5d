//! One pooled HTTP client for all upstreams: no redirects, no cookies, bounded bodies.

use std::io::ErrorKind;
use std::pin::Pin;

use auth::Credentials;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use model::{Code, Fault};
use protocol::pieces::Pieces;

use crate::egress::{Egress, Refused, Resolver};
use crate::limits;

/// Connections, and which addresses they may lead to.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    pool: Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>,
    egress: Egress,
}

pub(crate) fn client() -> Result<HttpClient, Fault> {
    client_through(&Egress::Open)
}

/// A client that reaches only what it may.
pub(crate) fn client_through(egress: &Egress) -> Result<HttpClient, Fault> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Fault::internal)?
        .with_webpki_roots()
        .with_no_client_auth();
    let mut tcp = HttpConnector::new_with_resolver(Resolver::new(egress.clone()));
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    let pool = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(limits::IDLE_CONNECTIONS)
        .http1_max_buf_size(limits::READ_BYTES)
        .build(https);
    Ok(HttpClient { pool, egress: egress.clone() })
}

/// Credentials as headers that no log prints.
pub(crate) fn headers(credentials: &Credentials) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    for (name, value) in credentials.reveal() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(Fault::internal)?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|error| Fault::internal(format!("header `{name}` cannot be sent: {error}")))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Sends one request and gives the head of the answer; the body is still to be read.
pub(crate) async fn send(
    client: &HttpClient,
    request: Request<Full<Bytes>>,
) -> Result<http::Response<Incoming>, Fault> {
    if client.egress != Egress::Open {
        let host = request.uri().host().unwrap_or_default();
        client.egress.check_literal(host).map_err(|refused| denied(&refused))?;
    }
    client.pool.request(request).await.map_err(|error| {
        if let Some(refused) = refusal(&error) {
            return denied(refused);
        }
        let log = format!("{error}: {:?}", std::error::Error::source(&error));
        let message = format!("the upstream cannot be reached{}", reason(&error));
        Fault::new(Code::UpstreamUnavailable, message).logging(log)
    })
}

/// What is to be looked at first, where that is clear.
fn reason(error: &(dyn std::error::Error + 'static)) -> &'static str {
    let causes = || std::iter::successors(Some(error), |error| error.source());
    // That a name is unknown, the system says in words alone.
    if causes().any(|cause| cause.to_string().starts_with("dns error")) {
        return ": nobody knows its name";
    }
    let io = causes().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    match io.map(kind) {
        Some(ErrorKind::ConnectionRefused) => ": the connection was refused; is it running?",
        Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof) => {
            ": it closed the connection"
        }
        Some(ErrorKind::InvalidData) => ": its certificate or its TLS is not as it should be",
        Some(ErrorKind::TimedOut) => ": the connection took too long",
        Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => {
            ": there is no way to its address"
        }
        _ => "",
    }
}

/// The kind of the innermost error: TLS wraps those of its connection.
fn kind(error: &std::io::Error) -> ErrorKind {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<std::io::Error>());
    inner.map_or_else(|| error.kind(), kind)
}

/// What the resolver would not give, if that is why nothing was connected.
fn refusal<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e Refused> {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.find_map(|cause| cause.downcast_ref::<Refused>())
}

fn denied(refused: &Refused) -> Fault {
    Fault::new(Code::EgressDenied, refused.to_string())
}

/// Reads a whole body, up to the bound on messages.
pub(crate) async fn read_body(mut body: Incoming) -> Result<Vec<u8>, Fault> {
    let mut bytes = Pieces::default();
    while let Some(chunk) = next_chunk(&mut body).await? {
        if bytes.len() + chunk.len() > limits::MESSAGE_BYTES_MAX {
            return Err(Fault::new(
                Code::UpstreamError,
                "the upstream's answer is over the size limit",
            ));
        }
        bytes.push(&chunk);
    }
    Ok(bytes.take())
}

/// The next piece of a body; none at its end.
pub(crate) async fn next_chunk(body: &mut Incoming) -> Result<Option<Bytes>, Fault> {
    loop {
        match Pin::new(&mut *body).frame().await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => {
                return Err(Fault::new(
                    Code::UpstreamUnavailable,
                    "the upstream broke off its answer",
                )
                .logging(error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    async fn refused_by(url: String) -> String {
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = url.parse().unwrap();
        send(&client().unwrap(), request).await.unwrap_err().message
    }

    /// One that says this to whoever comes.
    async fn saying(words: &'static [u8]) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = [0; 16];
            stream.read_exact(&mut heard).await.unwrap();
            stream.write_all(words).await.unwrap();
        });
        address
    }

    #[tokio::test]
    async fn who_cannot_be_reached_is_said_to_be_so_with_the_reason() {
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let told = refused_by(format!("http://{nobody}/mcp")).await;
        assert!(told.contains("the connection was refused"), "{told}");
        let plain = saying(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        let told = refused_by(format!("https://{plain}/mcp")).await;
        assert!(told.contains("TLS"), "{told}");
    }
}
