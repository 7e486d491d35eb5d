//! Sessions of clients that begin with `initialize`: what is kept of them, and how long they live.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use auth::Credentials;
use gateway::sessions::kept_as;
use gateway::{Gateway, Parts, Settings};
use model::limits::{INTRODUCTION_BYTES_MAX, SESSION_CHECK};
use model::{Answer, Clock};
use policy::Rules;
use serde_json::{Value, json};
use server::Transport;
use store::Store;
use toolgate_testkit::{Collector, Recorder, Script, TestGateway};
use upstream::{Otlp, Upstreams};

use crate::around::line::{Era, Line, Over};
use crate::door::{Door, session_line, status};
use crate::{mcp, open_door, surface};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

fn hello() -> String {
    let info = json!({"name": "c", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

/// Whether any file in or below this folder holds the text.
fn holds(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|file| {
        let path = file.unwrap().path();
        if path.is_dir() {
            return holds(&path, text);
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

/// Whoever reads records, artifacts, spans or the database cannot go on with a session by it.
#[tokio::test]
async fn the_id_of_a_session_is_kept_nowhere() {
    let collector = Collector::start().await;
    let spans = Otlp::new(&collector.url, "gate", &Credentials::default()).unwrap().start();
    let long = Answer::text("line of the ledger\n".repeat(1_000));
    let world = TestGateway::new()
        .upstream("books", Recorder::one("export", Script::Answer(long)))
        .settings(|settings| settings.spans = Some(spans))
        .start()
        .await;
    let door = Door::open(mcp(&world, open_door()), Transport::Streamable).await;
    let session = session_line(&door.send("POST /mcp", "", &hello()).await);
    let id = session.trim().rsplit(' ').next().unwrap();
    assert_eq!(id.len(), 32, "128 bits: {id}");
    let params = json!({"name": "tool_execute", "arguments": {"tool_id": "export", "args": {}}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let said = door.send("POST /mcp", &session, &call.to_string()).await;
    assert!(said.contains("art_"), "{said}");
    let record = world.last_record().await;
    assert_eq!(record.call.session_id, Some(kept_as(id)));
    assert!(!serde_json::to_string(&record).unwrap().contains(id));
    world.gateway.close(Duration::from_secs(5)).await;
    let spans = json!(collector.spans()).to_string();
    assert!(spans.contains(kept_as(id).as_str()) && !spans.contains(id), "{spans}");
    assert!(holds(&world.data_dir(), kept_as(id).as_str()), "nothing is kept at all");
    assert!(!holds(&world.data_dir(), id));
}

/// D3: what a client says of itself is kept for as long as it is there, so it has a bound.
#[tokio::test]
async fn an_introduction_has_a_bound_on_every_transport() {
    let world = TestGateway::new().demo().start().await;
    for over in [Over::Stdio, Over::Http, Over::Sse] {
        for long in ["capabilities", "clientInfo"] {
            let mut line = Line::open(&world, over, Era::Old).await;
            let mut params =
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}});
            params[long] = json!({"experimental": {"x": "y".repeat(INTRODUCTION_BYTES_MAX)}});
            let refused = line.ask("initialize", params).await;
            assert_eq!(refused["error"]["code"], -32602, "{over:?} {long}: {refused}");
            assert_eq!(refused["error"]["data"]["error"], "ARGS_INVALID", "{refused}");
            let greeted = line.greet("2025-11-25", json!({"experimental": {"x": 1}})).await;
            assert!(greeted["result"].is_object(), "{over:?}: {greeted}");
        }
    }
}

/// A gate on the database of another.
fn beside(store: &Store, clock: &Clock) -> Arc<Gateway> {
    Arc::new(Gateway::new(Parts {
        upstreams: Upstreams::default(),
        manifests: BTreeMap::new(),
        namespaces: BTreeMap::new(),
        naming: catalog::Naming::Auto,
        rules: Rules::permit_all(),
        store: store.clone(),
        clock: clock.clone(),
        settings: Settings::default(),
    }))
}

/// However active its client is elsewhere.
#[tokio::test]
async fn a_session_that_ended_at_one_gate_soon_ends_at_the_others() {
    let world = TestGateway::new().demo().start().await;
    let other = beside(&world.store, &world.clock);
    let here = Door::open(mcp(&world, open_door()), Transport::Streamable).await;
    let there = Door::open(surface(&other, open_door()), Transport::Streamable).await;
    let session = session_line(&here.send("POST /mcp", "", &hello()).await);
    let used = async |door: &Door| status(&door.send("POST /mcp", &session, LIST).await);
    assert_eq!((used(&here).await, used(&there).await), (200, 200));
    world.clock.advance(SESSION_CHECK);
    assert_eq!(used(&there).await, 200, "it is asked for, and goes on");
    assert_eq!(status(&here.send("DELETE /mcp", &session, "").await), 204);
    assert_eq!(used(&here).await, 404);
    world.clock.advance(SESSION_CHECK / 2);
    assert_eq!(used(&there).await, 200, "taken for granted for a while");
    world.clock.advance(SESSION_CHECK / 2);
    assert_eq!(used(&there).await, 404);
}

/// A session that is looked up anew is still the one whose requests can be cancelled here.
#[tokio::test]
async fn a_session_that_is_checked_keeps_what_this_process_knows_of_it() {
    let recorder = Recorder::one("sleep", Script::Hang);
    let gate = TestGateway::new().upstream("bed", recorder.clone());
    let world = gate.settings(|settings| settings.mode = gateway::Mode::Native).start().await;
    let door = Door::open(mcp(&world, open_door()), Transport::Streamable).await;
    let session = session_line(&door.send("POST /mcp", "", &hello()).await);
    let params = json!({"name": "sleep", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let calling = call.to_string();
    let asking = door.send("POST /mcp", &session, &calling);
    let cancelling = async {
        recorder.arrived().await;
        world.clock.advance(SESSION_CHECK);
        assert_eq!(status(&door.send("POST /mcp", &session, LIST).await), 200);
        assert_eq!(status(&door.send("POST /mcp", &session, &cancel.to_string()).await), 202);
    };
    let (said, ()) = tokio::join!(asking, cancelling);
    let body: Value = serde_json::from_str(said.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["error"]["data"]["error"], "CANCELLED", "{said}");
}
