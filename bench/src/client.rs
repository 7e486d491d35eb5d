//! One MCP client on one kept-alive connection. It trusts no answer: every one must carry the text
//! its call sent.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::Outcome;

/// The revision spoken on both sides of every target.
pub(crate) const REVISION: &str = "2025-11-25";
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// As much of a wrong answer as is shown.
const SHOWN_CHARS_MAX: usize = 400;

#[derive(Debug)]
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    headers: HeaderMap,
    worker: usize,
    last_id: u64,
}

impl Client {
    /// Connects and introduces itself.
    pub(crate) async fn connect(address: SocketAddr, worker: usize) -> Outcome<Self> {
        let mut client = Self::open(address, worker).await?;
        client.introduce().await?;
        Ok(client)
    }

    /// Connects and says nothing.
    pub(crate) async fn open(address: SocketAddr, worker: usize) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with the sender, and what breaks it breaks a call as well.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, headers: headers(address)?, worker, last_id: 0 })
    }

    /// One page of the tools, and how long it took to be here in full. The id is always the same,
    /// so the same page has the same bytes.
    pub(crate) async fn list(&mut self, cursor: Option<&str>) -> Outcome<(Duration, Bytes)> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        let request = self.request(&message)?;
        self.exchange(request).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Outcome<(Duration, Bytes)> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = path.parse()?;
        *request.headers_mut() = self.headers.clone();
        self.exchange(request).await
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Outcome<(Duration, Bytes)> {
        self.sender.ready().await?;
        let start = Instant::now();
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let took = start.elapsed();
        expect(&Response::from_parts(parts, bytes.clone()), StatusCode::OK, "a page")?;
        Ok((took, bytes))
    }

    /// Makes one call and returns how long its answer took to be here in full.
    pub(crate) async fn call(&mut self) -> Outcome<Duration> {
        self.last_id += 1;
        let (id, text) = (self.last_id, format!("call {} of worker {}", self.last_id, self.worker));
        let params = json!({"name": "echo", "arguments": {"text": text}});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let request = self.request(&message)?;
        self.sender.ready().await?;
        let start = Instant::now();
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let took = start.elapsed();
        if parts.status != StatusCode::OK || !is_echo(&bytes, id, &text) {
            let shown = String::from_utf8_lossy(&bytes);
            let shown = shown.chars().take(SHOWN_CHARS_MAX).collect::<String>();
            return Err(format!("`{text}` was answered with {}: {shown}", parts.status).into());
        }
        Ok(took)
    }

    async fn introduce(&mut self) -> Outcome<()> {
        let params = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": env!("CARGO_PKG_VERSION")},
        });
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = self.send(&hello).await?;
        expect(&response, StatusCode::OK, "initialize")?;
        if let Some(session) = response.headers().get(SESSION) {
            self.headers.insert(SESSION, session.clone());
        }
        self.headers.insert(VERSION, HeaderValue::from_static(REVISION));
        let method = "notifications/initialized";
        let response = self.send(&json!({"jsonrpc": "2.0", "method": method})).await?;
        expect(&response, StatusCode::ACCEPTED, method)
    }

    async fn send(&mut self, message: &Value) -> Outcome<Response<Bytes>> {
        let request = self.request(message)?;
        self.sender.ready().await?;
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        Ok(Response::from_parts(parts, body.collect().await?.to_bytes()))
    }

    fn request(&self, message: &Value) -> Outcome<Request<Full<Bytes>>> {
        let mut request = Request::new(Full::new(Bytes::from(serde_json::to_vec(message)?)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/mcp");
        *request.headers_mut() = self.headers.clone();
        Ok(request)
    }
}

fn headers(address: SocketAddr) -> Outcome<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, HeaderValue::from_str(&address.to_string())?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    Ok(headers)
}

fn expect(response: &Response<Bytes>, status: StatusCode, method: &str) -> Outcome<()> {
    if response.status() == status {
        return Ok(());
    }
    let body = String::from_utf8_lossy(response.body()).into_owned();
    let shown = body.chars().take(SHOWN_CHARS_MAX).collect::<String>();
    Err(format!("`{method}` was answered with {}: {shown}", response.status()).into())
}

fn is_echo(bytes: &[u8], id: u64, text: &str) -> bool {
    let Ok(answer) = serde_json::from_slice::<Value>(bytes) else { return false };
    let said = answer.pointer("/result/content/0/text").and_then(Value::as_str);
    let failed = answer.pointer("/result/isError").and_then(Value::as_bool);
    let answered = answer.get("id").and_then(Value::as_u64);
    answered == Some(id) && said == Some(text) && failed != Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_text_under_the_very_id_is_an_echo() {
        let check = |answer: &str, expected: bool| {
            assert_eq!(is_echo(answer.as_bytes(), 7, "hi"), expected, "{answer}");
        };
        let said = r#"{"id":7,"result":{"content":[{"type":"text","text":"hi"}]}}"#;
        check(said, true);
        check(&said.replace(":7", ":8"), false);
        check(&said.replace("hi", "ho"), false);
        check(r#"{"id":7,"result":{"content":[{"text":"hi"}],"isError":false}}"#, true);
        check(r#"{"id":7,"result":{"content":[{"text":"hi"}],"isError":true}}"#, false);
        check(r#"{"id":7,"error":{"code":1,"message":"hi"}}"#, false);
        check("hi", false);
    }
}
