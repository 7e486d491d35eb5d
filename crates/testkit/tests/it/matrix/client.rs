//! A client of any revision, in this process, that answers what it is asked with what it was given.

use serde_json::{Map, Value, json};
use server::stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolgate_testkit::World;

use super::http;
use crate::{mcp, open_door};

pub(super) const MODERN: &str = "2026-07-28";

pub(super) struct Client {
    revision: &'static str,
    able: Value,
    last_id: u64,
    given: Value,
    /// Where the level of the log goes with each request.
    log: Option<&'static str>,
    asked: Vec<(String, Value)>,
    news: Vec<Value>,
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    serving: JoinHandle<()>,
}

impl Client {
    /// One that can do all its revision knows.
    pub(super) async fn connect(world: &World, revision: &'static str) -> Self {
        Self::connect_able(world, revision, all(revision)).await
    }

    pub(super) async fn connect_able(world: &World, revision: &'static str, able: Value) -> Self {
        Self::connect_by(world, open_door(), revision, able).await
    }

    /// By the door of whoever is at the client.
    pub(super) async fn connect_by(
        world: &World,
        door: auth::Doorkeeper,
        revision: &'static str,
        able: Value,
    ) -> Self {
        let surface = mcp(world, door);
        let serve = |theirs, gate| stdio::serve(surface, theirs, gate, CancellationToken::new());
        Self::connect_through(serve, revision, able).await
    }

    /// The same over HTTP.
    pub(super) async fn connect_over_http(world: &World, revision: &'static str) -> Self {
        let surface = mcp(world, open_door());
        Self::connect_through(
            |lines, said| http::carry(surface, lines, said),
            revision,
            all(revision),
        )
        .await
    }

    async fn connect_through<F: Future<Output = ()> + Send + 'static>(
        serve: impl FnOnce(DuplexStream, DuplexStream) -> F,
        revision: &'static str,
        able: Value,
    ) -> Self {
        let (input, theirs) = tokio::io::duplex(1 << 20);
        let (output, gate) = tokio::io::duplex(1 << 20);
        let serving = tokio::spawn(serve(theirs, gate));
        let mut client = Self {
            revision,
            able,
            last_id: 0,
            given: Value::Null,
            log: None,
            asked: Vec::new(),
            news: Vec::new(),
            input,
            output: BufReader::new(output).lines(),
            serving,
        };
        if revision != MODERN {
            let info = json!({"name": "matrix", "version": "1"});
            let params = json!({"protocolVersion": revision, "capabilities": client.able, "clientInfo": info});
            let greeted = client.ask("initialize", params).await;
            assert_eq!(greeted["result"]["protocolVersion"], revision);
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        client
    }

    pub(super) fn is_modern(&self) -> bool {
        self.revision == MODERN
    }

    /// What the next questions are answered with.
    pub(super) fn will_answer(&mut self, given: Value) {
        self.given = given;
    }

    /// What was asked since the last time.
    pub(super) fn take_asked(&mut self) -> Vec<String> {
        self.take_questions().into_iter().map(|(method, _)| method).collect()
    }

    /// The same with what was said in asking.
    pub(super) fn take_questions(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.asked)
    }

    pub(super) fn take_news(&mut self, method: &str) -> Vec<Value> {
        let (these, others) =
            std::mem::take(&mut self.news).into_iter().partition(|news| news["method"] == method);
        self.news = others;
        these
    }

    /// The next news of this kind, waited for.
    pub(super) async fn next_news(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.news.iter().position(|news| news["method"] == method) {
                return self.news.remove(at);
            }
            let news = self.next().await;
            assert!(news.get("id").is_none(), "{news}");
            self.news.push(news);
        }
    }

    pub(super) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// Asks, and goes on asking with answers while the gate wants them.
    pub(super) async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        loop {
            let answer = self.once(method, params.clone()).await;
            if answer["result"]["resultType"] != "input_required" {
                return answer;
            }
            let mut responses = Map::new();
            for (key, question) in answer["result"]["inputRequests"].as_object().unwrap() {
                self.note(question);
                responses.insert(key.clone(), self.given.clone());
            }
            params["inputResponses"] = responses.into();
            params["requestState"] = answer["result"]["requestState"].clone();
        }
    }

    /// One request and its one answer; questions that come in between are answered.
    pub(super) async fn once(&mut self, method: &str, mut params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.introduce(&mut params);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let message = self.next().await;
            if message.get("method").is_none() {
                assert_eq!(message["id"], id, "{message}");
                return message;
            }
            if let Some(question) = message.get("id") {
                assert!(!self.is_modern(), "asked while it waits: {message}");
                self.note(&message);
                let reply = json!({"jsonrpc": "2.0", "id": question, "result": self.given});
                self.send(&reply).await;
            } else {
                self.news.push(message);
            }
        }
    }

    fn note(&mut self, question: &Value) {
        let method = question["method"].as_str().unwrap().to_owned();
        self.asked.push((method, question["params"].clone()));
    }

    /// Begins a call, waits until its server works on it, and gives it up.
    pub(super) async fn begin_and_cancel(&mut self, name: &str) {
        self.last_id += 1;
        let id = self.last_id;
        let mut params = json!({"name": name, "arguments": {}, "_meta": {"progressToken": id}});
        self.introduce(&mut params);
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.send(&call).await;
        self.until("notifications/progress").await;
        let params = json!({"requestId": id, "reason": "enough"});
        let method = "notifications/cancelled";
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Wants to hear of what is logged, down to this level.
    pub(super) async fn wants_logs(&mut self, level: &'static str) {
        if self.is_modern() {
            self.log = Some(level);
        } else {
            let set = self.ask("logging/setLevel", json!({"level": level})).await;
            assert!(set["result"].is_object(), "{set}");
        }
    }

    /// Wants to hear of changed lists, and of this resource.
    pub(super) async fn follow(&mut self, uri: &str) {
        if !self.is_modern() {
            let followed = self.ask("resources/subscribe", json!({"uri": uri})).await;
            assert!(followed["result"].is_object(), "{followed}");
            return;
        }
        self.listen(&json!({"toolsListChanged": true, "resourceSubscriptions": [uri]})).await;
    }

    /// 2026-07-28: wants to hear of all this, and will.
    pub(super) async fn listen(&mut self, wanted: &Value) {
        assert_eq!(&self.listens(wanted).await, wanted);
    }

    /// The same; what of it the gate will tell.
    pub(super) async fn listens(&mut self, wanted: &Value) -> Value {
        self.last_id += 1;
        let mut params = json!({"notifications": wanted});
        self.introduce(&mut params);
        let (id, method) = (self.last_id, "subscriptions/listen");
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let told = self.until("notifications/subscriptions/acknowledged").await;
        told["params"]["notifications"].clone()
    }

    /// Reads up to this message; what else is told is kept.
    async fn until(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] == method {
                return message;
            }
            assert!(message.get("id").is_none(), "{message}");
            self.news.push(message);
        }
    }

    /// Since 2026-07-28 each request says who asks.
    fn introduce(&self, params: &mut Value) {
        if !self.is_modern() {
            return;
        }
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.able.clone();
        if let Some(level) = self.log {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = level.into();
        }
    }

    /// Looks at a task until it has ended; its result.
    pub(super) async fn until_done(&mut self, id: &Value) -> Value {
        loop {
            let told = self.once("tasks/get", json!({"taskId": id})).await;
            match told["result"]["status"].as_str() {
                Some("working") => {}
                Some("completed") => return told["result"]["result"].clone(),
                _ => panic!("{told}"),
            }
        }
    }

    pub(super) async fn leave(self) {
        drop(self.input);
        drop(self.output);
        self.serving.await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let patience = std::time::Duration::from_mins(1);
        let line = tokio::time::timeout(patience, self.output.next_line()).await;
        let line = line.expect("the gate says nothing").unwrap().expect("the gate has gone");
        serde_json::from_str(&line).unwrap()
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
}

/// Everything a client of this revision can be asked.
fn all(revision: &str) -> Value {
    let mut able = json!({"roots": {}, "sampling": {}});
    if revision >= "2025-06-18" {
        able["elicitation"] = json!({});
    }
    able
}
