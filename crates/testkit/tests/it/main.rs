//! Calls through a whole gate, told by what a caller gets, what an upstream saw and what is on
//! record afterwards. A module per topic.

#![expect(clippy::unwrap_used, reason = "a test may fall over")]

/// The one of the program, so that what is said of its memory holds for it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod ages;
mod answering;
mod approvals;
mod around;
mod artifacts;
mod asking;
mod batches;
mod bombs;
mod budgets;
mod cancel;
mod catalogues;
mod channels;
mod critics;
mod crowds;
mod door;
mod envelope;
mod faults;
mod finding;
mod following;
mod generations;
mod governing;
mod heads;
mod hidden;
mod idempotency;
mod limits;
mod listening;
mod matrix;
mod mcp_servers;
mod measured;
mod misbehaviour;
mod modes;
mod odd_servers;
mod output;
mod pages;
mod recording;
mod rehearsing;
mod replay;
mod replicas;
mod resources;
mod road;
mod sessions;
mod shutdown;
mod size;
mod streamable;
mod streams;
mod suite;
mod tasks;
mod trace;
mod unread;
mod wire;

use std::sync::Arc;

use gateway::{CallRequest, Done, Settings};
use model::{Code, Record};
use serde_json::json;
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest, tool};

/// The surface of a gate, for whoever the doorkeeper lets in.
fn mcp(world: &World, doorkeeper: auth::Doorkeeper) -> server::Mcp {
    surface(&world.gateway, doorkeeper)
}

fn surface(gateway: &Arc<gateway::Gateway>, doorkeeper: auth::Doorkeeper) -> server::Mcp {
    server::Mcp {
        gateway: Arc::clone(gateway),
        doorkeeper: Arc::new(doorkeeper),
        parked: Arc::default(),
        streams: server::streams::Streams::default(),
        unknown_tool: server::reply::UnknownTool::default(),
        server: Arc::new(server::ServerInfo {
            name: "gate".to_owned(),
            version: "1".to_owned(),
            instructions: None,
        }),
    }
}

/// Everybody is the local user.
fn open_door() -> auth::Doorkeeper {
    auth::Doorkeeper::new(Vec::new(), Vec::new())
}

/// The stages of a call that goes all the way (C8).
const ROAD: &[&str] = &[
    "resolve", "grants", "validate", "policy", "approval", "identity", "limits", "invoke",
    "output", "evidence", "sanitise",
];

/// The road up to and with this stage.
fn up_to(last: &str) -> &'static [&'static str] {
    let end = ROAD.iter().position(|stage| *stage == last).unwrap();
    ROAD.get(..=end).unwrap()
}

/// A gate before a shelf that can be looked at and added to, both as its script says.
async fn shelf(script: Script, change: impl FnOnce(&mut Settings)) -> (Recorder, World) {
    let recorder = Recorder::new()
        .tool(tool("peek", json!({})), script.clone())
        .tool(tool("put", json!({})), script);
    let bindings = [
        capability("shelf.peek", "peek", json!({"class": "observe", "approval_mode": "read_only"})),
        capability("shelf.put", "put", json!({"class": "act", "approval_mode": "local_write"})),
    ];
    let gate = TestGateway::new().upstream("shelf", recorder.clone());
    let world = gate.manifest("shelf", manifest(bindings)).settings(change).start().await;
    (recorder, world)
}

fn code(done: &Done) -> Option<Code> {
    done.fault.as_ref().map(|fault| fault.code)
}

/// Makes a call that must end at `last` with `code` and without the upstream noticing.
async fn refused(
    world: &World,
    recorder: &Recorder,
    request: CallRequest,
    wanted: Code,
    last: &str,
) -> (Done, Record) {
    let before = recorder.count();
    let done = world.send(request).await;
    assert_eq!(code(&done), Some(wanted), "{done:?}");
    assert!(done.cleared.get().is_error);
    assert_eq!(recorder.count(), before, "the upstream saw a refused call");
    let record = world.last_record().await;
    assert_eq!(Some(&record.record_id), done.record_id.as_ref());
    assert_eq!(record.stages, up_to(last));
    assert_eq!(record.result.as_ref().unwrap().error, done.fault);
    (done, record)
}

/// The fields of a progress report.
fn progress(news: Option<gateway::News>) -> serde_json::Value {
    let said = news.map(|news| match news {
        gateway::News::Progress(fields) => Some(fields.into_inner().into()),
        gateway::News::Log(..) | gateway::News::Question(_) => None,
    });
    said.flatten().unwrap()
}
