//! Who listens for changes: how much of it they may ask for, that one upstream which hangs stops
//! nobody, and that whoever falls behind is told that everything may have changed.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gateway::{Change, Mode};
use model::limits::{CHANGES_KEPT, FOLLOWED_PER_CLIENT_MAX, RINGS_KEPT};
use model::{Answer, Fault};
use policy::Permit;
use serde_json::{Value, json};
use server::{Transport, stdio};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{TestGateway, World};
use upstream::{Bell, Connector, Errand, Offer, Ring};

use crate::around::line::{Era, Line, Over};
use crate::door::{Door, PATIENCE, session_line};
use crate::{mcp, open_door};

/// Has resources that can be followed, and says of all its lists that they change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    uris: Vec<String>,
    bell: Arc<Mutex<Option<Bell>>>,
    /// Never answers to being followed; says when it was asked.
    hangs: Option<Arc<Notify>>,
}

impl Shelf {
    pub(crate) fn of(uris: impl IntoIterator<Item = String>) -> Self {
        Self { uris: uris.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn bell(&self) -> Bell {
        self.bell.lock().unwrap().clone().unwrap()
    }
}

#[async_trait]
impl Connector for Shelf {
    fn protocol(&self) -> &'static str {
        "mcp"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![toolgate_testkit::tool("noop", json!({}))])
    }

    async fn offer(&self) -> Result<Offer, Fault> {
        let resources = self.uris.iter().map(|uri| json!({"uri": uri, "name": "page"}));
        let capabilities = json!({
            "tools": {"listChanged": true}, "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
        });
        Ok(Offer {
            tools: self.list().await?,
            resources: resources.collect(),
            capabilities: capabilities.as_object().cloned().unwrap_or_default(),
            ..Offer::default()
        })
    }

    async fn call(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        Ok(Answer::text("nothing"))
    }

    async fn follow(&self, _permit: &Permit, _owner: &str, _wanted: bool) -> Result<(), Fault> {
        if let Some(asked) = &self.hangs {
            asked.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    fn attach(&self, bell: Bell) {
        *self.bell.lock().unwrap() = Some(bell);
    }
}

async fn native(gate: TestGateway) -> World {
    gate.settings(|settings| settings.mode = Mode::Native).start().await
}

#[tokio::test]
async fn one_client_follows_only_so_much() {
    let uri = |number: usize| format!("test://{number}");
    let shelf = Shelf::of((0..=FOLLOWED_PER_CLIENT_MAX).map(uri));
    let world = native(TestGateway::new().upstream("it", shelf)).await;
    let mut line = Line::connect(&world, Over::Stdio, Era::Old).await;
    for number in 0..FOLLOWED_PER_CLIENT_MAX {
        let said = line.ask("resources/subscribe", json!({"uri": uri(number)})).await;
        assert!(said["result"].is_object(), "{said}");
    }
    let last = json!({"uri": uri(FOLLOWED_PER_CLIENT_MAX)});
    let refused = line.ask("resources/subscribe", last.clone()).await;
    assert_eq!(refused["error"]["data"]["error"], "RATE_LIMITED", "{refused}");
    let again = line.ask("resources/subscribe", json!({"uri": uri(0)})).await;
    assert!(again["result"].is_object(), "it is followed already: {again}");
    line.ask("resources/unsubscribe", json!({"uri": uri(0)})).await;
    let said = line.ask("resources/subscribe", last).await;
    assert!(said["result"].is_object(), "{said}");
}

/// 2026-07-28: what is acknowledged is what is followed.
#[tokio::test]
async fn one_request_listens_only_for_so_much() {
    let uris = (0..=FOLLOWED_PER_CLIENT_MAX).map(|number| format!("test://{number}"));
    let uris: Vec<String> = uris.collect();
    let world = native(TestGateway::new().upstream("it", Shelf::of(uris.clone()))).await;
    let mut line = Line::open(&world, Over::Stdio, Era::Modern).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"resourceSubscriptions": uris}, "_meta": meta});
    let listen =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let said = line.say(&listen).await;
    assert_eq!(said["method"], "notifications/subscriptions/acknowledged", "{said}");
    let followed = said["params"]["notifications"]["resourceSubscriptions"].as_array().unwrap();
    assert_eq!(followed.len(), FOLLOWED_PER_CLIENT_MAX);
}

/// PROTOCOL 1.6: on a pipe, which outlives what it carries, the end is told; a client that has cancelled
/// hears nothing more.
#[tokio::test]
async fn the_end_of_listening_is_told_on_a_pipe_but_not_to_who_ended_it() {
    let world = native(TestGateway::new().upstream("it", Shelf::default())).await;
    let (mut input, theirs) = tokio::io::duplex(1 << 16);
    let (output, gate) = tokio::io::duplex(1 << 16);
    let stop = CancellationToken::new();
    tokio::spawn(stdio::serve(mcp(&world, open_door()), theirs, gate, stop.clone()));
    let mut lines = BufReader::new(output).lines();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    for id in [1, 2] {
        let listen = ask(id, "subscriptions/listen", &params);
        input.write_all(format!("{listen}\n").as_bytes()).await.unwrap();
        let heard = lines.next_line().await.unwrap().unwrap();
        assert!(heard.contains("notifications/subscriptions/acknowledged"), "{heard}");
    }
    let cancelled = |id: u64| {
        let params = json!({"requestId": id});
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    };
    let listed = ask(3, "tools/list", &json!({"_meta": meta}));
    input.write_all(format!("{}\n{listed}\n", cancelled(1)).as_bytes()).await.unwrap();
    let heard = lines.next_line().await.unwrap().unwrap();
    assert!(heard.contains("\"id\":3"), "{heard}");
    stop.cancel();
    let mut left = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        left.push(serde_json::from_str::<Value>(&line).unwrap());
    }
    let [over, result] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!(*over, cancelled(2));
    assert_eq!((&result["id"], &result["result"]["resultType"]), (&json!(2), &json!("complete")));
}

#[tokio::test]
async fn an_upstream_that_hangs_keeps_nobody_from_following_others() {
    let asked = Arc::new(Notify::new());
    let hanging = Shelf { hangs: Some(Arc::clone(&asked)), ..Shelf::of(["a://1".to_owned()]) };
    let gate = TestGateway::new().upstream("a", hanging);
    let world = native(gate.upstream("b", Shelf::of(["b://1".to_owned()]))).await;
    let ann = World::ann();
    let waiting = world.gateway.follow(&ann, "a://1", true);
    let others = async {
        asked.notified().await;
        world.gateway.follow(&ann, "b://1", true).await.unwrap();
        world.gateway.follow(&ann, "b://1", false).await.unwrap();
    };
    // The first never ends; what is lost with it is what nobody got.
    tokio::select! {
        followed = waiting => assert!(followed.is_err(), "it cannot have answered"),
        () = others => {}
    }
}

/// More changes than are kept for somebody who does not read: of its own, which are long, as many as
/// wait for it on the way, and others' then.
async fn flood(world: &World, shelf: &Shelf) {
    let watching = Arc::clone(&world.gateway);
    tokio::spawn(async move { watching.watch().await });
    let others: Vec<String> = shelf.uris.iter().filter(|uri| !is_long(uri)).cloned().collect();
    for uri in &others {
        world.gateway.follow(&World::ann(), uri, true).await.unwrap();
    }
    let bell = shelf.bell();
    let mut told = world.gateway.changes();
    let own = || shelf.uris.iter().filter(|uri| is_long(uri));
    let all: Vec<&String> = own().chain(own()).chain(own()).chain(own()).chain(&others).collect();
    for uris in all.chunks(RINGS_KEPT) {
        for uri in uris {
            bell.ring(Ring::Updated { uri: (*uri).clone() });
        }
        for _ in uris {
            told.recv().await.unwrap();
        }
    }
}

fn is_long(uri: &str) -> bool {
    uri.starts_with("test://long")
}

/// Reads until it has heard that each list may have changed, though none of them did.
async fn hears_of_everything(mut stream: impl AsyncRead + Unpin) {
    let mut left = vec!["tools/list_changed", "prompts/list_changed", "resources/list_changed"];
    let (mut heard, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    let reading = async {
        while !left.is_empty() {
            let count = stream.read(&mut piece).await.unwrap();
            assert_ne!(count, 0, "the gate fell silent");
            heard.extend_from_slice(piece.get(..count).unwrap());
            let text = String::from_utf8_lossy(&heard);
            left.retain(|list| !text.contains(list));
            // What is cut in two is whole with the next piece.
            heard.drain(..heard.len().saturating_sub(200));
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.unwrap();
}

pub(crate) fn ask(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

async fn shelf() -> (World, Shelf) {
    let long = "x".repeat(24 * 1024);
    let own = (0..FOLLOWED_PER_CLIENT_MAX).map(|number| format!("test://long/{number}/{long}"));
    let others = (0..CHANGES_KEPT + RINGS_KEPT).map(|number| format!("test://other/{number}"));
    let shelf = Shelf::of(own.chain(others));
    (native(TestGateway::new().upstream("it", shelf.clone())).await, shelf)
}

/// The requests of a client that follows all it may, from number 2 on.
fn follows(shelf: &Shelf) -> impl Iterator<Item = (u64, String)> {
    let own = (2..).zip(shelf.uris.iter().filter(|uri| is_long(uri)));
    own.map(|(id, uri)| (id, ask(id, "resources/subscribe", &json!({"uri": uri}))))
}

pub(crate) async fn shelf_of(uri: &str) -> (World, Shelf) {
    let shelf = Shelf::of([uri.to_owned()]);
    (native(TestGateway::new().upstream("it", shelf.clone())).await, shelf)
}

fn hello() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {}})
}

#[tokio::test]
async fn who_falls_behind_on_a_pipe_is_told_that_everything_may_have_changed() {
    let (world, shelf) = shelf().await;
    let (mut input, theirs) = tokio::io::duplex(1 << 16);
    let (output, gate) = tokio::io::duplex(1 << 12);
    let surface = mcp(&world, open_door());
    tokio::spawn(stdio::serve(surface, theirs, gate, CancellationToken::new()));
    let lines = [
        ask(1, "initialize", &hello()),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
    ];
    input.write_all(format!("{}\n", lines.join("\n")).as_bytes()).await.unwrap();
    let mut output = BufReader::new(output);
    let mut heard = String::new();
    for (id, follow) in follows(&shelf) {
        input.write_all(format!("{follow}\n").as_bytes()).await.unwrap();
        while !heard.contains(&format!("\"id\":{id},\"result\"")) {
            heard.clear();
            output.read_line(&mut heard).await.unwrap();
        }
    }
    flood(&world, &shelf).await;
    hears_of_everything(output).await;
}

#[tokio::test]
async fn who_falls_behind_on_a_stream_is_told_that_everything_may_have_changed() {
    let (world, shelf) = shelf().await;
    let door = Door::open(mcp(&world, open_door()), Transport::Streamable).await;
    let greeted = door.send("POST /mcp", "", &ask(1, "initialize", &hello())).await;
    let session = session_line(&greeted);
    for (_, follow) in follows(&shelf) {
        door.send("POST /mcp", &session, &follow).await;
    }
    let (stream, head) = door.stream("GET /mcp", &session, "").await;
    assert!(head.contains("text/event-stream"), "{head}");
    flood(&world, &shelf).await;
    hears_of_everything(stream).await;
}

#[tokio::test]
async fn who_falls_behind_on_the_older_stream_is_told_that_everything_may_have_changed() {
    let (world, shelf) = shelf().await;
    let door = Door::open(mcp(&world, open_door()), Transport::LegacySse).await;
    let (mut stream, _) = door.stream("GET /sse", "", "").await;
    let mut heard = String::new();
    let endpoint = loop {
        heard.push(char::from(stream.read_u8().await.unwrap()));
        if let Some(line) = heard.lines().find_map(|line| line.strip_prefix("data: "))
            && heard.ends_with("\n\n")
        {
            break line.to_owned();
        }
    };
    door.send(&format!("POST {endpoint}"), "", &ask(1, "initialize", &hello())).await;
    for (id, follow) in follows(&shelf) {
        door.send(&format!("POST {endpoint}"), "", &follow).await;
        while !heard.contains(&format!("\"id\":{id},\"result\"")) {
            heard.push(char::from(stream.read_u8().await.unwrap()));
        }
        heard.clear();
    }
    flood(&world, &shelf).await;
    hears_of_everything(stream).await;
}

/// Nobody hears of what nobody follows, nor of what another upstream follows under the same name.
#[tokio::test]
async fn an_upstream_tells_only_of_what_is_followed_there() {
    let [note, other, last] = ["test://note", "test://other", "test://last"].map(str::to_owned);
    let mine = Shelf::of([note.clone(), other.clone(), last.clone()]);
    let stranger = Shelf::of(["test://stranger".to_owned()]);
    let gate = TestGateway::new().upstream("a", mine.clone()).upstream("b", stranger.clone());
    let world = native(gate).await;
    for uri in [&note, &last] {
        world.gateway.follow(&World::ann(), uri, true).await.unwrap();
    }
    let mut told = world.gateway.changes();
    let watching = Arc::clone(&world.gateway);
    tokio::spawn(async move { watching.watch().await });
    let ring = |shelf: &Shelf, uri: &String| shelf.bell().ring(Ring::Updated { uri: uri.clone() });
    ring(&stranger, &note);
    ring(&mine, &other);
    ring(&mine, &last);
    let heard = told.recv().await.unwrap();
    assert!(matches!(&heard, Change::Resource { uri } if *uri == last), "{heard:?}");
    world.gateway.follow(&World::ann(), &last, false).await.unwrap();
    ring(&mine, &last);
    ring(&mine, &note);
    let heard = told.recv().await.unwrap();
    assert!(matches!(&heard, Change::Resource { uri } if *uri == note), "{heard:?}");
}
