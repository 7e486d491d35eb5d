//! Floods of sessions and streams: each principal has its share, and nobody takes another's.

use std::sync::Arc;

use gateway::Introduction;
use model::limits::{
    SESSION_HELD, SESSION_IDLE, SESSIONS_PER_PRINCIPAL_MAX, STREAMS_PER_PRINCIPAL_MAX,
};
use model::{Caller, Code, Principal};
use serde_json::{Map, json};
use server::Transport;
use server::streams::Streams;
use tokio::task::JoinSet;
use toolgate_testkit::{TestGateway, World};

use crate::door::{Door, PATIENCE, session_line};
use crate::{mcp, open_door};

fn caller(name: &str) -> Caller {
    Caller::new(Principal::user(name))
}

async fn begin(world: &World, who: &str) -> Result<String, Code> {
    let introduction = Introduction {
        revision: "2025-11-25".to_owned(),
        client: None,
        capabilities: Map::new(),
        info: None,
    };
    let begun = Box::pin(world.gateway.begin_session(&caller(who), &introduction)).await;
    begun.map(|id| id.to_string()).map_err(|fault| fault.code)
}

/// D3: one caller cannot open sessions without end, nor keep others from theirs. What nobody uses
/// makes room, and is found again in the store until its hour is over.
#[tokio::test]
async fn sessions_of_one_caller_have_an_end() {
    let world = Arc::new(TestGateway::new().start().await);
    let mut opening = JoinSet::new();
    for _ in 0..SESSIONS_PER_PRINCIPAL_MAX {
        let world = Arc::clone(&world);
        opening.spawn(async move { begin(&world, "ann").await });
    }
    let opened: Vec<String> = opening.join_all().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(begin(&world, "ann").await, Err(Code::RateLimited));
    assert!(begin(&world, "bob").await.is_ok());
    world.clock.advance(SESSION_HELD);
    assert!(begin(&world, "ann").await.is_ok());
    let known = async || {
        let mut known = 0;
        for id in &opened {
            let found = world.gateway.find_session(id, &caller("ann")).await.unwrap();
            known += usize::from(found.is_some());
        }
        known
    };
    let others = SESSIONS_PER_PRINCIPAL_MAX - 1;
    assert_eq!(known().await, others, "the store knows what memory forgot, beside the new one");
    world.clock.advance(SESSION_IDLE);
    assert_eq!(known().await, 0, "an hour unused, they have ended");
}

#[test]
fn streams_of_one_caller_have_an_end() {
    let streams = Streams::default();
    let mut open: Vec<_> =
        (0..STREAMS_PER_PRINCIPAL_MAX).map(|_| streams.take(&caller("ann")).unwrap()).collect();
    let refused = streams.take(&caller("ann")).map(|_| ()).unwrap_err();
    assert_eq!(refused.code, Code::RateLimited);
    assert!(streams.take(&caller("bob")).is_ok());
    drop(open.pop());
    assert!(streams.take(&caller("ann")).is_ok());
}

/// Whatever a stream is asked for with: GET, a request of 2026-07-28, or the older transport.
#[tokio::test]
async fn every_kind_of_stream_counts() {
    let world = TestGateway::new().demo().start().await;
    let surface = mcp(&world, open_door());
    let who = surface.doorkeeper.local();
    let mut open: Vec<_> =
        (1..STREAMS_PER_PRINCIPAL_MAX).map(|_| surface.streams.take(&who).unwrap()).collect();
    let streamable = Door::open(surface.clone(), Transport::Streamable).await;
    let older = Door::open(surface.clone(), Transport::LegacySse).await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    let greeted = streamable.send("POST /mcp", "", &hello.to_string()).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    let method = "subscriptions/listen";
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let head = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n");
    let ways = [
        (&streamable, "GET /mcp", session_line(&greeted), String::new()),
        (&streamable, "POST /mcp", head, listen.to_string()),
        (&older, "GET /sse", String::new(), String::new()),
    ];
    for (door, first, lines, body) in &ways {
        // One place is left: the first to ask has it for as long as it stays.
        let (stream, said) = door.stream(first, lines, body).await;
        assert!(said.contains("text/event-stream"), "{first}: {said}");
        for (door, first, lines, body) in &ways {
            let refused = door.send(first, lines, body).await;
            assert!(refused.contains("too many streams are open"), "{first}: {refused}");
        }
        drop(stream);
        // The gate notices that somebody has gone when it does.
        let back = async {
            loop {
                match surface.streams.take(&who) {
                    Ok(place) => break open.push(place),
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, back).await.unwrap();
        drop(open.pop());
    }
}
