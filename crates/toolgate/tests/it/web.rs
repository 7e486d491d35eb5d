//! Plain HTTP as a client sends it, with event streams read as they arrive.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

pub(crate) type Incoming = hyper::body::Incoming;

/// An answer read to its end.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// Connections that are used again.
pub(crate) type Connections = Client<HttpConnector, Full<Bytes>>;

pub(crate) fn connections() -> Connections {
    Client::builder(TokioExecutor::new()).build_http()
}

/// Sends one request and returns as soon as the head of the answer is there.
pub(crate) async fn send(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: String,
) -> Response<Incoming> {
    send_over(&connections(), method, url, headers, body).await
}

pub(crate) async fn send_over(
    connections: &Connections,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: String,
) -> Response<Incoming> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    connections.request(request.body(Full::new(body.into())).unwrap()).await.unwrap()
}

pub(crate) async fn read(response: Response<Incoming>) -> Page {
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    Page { status: head.status, headers: head.headers, body }
}

pub(crate) async fn post(url: &str, headers: &[(&str, &str)], message: &Value) -> Page {
    let common =
        [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    read(send(Method::POST, url, &[&common, headers].concat(), message.to_string()).await).await
}

/// The events of a stream, one at a time.
pub(crate) struct Events {
    body: Incoming,
    text: String,
}

impl Events {
    pub(crate) const fn of(body: Incoming) -> Self {
        Self { body, text: String::new() }
    }

    /// The next event as its type and data; none at the end. Comments are passed over.
    pub(crate) async fn next(&mut self) -> Option<(String, String)> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let (read, rest) = (event_of(event), rest.to_owned());
                self.text = rest;
                if read.is_some() {
                    return read;
                }
            }
            let frame = self.body.frame().await?.ok()?;
            self.text.push_str(std::str::from_utf8(frame.data_ref()?).unwrap());
        }
    }
}

fn event_of(text: &str) -> Option<(String, String)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let data = field("data:")?;
    Some((field("event:").unwrap_or("message").to_owned(), data.to_owned()))
}
