//! The stream on which an older client hears of changes: one tells at a time, and none without a
//! session.

use std::sync::Arc;

use serde_json::json;
use server::Transport;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use toolgate_testkit::World;
use upstream::Ring;

use crate::door::{Door, PATIENCE, session_line};
use crate::listening::{self, Shelf};
use crate::{mcp, open_door};

const URI: &str = "test://page";

struct Listener {
    world: World,
    shelf: Shelf,
    door: Door,
    session: String,
}

impl Listener {
    async fn new() -> Self {
        let (world, shelf) = listening::shelf_of(URI).await;
        let door = Door::open(mcp(&world, open_door()), Transport::Streamable).await;
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
        let greeted = door.send("POST /mcp", "", &listening::ask(1, "initialize", &hello)).await;
        let session = session_line(&greeted);
        let follow = listening::ask(2, "resources/subscribe", &json!({"uri": URI}));
        door.send("POST /mcp", &session, &follow).await;
        let watching = Arc::clone(&world.gateway);
        tokio::spawn(async move { watching.watch().await });
        Self { world, shelf, door, session }
    }

    async fn stream(&self) -> TcpStream {
        let (stream, head) = self.door.stream("GET /mcp", &self.session, "").await;
        assert!(head.contains("text/event-stream"), "{head}");
        stream
    }

    /// Has the resource change until this is over.
    async fn changing<T>(&self, over: impl Future<Output = T>) -> T {
        let mut told = self.world.gateway.changes();
        let bell = self.shelf.bell();
        let changing = async {
            loop {
                bell.ring(Ring::Updated { uri: URI.to_owned() });
                told.recv().await.unwrap();
            }
        };
        let over = tokio::time::timeout(PATIENCE, over);
        tokio::select! {
            never = changing => never,
            over = over => over.unwrap(),
        }
    }
}

/// Reads until this is said.
async fn hears(stream: &mut TcpStream, what: &str) {
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains(what) {
        heard.push(stream.read_u8().await.unwrap());
    }
    // Nothing is kept that an id could stand for.
    assert!(!String::from_utf8_lossy(&heard).contains("\nid:"));
}

/// What the newer was told last may have been lost with it, so everything may have changed.
#[tokio::test]
async fn an_older_stream_goes_on_where_a_newer_has_gone() {
    let listener = Listener::new().await;
    let mut first = listener.stream().await;
    listener.changing(hears(&mut first, "resources/updated")).await;
    let mut second = listener.stream().await;
    listener.changing(hears(&mut second, "resources/updated")).await;
    drop(second);
    listener.changing(hears(&mut first, "tools/list_changed")).await;
    listener.changing(hears(&mut first, "resources/updated")).await;
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let listener = Listener::new().await;
    let mut streams = [listener.stream().await, listener.stream().await];
    listener.door.send("DELETE /mcp", &listener.session, "").await;
    for stream in &mut streams {
        let mut heard = Vec::new();
        let reading = stream.read_to_end(&mut heard);
        tokio::time::timeout(PATIENCE, reading).await.unwrap().unwrap();
    }
}

/// Also where it ended at another gate, which tells nobody.
#[tokio::test]
async fn a_stream_ends_with_its_session_at_another_gate() {
    let listener = Listener::new().await;
    let mut stream = listener.stream().await;
    let id = listener.session.trim().split_once(' ').unwrap().1;
    let who = open_door().local();
    assert!(Box::pin(listener.world.gateway.end_session(id, &who)).await.unwrap());
    listener.world.clock.advance(model::limits::SESSION_CHECK);
    // From here on time passes as soon as nobody has anything to do.
    tokio::time::pause();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await.unwrap();
    let silences = String::from_utf8_lossy(&heard).matches("keep-alive").count();
    let most = model::limits::SESSION_TOLD.as_secs() / model::limits::KEEP_ALIVE.as_secs();
    assert!(silences as u64 <= most, "{silences}");
}
