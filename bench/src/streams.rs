//! A client that opens streams and then only listens, in a process of its own, so that its memory
//! is not counted with the gate's.

use std::io::{self, Write as _};
use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Outcome;
use crate::args::StreamsArgs;
use crate::client::{REVISION, SESSION};
use crate::memory;
use crate::roles::parent_gone;

/// So many callers share the streams, since one caller may only have a few.
pub(crate) const CALLERS: usize = 1_000;
/// Connections on their way at the same time.
const OPENING_MAX: usize = 64;
/// Files this process has besides its streams.
const OTHER_FILES: u64 = 100;
const STATELESS: &str = "2026-07-28";

/// How a stream is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// `subscriptions/listen`, since 2026-07-28.
    Listen,
    /// `GET /mcp` in a session.
    Get,
    /// `GET /sse`, as in 2024-11-05.
    Sse,
}

impl Over {
    pub(crate) const ALL: [Self; 3] = [Self::Listen, Self::Get, Self::Sse];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Listen => "listen",
            Self::Get => "get",
            Self::Sse => "sse",
        }
    }
}

/// What a caller shows.
pub(crate) fn token(caller: usize) -> String {
    format!("token-of-caller-{caller:04}")
}

/// Opens the streams, says so in one line, and holds them until whoever started it is gone.
pub(crate) async fn hold(args: StreamsArgs) -> Outcome<()> {
    memory::allow_files(u64::try_from(args.streams)? + OTHER_FILES)?;
    let (mut opening, mut open) = (JoinSet::new(), JoinSet::new());
    for index in 0..args.streams {
        if opening.len() >= OPENING_MAX {
            keep(opening.join_next().await, &mut open)?;
        }
        opening.spawn(begin(args.to, args.over, index % CALLERS));
    }
    while !opening.is_empty() {
        keep(opening.join_next().await, &mut open)?;
    }
    writeln!(io::stdout(), "{} streams are open", open.len())?;
    tokio::select! {
        gone = parent_gone() => gone,
        _ = open.join_next() => Err("a stream has ended".into()),
    }
}

type Opened = Option<Result<Outcome<Incoming>, tokio::task::JoinError>>;

fn keep(opened: Opened, open: &mut JoinSet<()>) -> Outcome<()> {
    let Some(opened) = opened else { return Ok(()) };
    let mut body = opened??;
    // What comes is read, or the gate would have to keep it.
    open.spawn(async move { while body.frame().await.is_some_and(|frame| frame.is_ok()) {} });
    Ok(())
}

/// One stream on a connection of its own.
async fn begin(to: SocketAddr, over: Over, caller: usize) -> Outcome<Incoming> {
    let stream = TcpStream::connect(to).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move { drop(connection.await) });
    let common = || {
        let builder = Request::builder().header(HOST, to.to_string());
        builder.header(AUTHORIZATION, format!("Bearer {}", token(caller)))
    };
    let request = match over {
        Over::Listen => listen(common())?,
        Over::Get => {
            let session = introduce(&mut sender, common(), common()).await?;
            let get = common().method(Method::GET).uri("/mcp").header(SESSION, session);
            let get = get.header("mcp-protocol-version", REVISION);
            get.header(ACCEPT, "text/event-stream").body(Full::default())?
        }
        Over::Sse => {
            let get = common().method(Method::GET).uri("/sse");
            get.header(ACCEPT, "text/event-stream").body(Full::default())?
        }
    };
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if response.status() != StatusCode::OK || kind != Some("text/event-stream") {
        return Err(refused(response).await);
    }
    Ok(response.into_body())
}

fn listen(request: Builder) -> Outcome<Request<Full<Bytes>>> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let method = "subscriptions/listen";
    let request = request.header("mcp-protocol-version", STATELESS).header("mcp-method", method);
    post(request, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// Opens a session and returns its id.
async fn introduce(
    sender: &mut SendRequest<Full<Bytes>>,
    first: Builder,
    second: Builder,
) -> Outcome<String> {
    let client = json!({"name": "bench", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let response = sender.send_request(post(first, &hello)?).await?;
    let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
    let Some(session) = session.map(str::to_owned) else { return Err(refused(response).await) };
    response.into_body().collect().await?;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let second = second.header(SESSION, &session).header("mcp-protocol-version", REVISION);
    sender.ready().await?;
    let response = sender.send_request(post(second, &initialized)?).await?;
    response.into_body().collect().await?;
    Ok(session)
}

fn post(request: Builder, message: &Value) -> Outcome<Request<Full<Bytes>>> {
    let request = request.method(Method::POST).uri("/mcp");
    let request = request.header(CONTENT_TYPE, "application/json");
    let request = request.header(ACCEPT, "application/json, text/event-stream");
    Ok(request.body(Full::new(Bytes::from(serde_json::to_vec(message)?)))?)
}

async fn refused(response: Response<Incoming>) -> Box<dyn std::error::Error + Send + Sync> {
    let status = response.status();
    let body = match response.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return error.into(),
    };
    format!("no stream but {status}: {}", String::from_utf8_lossy(&body).trim()).into()
}
