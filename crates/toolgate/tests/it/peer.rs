//! A small MCP client of our own that speaks over any transport, so that one suite fits all.

use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::gate::{Gate, Home, PATIENCE};
use crate::web::{self, Events};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Stdio,
    Http,
    Sse,
}

/// A client and the gate it talks to.
pub(crate) struct Peer {
    pub(crate) home: Home,
    pub(crate) gate: Gate,
    /// What the gate said that answered nothing.
    pub(crate) news: Vec<Value>,
    line: Line,
    heard: mpsc::UnboundedReceiver<Value>,
    last_id: u64,
}

enum Line {
    Pipe(ChildStdin),
    Web(Arc<Web>),
}

/// What a client over HTTP must remember and send along.
struct Web {
    url: String,
    session: Mutex<Option<String>>,
    revision: Mutex<Option<String>>,
    heard: mpsc::UnboundedSender<Value>,
}

impl Peer {
    /// Starts a gate and connects to it. Nothing is said yet.
    pub(crate) async fn start(over: Over, flags: &[&str]) -> Self {
        Self::start_in(Home::new(), over, flags).await
    }

    pub(crate) async fn start_in(home: Home, over: Over, flags: &[&str]) -> Self {
        let (say, heard) = mpsc::unbounded_channel();
        let (gate, line) = match over {
            Over::Stdio => {
                let mut gate = home.start(&[&["serve"], flags].concat());
                tokio::spawn(listen(gate.stdout(), say));
                let stdin = gate.stdin();
                (gate, Line::Pipe(stdin))
            }
            Over::Http => {
                let (gate, said) = home.listen(&[&["up", "--port", "0"], flags].concat()).await;
                (gate, Line::Web(Web::at(said["url"].as_str().unwrap(), say)))
            }
            Over::Sse => {
                let up = ["up", "--transport", "sse", "--port", "0"];
                let (gate, said) = home.listen(&[&up, flags].concat()).await;
                (gate, Line::Web(subscribe(said["url"].as_str().unwrap(), say).await))
            }
        };
        Self { home, gate, news: Vec::new(), line, heard, last_id: 0 }
    }

    /// Introduces the client, as every revision but the newest wants it.
    pub(crate) async fn initialize(&mut self, revision: &str) -> Value {
        let client = json!({"name": "suite", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", params).await["result"].clone();
        if let Line::Web(web) = &self.line {
            let agreed = answer["protocolVersion"].as_str().unwrap().to_owned();
            *web.revision.lock().unwrap() = Some(agreed);
        }
        self.tell("notifications/initialized", json!({})).await;
        answer
    }

    /// Sends a request and waits for its answer; what comes before it is kept as news.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer_to(id).await
    }

    /// Sends a request and does not wait.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&message).await;
        id
    }

    pub(crate) async fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
            self.news.push(message);
        }
    }

    /// Sends a notification and waits until the gate has it.
    pub(crate) async fn tell(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        match &mut self.line {
            Line::Pipe(pipe) => write(pipe, &message.to_string()).await,
            Line::Web(web) => {
                web.post(&message).await;
            }
        }
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// The next message of the gate, whatever it is.
    pub(crate) async fn next(&mut self) -> Value {
        let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await;
        let message = heard.expect("the gate says nothing").expect("the gate has gone");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Sends a message as it was recorded; its answer, if it is one that gets one.
    pub(crate) async fn say(&mut self, message: &Value) -> Option<Value> {
        let Some(id) = message.get("id") else {
            match &mut self.line {
                Line::Pipe(pipe) => write(pipe, &message.to_string()).await,
                Line::Web(web) => web.post(message).await,
            }
            return None;
        };
        self.send(message).await;
        let mut answer = self.next().await;
        while answer.get("id") != Some(id) {
            self.news.push(answer);
            answer = self.next().await;
        }
        if let (Line::Web(web), Some(agreed)) =
            (&self.line, answer["result"].get("protocolVersion"))
        {
            *web.revision.lock().unwrap() = agreed.as_str().map(str::to_owned);
        }
        Some(answer)
    }

    /// Where the gate listens, if it does.
    pub(crate) fn url(&self) -> Option<String> {
        match &self.line {
            Line::Pipe(_) => None,
            Line::Web(web) => Some(web.url.clone()),
        }
    }

    /// Bytes as they are, for what no client would send. Only over stdio.
    pub(crate) async fn raw(&mut self, line: &str) {
        let Line::Pipe(pipe) = &mut self.line else { panic!("no pipe to write to") };
        write(pipe, line).await;
    }

    /// Sends a request whose connection can be closed before its answer. Only over HTTP.
    pub(crate) fn connection(&self, message: Value) -> JoinHandle<()> {
        let Line::Web(web) = &self.line else { panic!("no connection to close") };
        let web = Arc::clone(web);
        tokio::spawn(async move { web.post(&message).await })
    }

    /// Ends the connection, as a client does that has finished.
    pub(crate) fn leave(self) -> (Home, Gate) {
        (self.home, self.gate)
    }

    async fn send(&mut self, message: &Value) {
        match &mut self.line {
            Line::Pipe(pipe) => write(pipe, &message.to_string()).await,
            Line::Web(web) => {
                let (web, message) = (Arc::clone(web), message.clone());
                tokio::spawn(async move { web.post(&message).await });
            }
        }
    }
}

impl Web {
    fn at(url: &str, heard: mpsc::UnboundedSender<Value>) -> Arc<Self> {
        let (session, revision) = (Mutex::default(), Mutex::default());
        Arc::new(Self { url: url.to_owned(), session, revision, heard })
    }

    /// Sends one message and passes on all that comes back.
    async fn post(&self, message: &Value) {
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ];
        headers
            .extend(self.session.lock().unwrap().clone().map(|id| ("mcp-session-id".into(), id)));
        headers.extend(revision_headers(message, self.revision.lock().unwrap().clone()));
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let response = web::send(Method::POST, &self.url, &headers, message.to_string()).await;
        if let Some(id) = response.headers().get("mcp-session-id") {
            *self.session.lock().unwrap() = Some(id.to_str().unwrap().to_owned());
        }
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap());
        match kind {
            Some("text/event-stream") => {
                let mut events = Events::of(response.into_body());
                while let Some((_, data)) = events.next().await {
                    self.hear(&data);
                }
            }
            Some("application/json") => self.hear(&web::read(response).await.body),
            _ => assert!(response.status().is_success(), "{}", response.status()),
        }
    }

    fn hear(&self, text: &str) {
        // A test that has ended listens no more.
        drop(self.heard.send(serde_json::from_str(text).unwrap()));
    }
}

/// The headers that say which revision a message is in, as each era wants them.
fn revision_headers(message: &Value, agreed: Option<String>) -> Vec<(String, String)> {
    let own = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    let Some(own) = own else {
        return agreed
            .map(|revision| ("mcp-protocol-version".to_owned(), revision))
            .into_iter()
            .collect();
    };
    let mut headers = vec![("mcp-protocol-version".to_owned(), own.to_owned())];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    headers.extend(text(&message["method"]).map(|method| ("mcp-method".to_owned(), method)));
    headers.extend(text(&message["params"]["name"]).map(|name| ("mcp-name".to_owned(), name)));
    headers
}

/// Opens the stream of the old HTTP transport and learns where to send messages.
async fn subscribe(url: &str, heard: mpsc::UnboundedSender<Value>) -> Arc<Web> {
    let response = web::send(Method::GET, url, &[("accept", "text/event-stream")], String::new());
    let mut events = Events::of(response.await.into_body());
    let (kind, endpoint) = events.next().await.unwrap();
    assert_eq!(kind, "endpoint");
    let base = url.strip_suffix("/sse").unwrap();
    let web = Web::at(&format!("{base}{endpoint}"), heard);
    let listening = Arc::clone(&web);
    tokio::spawn(async move {
        while let Some((_, data)) = events.next().await {
            listening.hear(&data);
        }
    });
    web
}

/// Every line the gate writes is one JSON-RPC message; anything else ends the test.
async fn listen(stdout: ChildStdout, heard: mpsc::UnboundedSender<Value>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| json!({"not": line}));
        if heard.send(message).is_err() {
            return;
        }
    }
}

async fn write(pipe: &mut ChildStdin, line: &str) {
    pipe.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    pipe.flush().await.unwrap();
}
