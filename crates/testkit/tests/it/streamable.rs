//! What Streamable HTTP must keep, point by point (CO-159, CO-221): one endpoint, origins, who is calling,
//! the revision in its header, timeouts, whose a session is, and that nothing is resumed.

use std::net::SocketAddr;
use std::time::Duration;

use auth::{Doorkeeper, Key};
use gateway::Mode;
use model::{Answer, Caller, Principal, Secret};
use serde_json::json;
use server::{Guard, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolgate_testkit::{Recorder, Script, TestGateway, World, tool};
use upstream::Progress;

use crate::mcp;

const ANN: &str = "authorization: Bearer ann-0123456789\r\n";
const BOB: &str = "authorization: Bearer bob-0123456789\r\n";
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

struct Gate {
    to: SocketAddr,
    _world: World,
    _stop: DropGuard,
}

async fn gate() -> Gate {
    let step = Progress { progress: 1.0, total: None, message: None, rest: serde_json::Map::new() };
    let report = Script::Report(vec![step], Answer::text("done"));
    let recorder = Recorder::new()
        .tool(tool("peek", json!({})), Script::Echo)
        .tool(tool("report", json!({})), report);
    let world = TestGateway::new().upstream("shelf", recorder);
    let world = world.settings(|settings| settings.mode = Mode::Native).start().await;
    let key = |name: &str| Key {
        token: Secret::new(format!("{name}-0123456789")),
        approver: false,
        caller: Caller::new(Principal::user(name)),
    };
    let doorkeeper = Doorkeeper::new(vec![key("ann"), key("bob")], Vec::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let guard = Guard::new(to, &[], &[]);
    let serving = server::serve(
        mcp(&world, doorkeeper),
        Transport::Streamable,
        listener,
        guard,
        stop.clone(),
    );
    tokio::spawn(serving);
    Gate { to, _world: world, _stop: stop.drop_guard() }
}

impl Gate {
    /// A request with these lines in its head, written whole; all that comes back.
    async fn send(&self, first: &str, lines: &str, body: &str) -> String {
        let host =
            if lines.contains("host:") { String::new() } else { format!("host: {}\r\n", self.to) };
        let request = format!(
            "{first} HTTP/1.1\r\n{host}connection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{lines}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(self.to).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        all(&mut stream).await
    }

    /// The session of whoever these lines stand for.
    async fn begin(&self, lines: &str) -> String {
        self.begin_in(lines, "2025-11-25").await
    }

    async fn begin_in(&self, lines: &str, revision: &str) -> String {
        let info = json!({"name": "c", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let said = self.send("POST /mcp", lines, &message.to_string()).await;
        let id = said.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap().to_owned()
    }
}

async fn all(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await.unwrap();
    String::from_utf8(heard).unwrap()
}

fn status(said: &str) -> u16 {
    said.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default()
}

/// CO-159: endpoint, origin, identity, header, session, resumption.
#[tokio::test]
async fn streamable_http_keeps_its_rules() {
    let gate = gate().await;
    let session = format!("mcp-session-id: {}\r\n", gate.begin(ANN).await);
    let check = async |what: &str, first: &str, lines: String, wanted: u16| {
        let body = if first.starts_with("POST") { LIST } else { "" };
        let said = gate.send(first, &lines, body).await;
        assert_eq!(status(&said), wanted, "{what}: {said}");
    };
    check("the endpoint", "POST /mcp", format!("{ANN}{session}"), 200).await;
    for elsewhere in ["POST /", "POST /mcp/", "POST /mcp/mcp", "POST /MCP"] {
        check("no other endpoint", elsewhere, format!("{ANN}{session}"), 404).await;
    }
    check("no other method", "PUT /mcp", format!("{ANN}{session}"), 405).await;
    let own = format!("{ANN}{session}origin: http://{}\r\n", gate.to);
    check("its own pages", "POST /mcp", own, 200).await;
    let evil = "origin: https://evil.example\r\n";
    check("other pages", "POST /mcp", format!("{ANN}{session}{evil}"), 403).await;
    check("no page", "POST /mcp", format!("{ANN}{session}origin: null\r\n"), 403).await;
    check("another name", "POST /mcp", format!("{ANN}host: evil.example\r\n"), 421).await;
    check("nobody", "POST /mcp", session.clone(), 401).await;
    let wrong = "authorization: Bearer wrong\r\n";
    check("a wrong token", "POST /mcp", format!("{wrong}{session}"), 401).await;
    for (version, wanted) in [("2025-11-25", 200), ("2025-06-18", 200), ("1999-01-01", 400)] {
        let version = format!("mcp-protocol-version: {version}\r\n");
        check("revision", "POST /mcp", format!("{ANN}{session}{version}"), wanted).await;
        check("revision, no session", "POST /mcp", format!("{ANN}{version}"), wanted).await;
    }
    for (version, wanted) in [("1999-01-01", 400), ("2026-07-28", 405)] {
        for method in ["GET /mcp", "DELETE /mcp"] {
            let version = format!("mcp-protocol-version: {version}\r\n");
            check("revision", method, format!("{ANN}{session}{version}"), wanted).await;
        }
    }
    for method in ["POST /mcp", "GET /mcp", "DELETE /mcp"] {
        check("another's session", method, format!("{BOB}{session}"), 404).await;
    }
    let version = "mcp-protocol-version: 2025-11-25\r\n";
    check("its own end", "DELETE /mcp", format!("{ANN}{session}{version}"), 204).await;
    let news = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for (version, wanted) in [("2025-11-25", 404), ("2026-07-28", 202)] {
        let lines = format!("{ANN}mcp-session-id: nobody's\r\nmcp-protocol-version: {version}\r\n");
        let said = gate.send("POST /mcp", &lines, news).await;
        assert_eq!(status(&said), wanted, "a notification of {version}: {said}");
    }
    check("an ended session", "POST /mcp", format!("{ANN}{session}"), 404).await;
}

/// CO-159: an answer that streams has no event ids, and one that is asked for again by the last of
/// them is a new stream: what was lost is not kept.
#[tokio::test]
async fn nothing_is_resumed() {
    let gate = gate().await;
    let session = format!("mcp-session-id: {}\r\n", gate.begin(ANN).await);
    let mut stream = TcpStream::connect(gate.to).await.unwrap();
    let request = format!(
        "GET /mcp HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\nlast-event-id: 7\r\n{ANN}{session}\r\n",
        gate.to
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = vec![0; 4096];
    let count = stream.read(&mut heard).await.unwrap();
    let heard = String::from_utf8_lossy(heard.get(..count).unwrap()).into_owned();
    assert_eq!(status(&heard), 200, "{heard}");
    assert!(heard.contains("text/event-stream"), "{heard}");
    let params = json!({"name": "report", "arguments": {}, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let head = format!("{ANN}{session}last-event-id: 7\r\n");
    let said = gate.send("POST /mcp", &head, &call.to_string()).await;
    assert_eq!(said.matches("\ndata:").count(), 2, "{said}");
    assert!(!said.contains("\nid:"), "{said}");
}

/// One answer is one JSON text; only what says more than its answer is a stream, and no proxy may hold
/// that back.
#[tokio::test]
async fn only_what_streams_is_a_stream() {
    let gate = gate().await;
    let session = format!("mcp-session-id: {}\r\n", gate.begin(ANN).await);
    let check = async |name: &str, streams: bool| {
        let params = json!({"name": name, "arguments": {}, "_meta": {"progressToken": 1}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let said = gate.send("POST /mcp", &format!("{ANN}{session}"), &call.to_string()).await;
        let kind = if streams { "text/event-stream" } else { "application/json" };
        assert!(said.contains(&format!("content-type: {kind}\r\n")), "{said}");
        assert_eq!(said.contains("x-accel-buffering: no\r\n"), streams, "{said}");
        assert!(said.contains(r#""id":1,"result""#), "{said}");
        assert!(!said.contains("\nid:"), "{said}");
    };
    check("peek", false).await;
    check("report", true).await;
}

/// A stream on which nothing is said is kept open by comments.
#[tokio::test]
async fn silence_is_filled_with_comments() {
    let gate = gate().await;
    let session = format!("mcp-session-id: {}\r\n", gate.begin(ANN).await);
    let mut stream = TcpStream::connect(gate.to).await.unwrap();
    let request = format!(
        "GET /mcp HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\n{ANN}{session}\r\n",
        gate.to
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = String::new();
    let mut buffer = vec![0; 4096];
    while !heard.contains("\r\n\r\n") {
        let count = stream.read(&mut buffer).await.unwrap();
        heard += &String::from_utf8_lossy(buffer.get(..count).unwrap());
    }
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    while !heard.contains(": keep-alive\n\n") {
        let count = stream.read(&mut buffer).await.unwrap();
        heard += &String::from_utf8_lossy(buffer.get(..count).unwrap());
    }
    assert!(began.elapsed() <= model::limits::KEEP_ALIVE * 2, "{:?}", began.elapsed());
}

/// 2025-03-26 has batches, and no other revision.
#[tokio::test]
async fn a_batch_is_answered_where_its_revision_has_them() {
    let gate = gate().await;
    let ping = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let check =
        async |revision: &str, batch: Vec<serde_json::Value>, wanted: Result<usize, u16>| {
            let session = format!("mcp-session-id: {}\r\n", gate.begin_in(ANN, revision).await);
            let batch = json!(batch).to_string();
            let said = gate.send("POST /mcp", &format!("{ANN}{session}"), &batch).await;
            match wanted {
                Err(wanted) => assert_eq!(status(&said), wanted, "{revision}: {said}"),
                Ok(answers) => {
                    let body = said.split_once("\r\n\r\n").unwrap().1;
                    let body: Vec<serde_json::Value> = serde_json::from_str(body).unwrap();
                    assert_eq!(body.len(), answers, "{revision}: {said}");
                    assert!(body.iter().all(|answer| answer["result"] == json!({})), "{said}");
                }
            }
        };
    let two = || vec![ping(1), told.clone(), ping(2)];
    check("2025-03-26", two(), Ok(2)).await;
    check("2025-03-26", vec![ping(1)], Ok(1)).await;
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        check(revision, two(), Err(400)).await;
    }
    let most = model::limits::BATCH_MAX;
    check("2025-03-26", (0..most).map(ping).collect(), Ok(most)).await;
    check("2025-03-26", (0..=most).map(ping).collect(), Err(400)).await;
    check("2025-03-26", vec![told.clone(), told.clone()], Err(202)).await;
}

/// CO-159: who begins a request and does not end it is not waited for.
#[tokio::test]
async fn an_unfinished_request_is_given_up_on() {
    let gate = gate().await;
    let check = async |what: &str, sent: String, bound: Duration, wanted: u16| {
        let mut stream = TcpStream::connect(gate.to).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        // From here on time passes as soon as nobody has anything to do.
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let said = all(&mut stream).await;
        let lasted = began.elapsed();
        tokio::time::resume();
        // Time stands still while anybody works.
        assert!(lasted < bound + Duration::from_secs(1), "{what}: {lasted:?}");
        assert_eq!(status(&said), wanted, "{what}: {said}");
    };
    let to = gate.to;
    let half = format!("POST /mcp HTTP/1.1\r\nhost: {to}\r\n");
    check("half a head", half, model::limits::HEADER_TIMEOUT, 0).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {to}\r\n{ANN}content-type: application/json\r\nconnection: close\r\ncontent-length: 99\r\n\r\n{{"
    );
    check("half a body", head, model::limits::BODY_TIMEOUT, 408).await;
}
