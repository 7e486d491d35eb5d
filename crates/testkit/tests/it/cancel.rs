//! Who gives up and whose time is up: the upstream learns it, and the record says it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateway::queue::queue;
use gateway::{CallRequest, Watch};
use model::{Answer, CallStatus, Code, Fault, RecordStatus};
use policy::Permit;
use serde_json::{Map, Value, json};
use server::stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest, tool};
use upstream::{Connector, Errand, Progress};

use crate::{ROAD, code, mcp, open_door, progress, up_to};

#[tokio::test]
async fn cancelling_drops_the_call_at_the_upstream() {
    let recorder = Recorder::one("sleep", Script::Hang);
    let world = TestGateway::new().upstream("bed", recorder.clone()).start().await;
    let watch = Watch::default();
    let call = world.spawn(World::request("sleep", json!({})), watch.clone());
    let seen = recorder.arrived().await;
    watch.cancel.cancel();
    let done = call.await.unwrap();
    assert_eq!(code(&done), Some(Code::Cancelled));
    assert_eq!(recorder.lost(), [seen.call_id]);
    let record = world.last_record().await;
    assert_eq!(record.stages, up_to("invoke"));
    assert_eq!(record.status, RecordStatus::Cancelled);
    assert_eq!(record.result.unwrap().status, CallStatus::Cancelled);
}

#[tokio::test]
async fn a_call_cancelled_before_it_is_sent_is_never_sent() {
    let recorder = Recorder::one("peek", Script::Echo);
    let world = TestGateway::new().upstream("bed", recorder.clone()).start().await;
    let watch = Watch::default();
    watch.cancel.cancel();
    let done = world.spawn(World::request("peek", json!({})), watch).await.unwrap();
    assert_eq!((code(&done), recorder.count()), (Some(Code::Cancelled), 0));
    assert_eq!(world.last_record().await.status, RecordStatus::Cancelled);
}

/// A timeout says whether the same call may be sent again.
#[tokio::test]
async fn a_timeout_drops_the_call_and_only_a_read_may_be_repeated() {
    let check = async |class: &str, repeatable: bool| {
        let recorder = Recorder::one("sleep", Script::Hang);
        let binding = capability("bed.sleep", "sleep", json!({"class": class}));
        let gate = TestGateway::new().upstream("bed", recorder.clone());
        let world = gate.manifest("bed", manifest([binding])).start().await;
        let timeout = Some(Duration::from_millis(1));
        let request = World::request("sleep", json!({}));
        let done = world.send(CallRequest { timeout, ..request }).await;
        assert_eq!(code(&done), Some(Code::UpstreamTimeout));
        assert_eq!(done.fault.unwrap().retryable(), repeatable, "{class}");
        assert_eq!(recorder.lost().len(), 1);
        assert_eq!(world.last_record().await.status, RecordStatus::Failed);
    };
    check("observe", true).await;
    check("act", false).await;
}

/// Goes on reporting when its call is cancelled.
#[derive(Clone, Debug, Default)]
struct Talker {
    has_said: Arc<Notify>,
}

#[async_trait]
impl Connector for Talker {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![tool("talk", json!({}))])
    }

    async fn call(&self, _permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let step = || Progress { progress: 1.0, total: None, message: None, rest: Map::new() };
        errand.report(step());
        let (errand, has_said) = (errand.clone(), Arc::clone(&self.has_said));
        tokio::spawn(async move {
            errand.cancel.cancelled().await;
            errand.report(step());
            has_said.notify_one();
        });
        std::future::pending().await
    }
}

/// PROTOCOL 1.3: whoever gave a request up hears no more of it.
#[tokio::test]
async fn nothing_is_said_of_a_request_that_was_cancelled() {
    let talker = Talker::default();
    let gate = TestGateway::new().upstream("it", talker.clone());
    let world = gate.settings(|settings| settings.mode = gateway::Mode::Native).start().await;
    let (mut input, theirs) = tokio::io::duplex(1 << 16);
    let (output, gate) = tokio::io::duplex(1 << 16);
    let surface = mcp(&world, open_door());
    tokio::spawn(stdio::serve(surface, theirs, gate, CancellationToken::new()));
    let mut lines = BufReader::new(output).lines();
    let mut say = async |message: Value, answered: bool| {
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        if answered { lines.next_line().await.unwrap().unwrap() } else { String::new() }
    };
    let params = json!({"name": "talk", "arguments": {}, "_meta": {"progressToken": 7}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let heard = say(call, true).await;
    assert!(heard.contains("notifications/progress"), "{heard}");
    let params = json!({"requestId": 1});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    say(cancel, false).await;
    talker.has_said.notified().await;
    for id in [2, 3] {
        let heard = say(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}), true).await;
        assert!(heard.contains(&format!("\"id\":{id}")), "{heard}");
    }
}

#[tokio::test]
async fn news_of_a_call_reach_the_one_who_listens() {
    let rest = json!({"_meta": {"vendor/step": 7}}).as_object().cloned().unwrap();
    let step =
        |progress: f64| Progress { progress, total: Some(2.0), message: None, rest: rest.clone() };
    let script = Script::Report(vec![step(1.0), step(2.0)], Answer::text("done"));
    let recorder = Recorder::one("work", script);
    let world = TestGateway::new().upstream("desk", recorder).start().await;
    let (news, mut heard) = queue(8);
    let watch = Watch { news: Some(news), progress: true, ..Watch::default() };
    let done = world.spawn(World::request("work", json!({})), watch).await.unwrap();
    assert_eq!(code(&done), None);
    let fields =
        |progress: u32| json!({"progress": progress, "total": 2, "_meta": {"vendor/step": 7}});
    assert_eq!(progress(heard.recv().await), fields(1));
    assert_eq!(progress(heard.recv().await), fields(2));
    assert!(heard.recv().await.is_none());
    assert_eq!(world.last_record().await.stages, ROAD);
}
