//! Servers over HTTP that speak in ways of their own: what is seen in the wild is understood.

#![expect(clippy::indexing_slicing, reason = "a test may fall over")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use auth::Credentials;
use model::Code;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;
use toolgate_testkit::{TestGateway, World};
use upstream::Connector;
use upstream::http::Http;
use upstream::mcp::Age;

use crate::code;

/// One request as the server sees it.
#[derive(Clone, Debug)]
struct Asked {
    head: String,
    message: Value,
}

impl Asked {
    fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    fn is_get(&self) -> bool {
        self.head.starts_with("GET")
    }

    fn result(&self, result: Value) -> Value {
        let mut answer = json!({"jsonrpc": "2.0", "id": self.message["id"]});
        answer["result"] = result;
        answer
    }

    fn error(&self, code: i64, data: &Value) -> Value {
        let error = json!({"code": code, "message": "no", "data": data});
        json!({"jsonrpc": "2.0", "id": self.message["id"], "error": error})
    }

    /// As a server before 2026-07-28 answers, with one tool.
    fn legacy(&self) -> Value {
        match self.method() {
            "initialize" => self.result(json!({
                "protocolVersion": self.message["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"},
            })),
            "tools/list" => {
                self.result(json!({"tools": [{"name": "peek", "inputSchema": {"type": "object"}}]}))
            }
            "tools/call" => self.result(json!({"content": [{"type": "text", "text": "seen"}]})),
            _ => self.error(-32601, &Value::Null),
        }
    }
}

struct Odd {
    url: String,
    seen: Arc<Mutex<Vec<Asked>>>,
    _serving: AbortOnDropHandle<()>,
}

impl Odd {
    /// A server that answers each request with these bytes, and then closes the connection.
    async fn start(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (answer, seen) = (Arc::new(answer), Arc::<Mutex<Vec<Asked>>>::default());
        let noted = Arc::clone(&seen);
        let serving = AbortOnDropHandle::new(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                tokio::spawn(async move {
                    let Some((mut stream, asked)) = read(stream).await else { return };
                    let bytes = answer(&asked);
                    noted.lock().unwrap().push(asked);
                    stream.write_all(&bytes).await.unwrap();
                });
            }
        }));
        Self { url, seen, _serving: serving }
    }

    fn methods(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|asked| !asked.is_get()).map(|asked| asked.method().to_owned()).collect()
    }

    fn http(&self) -> Http {
        Http::new(&self.url, &Credentials::default(), Age::Auto).unwrap()
    }

    async fn world(&self) -> World {
        TestGateway::new().upstream("odd", self.http()).start().await
    }
}

async fn read(stream: TcpStream) -> Option<(BufReader<TcpStream>, Asked)> {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((stream, Asked { head, message: serde_json::from_slice(&body).unwrap_or_default() }))
}

fn say(status: u16, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

fn json_or_202(asked: &Asked, answer: &Value) -> Vec<u8> {
    match (asked.is_get(), asked.message.get("id")) {
        (true, _) => say(405, "text/plain", ""),
        (_, None) => say(202, "text/plain", ""),
        _ => say(200, "application/json", &answer.to_string()),
    }
}

/// Lines of JSON are taken in place of a stream of events, whatever they are called.
#[tokio::test]
async fn lines_of_json_are_understood() {
    for kind in
        ["application/x-ndjson", "application/jsonl", "application/json", "text/event-stream"]
    {
        let odd = Odd::start(move |asked| {
            if asked.method() != "tools/call" {
                return json_or_202(asked, &asked.legacy());
            }
            let news = json!({"jsonrpc": "2.0", "method": "notifications/message",
                              "params": {"level": "info", "data": "working"}});
            say(200, kind, &format!("{news}\n{}", asked.legacy()))
        })
        .await;
        let done = odd.world().await.call("peek", json!({})).await;
        assert_eq!(code(&done), None, "{kind}: {done:?}");
        assert_eq!(done.cleared.get().full_text(), "seen", "{kind}");
    }
}

/// A server that answers whatever it is asked is not taken for a new one.
#[tokio::test]
async fn an_empty_answer_to_discover_is_that_of_an_old_server() {
    let odd = Odd::start(|asked| {
        let answer = match asked.method() {
            "server/discover" => asked.result(json!({})),
            _ => asked.legacy(),
        };
        json_or_202(asked, &answer)
    })
    .await;
    assert_eq!(odd.http().list().await.unwrap().len(), 1);
    let wanted = ["server/discover", "initialize", "notifications/initialized", "tools/list"];
    assert_eq!(odd.methods(), wanted);
}

/// A server that says which revisions it takes is asked in the newest of those.
#[tokio::test]
async fn a_server_is_taken_at_its_word_about_revisions() {
    let odd = Odd::start(|asked| match asked.method() {
        "server/discover" => {
            let supported = json!({"supported": ["2025-03-26", "2025-06-18"], "requested": "x"});
            say(400, "application/json", &asked.error(-32022, &supported).to_string())
        }
        _ => json_or_202(asked, &asked.legacy()),
    })
    .await;
    let http = odd.http();
    assert_eq!(http.list().await.unwrap().len(), 1);
    assert_eq!(http.speaks().as_deref(), Some("2025-06-18"));
}

/// CO-21 (negotiation): where nothing can be posted, the stream of 2024-11-05 is looked for.
#[tokio::test]
async fn an_address_that_takes_no_messages_is_asked_for_its_stream() {
    let (events, stream) = tokio::sync::mpsc::unbounded_channel::<String>();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    let stream = Arc::new(tokio::sync::Mutex::new(stream));
    let _serving = AbortOnDropHandle::new(tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (events, stream) = (events.clone(), Arc::clone(&stream));
            tokio::spawn(async move {
                let Some((mut socket, asked)) = read(socket).await else { return };
                if asked.is_get() {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /messages\n\n";
                    socket.write_all(head.as_bytes()).await.unwrap();
                    while let Some(event) = stream.lock().await.recv().await {
                        socket.write_all(format!("data: {event}\n\n").as_bytes()).await.unwrap();
                    }
                } else if asked.head.starts_with("POST /messages") {
                    if asked.message.get("id").is_some() {
                        events.send(asked.legacy().to_string()).unwrap();
                    }
                    socket.write_all(&say(202, "text/plain", "")).await.unwrap();
                } else {
                    socket.write_all(&say(405, "text/plain", "")).await.unwrap();
                }
            });
        }
    }));
    let http = Http::new(&url, &Credentials::default(), Age::Auto).unwrap();
    let world = TestGateway::new().upstream("old", http).start().await;
    assert_eq!(code(&world.call("peek", json!({})).await), None);
}

/// A stream that breaks off is asked for where it goes on, once the server wants to be.
#[tokio::test]
async fn a_broken_stream_is_gone_on_with() {
    let pending = Arc::new(Mutex::new(None));
    let left = Arc::clone(&pending);
    let odd = Odd::start(move |asked| {
        let mut left = left.lock().unwrap();
        if asked.method() == "tools/call" {
            *left = Some(asked.legacy());
            return say(200, "text/event-stream", "id: 41\nretry: 60\ndata:\n\n");
        }
        match left.take().filter(|_| asked.head.to_lowercase().contains("last-event-id: 41")) {
            Some(answer) => say(200, "text/event-stream", &format!("id: 42\ndata: {answer}\n\n")),
            None => json_or_202(asked, &asked.legacy()),
        }
    })
    .await;
    let done = odd.world().await.call("peek", json!({})).await;
    assert_eq!(code(&done), None, "{done:?}");
    assert_eq!(done.cleared.get().full_text(), "seen");
}

/// Who does not let us in is not asked in other ways: it would refuse those, too.
#[tokio::test]
async fn a_refusal_of_credentials_is_final_whatever_its_body_says() {
    let odd = Odd::start(|asked| {
        say(401, "application/json", &asked.error(-32000, &Value::Null).to_string())
    })
    .await;
    let fault = odd.http().list().await.unwrap_err();
    assert_eq!(fault.code, Code::AuthFailed, "{fault}");
    assert!(fault.message.contains("`headers`"), "{fault}");
    assert_eq!(odd.methods(), ["server/discover"]);
}

/// A server that has forgotten a session has forgotten what was followed in it.
#[tokio::test]
async fn a_session_opened_again_is_asked_for_the_same_news() {
    let forgotten = Arc::new(AtomicBool::new(false));
    let forgets = Arc::clone(&forgotten);
    let odd = Odd::start(move |asked| {
        let answer = match asked.method() {
            "server/discover" => asked.error(-32601, &Value::Null),
            "initialize" => {
                let mut answer = asked.legacy();
                answer["result"]["capabilities"]["resources"] = json!({"subscribe": true});
                answer
            }
            _ if !asked.is_get() && forgets.swap(false, Ordering::SeqCst) => {
                return say(404, "text/plain", "");
            }
            "resources/list" => {
                asked.result(json!({"resources": [{"uri": "test://a", "name": "a"}]}))
            }
            "resources/templates/list" => asked.result(json!({"resourceTemplates": []})),
            "resources/subscribe" => asked.result(json!({})),
            _ => asked.legacy(),
        };
        let said = String::from_utf8(json_or_202(asked, &answer)).unwrap();
        said.replacen("\r\n", "\r\nMcp-Session-Id: s\r\n", 1).into_bytes()
    })
    .await;
    let world = odd.world().await;
    world.gateway.follow(&World::ann(), "test://a", true).await.unwrap();
    forgotten.store(true, Ordering::SeqCst);
    assert_eq!(code(&world.call("peek", json!({})).await), None);
    let count = |method: &str| odd.methods().iter().filter(|one| *one == method).count();
    assert_eq!((count("initialize"), count("resources/subscribe")), (2, 2));
    assert_eq!(count("server/discover"), 1, "how old it is, is known");
}

/// An address that points elsewhere is not followed there, with or without credentials.
#[tokio::test]
async fn a_redirect_leads_nowhere() {
    let elsewhere = Odd::start(|asked| json_or_202(asked, &asked.legacy())).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("Location: {}", elsewhere.url);
        let odd = Odd::start(move |_| {
            let said = String::from_utf8(say(status, "text/plain", "")).unwrap();
            said.replacen("\r\n", &format!("\r\n{location}\r\n"), 1).into_bytes()
        })
        .await;
        let fault = odd.http().list().await.unwrap_err();
        assert!(fault.message.contains(&status.to_string()), "{fault}");
    }
    assert!(elsewhere.seen.lock().unwrap().is_empty());
}
