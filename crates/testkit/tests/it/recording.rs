//! No record, no effect; and however many calls at once, one sound chain.

use async_trait::async_trait;
use gateway::{CallRequest, Watch};
use model::{Answer, Code, Fault, Grant, Method, RecordStatus};
use policy::Permit;
use serde_json::{Map, Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};
use upstream::{Connector, Errand, Offer};

use crate::{code, shelf};

async fn desk() -> (Recorder, World) {
    let recorder = Recorder::one("write", Script::Echo)
        .tool(toolgate_testkit::tool("read", json!({})), Script::Echo);
    let capabilities = [
        capability("desk.write", "write", json!({"class": "act"})),
        capability("desk.read", "read", json!({})),
    ];
    let gate = TestGateway::new().upstream("desk", recorder.clone());
    (recorder, gate.manifest("desk", manifest(capabilities)).start().await)
}

#[tokio::test]
async fn a_write_that_cannot_be_recorded_is_not_made() {
    let (recorder, world) = desk().await;
    world.store.close().await;
    let done = world.call("write", json!({})).await;
    assert_eq!(code(&done), Some(Code::StoreUnavailable));
    assert_eq!(recorder.count(), 0);
    assert!(!done.fault.unwrap().indeterminate);
}

#[tokio::test]
async fn a_write_is_not_made_when_the_database_has_gone() {
    let (recorder, world) = desk().await;
    assert_eq!(code(&world.call("write", json!({})).await), None);
    std::fs::remove_file(world.data_dir().join("toolgate.db")).unwrap();
    let done = world.call("write", json!({})).await;
    assert_eq!(code(&done), Some(Code::StoreUnavailable));
    assert_eq!(recorder.count(), 1);
}

#[tokio::test]
async fn the_answer_of_a_read_that_cannot_be_recorded_is_withheld() {
    let (_, world) = desk().await;
    world.store.close().await;
    let done = world.call("read", json!({"secret": "hunter2"})).await;
    assert_eq!(code(&done), Some(Code::StoreUnavailable));
    assert!(!serde_json::to_string(done.cleared.get()).unwrap().contains("hunter2"));
}

/// CO-169: scope requested, granted subset, user, client, capability and trace, refused or not.
#[tokio::test]
async fn the_record_says_what_was_asked_for_and_what_was_granted() {
    let needs = json!({"permissions": ["mail.read:inbox", "mail.send"]});
    let world = TestGateway::new()
        .upstream("desk", Recorder::one("send", Script::Echo))
        .manifest("desk", manifest([capability("desk.send", "send", needs)]))
        .start()
        .await;
    let check = async |held: &[&str], granted: &[&str], status: RecordStatus| {
        let mut request = World::request("send", json!({}));
        request.caller.client = Some("assistant".to_owned());
        request.caller.grants = held.iter().map(|grant| Grant::read(grant)).collect();
        world.send(request).await;
        let record = world.last_record().await;
        let scopes = record.call.scopes.unwrap();
        assert_eq!(scopes.requested, ["mail.read:inbox", "mail.send"]);
        assert_eq!(
            (scopes.granted.as_slice(), record.status),
            (&granted.iter().map(|g| (*g).to_owned()).collect::<Vec<_>>()[..], status)
        );
        let chain: Vec<String> =
            record.call.principal_chain.iter().map(ToString::to_string).collect();
        assert_eq!(chain, ["user:ann", "agent:assistant"]);
        assert_eq!(record.call.capability_id.unwrap().as_str(), "desk.send");
        assert_eq!(record.call.trace_id.as_str().len(), 32);
    };
    check(&["mail.read"], &["mail.read:inbox"], RecordStatus::Denied).await;
    check(
        &["mail.read:*", "mail.send"],
        &["mail.read:inbox", "mail.send"],
        RecordStatus::Completed,
    )
    .await;
}

/// Reads alone may go unrecorded, and only those that were made.
#[tokio::test]
async fn skipped_reads_leave_no_record_and_everything_else_does() {
    let recorder = Recorder::one("write", Script::Echo)
        .tool(toolgate_testkit::tool("read", json!({})), Script::Echo);
    let world = TestGateway::new()
        .upstream("desk", recorder.clone())
        .manifest("desk", manifest([capability("desk.read", "read", json!({}))]))
        .settings(|settings| settings.reads = gateway::Reads::Skip)
        .start()
        .await;
    let done = world.call("read", json!({})).await;
    assert_eq!((code(&done), done.record_id), (None, None));
    assert_eq!(world.records().await.len(), 0);
    world.call("nobody", json!({})).await;
    world.call("write", json!({})).await;
    let statuses: Vec<_> = world.records().await.iter().map(|record| record.status).collect();
    assert_eq!(statuses, [RecordStatus::Failed, RecordStatus::Completed]);
}

#[tokio::test]
async fn a_write_is_on_record_before_the_upstream_sees_it() {
    let recorder = Recorder::one("write", Script::Wait(Answer::text("written")));
    let world = TestGateway::new().upstream("desk", recorder.clone()).start().await;
    let call = world.spawn(World::request("write", json!({})), Watch::default());
    let seen = recorder.arrived().await;
    let record = world.last_record().await;
    assert_eq!((record.status, record.call.call_id), (RecordStatus::Open, seen.call_id));
    recorder.release();
    call.await.unwrap();
    assert_eq!(world.last_record().await.status, RecordStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_calls_at_once_are_all_recorded_in_one_sound_chain() {
    let (recorder, world) = desk().await;
    let calls: Vec<_> = (0..30)
        .map(|number| {
            let name = if number % 2 == 0 { "write" } else { "read" };
            world.spawn(World::request(name, json!({"number": number})), Watch::default())
        })
        .collect();
    for call in calls {
        assert_eq!(code(&call.await.unwrap()), None);
    }
    assert_eq!(recorder.count(), 30);
    let records = world.records().await;
    let mut numbers: Vec<_> = records.iter().map(|r| r.call.args["number"].as_i64()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..30).map(Some).collect::<Vec<_>>());
    assert!(records.iter().all(|record| record.status == RecordStatus::Completed));
    let report = world.store.verify_chain().await.unwrap();
    assert_eq!((report.first_bad, report.entries), (None, 45));
}

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// No part of the database and no export has the token.
async fn is_nowhere(world: &World, what: &str) {
    let record = world.last_record().await;
    assert!(record.redacted, "{what}");
    let kept = serde_json::to_string(&record).unwrap();
    assert!(!kept.contains(TOKEN), "{what}: {kept}");
    let lines = world.store.records(&store::RecordFilter::default()).await.unwrap();
    let claims = world.store.claims(None).await.unwrap();
    let questions = world.store.approvals(None).await.unwrap();
    let shown = format!("{lines:?} {claims:?} {questions:?}");
    assert!(!shown.contains(TOKEN), "{what}: {shown}");
}

/// Secrets are no more on record for standing in an address, or in whatever else a caller may say.
#[tokio::test]
async fn a_secret_in_what_a_caller_says_is_not_on_record() {
    let (_, world) = shelf(Script::Echo, |_| ()).await;
    let said = |text: &str| Some(format!("{text} {TOKEN}"));
    let base = || World::request("peek", json!({}));
    let check = async |what: &str, request: CallRequest| {
        world.send(request).await;
        is_nowhere(&world, what).await;
    };
    let address = format!("https://docs.example/page?token={TOKEN}");
    check("name", World::request(&address, json!({}))).await;
    check("intent", CallRequest { intent: said("log in with"), ..base() }).await;
    check("run", CallRequest { run_id: said("run"), ..base() }).await;
    check("evidence", CallRequest { evidence: vec![said("ev").unwrap()], ..base() }).await;
    check("key", CallRequest { idempotency_key: said("k"), ..base() }).await;
    let put = World::request("put", json!({}));
    check("key of a write", CallRequest { idempotency_key: said("k"), ..put }).await;
    let method = Method::Other(format!("example/{TOKEN}"));
    check(
        "method",
        CallRequest { method, ..World::request(&format!("example/{TOKEN}"), json!({})) },
    )
    .await;
}

/// Has whatever address it is asked for, and lists one that holds a password.
#[derive(Debug)]
struct Mirror;

const LISTED: &str = "db://app:s3cr3t-Pa55@host/table";

#[async_trait]
impl Connector for Mirror {
    fn protocol(&self) -> &'static str {
        "mcp"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(Vec::new())
    }

    async fn offer(&self) -> Result<Offer, Fault> {
        let resources = vec![json!({"uri": LISTED, "name": "table"})];
        let capabilities = Map::from_iter([("resources".to_owned(), json!({}))]);
        Ok(Offer { resources, capabilities, ..Offer::default() })
    }

    async fn call(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        Ok(Answer::text("nothing"))
    }

    async fn ask(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        let content = json!({"uri": permit.params()["uri"], "text": "a page"});
        Ok(Answer::bare(Map::from_iter([("contents".to_owned(), json!([content]))])))
    }
}

#[tokio::test]
async fn a_secret_in_the_address_of_a_resource_is_not_on_record() {
    let secret = "hunter2-Tr0ub4dor9";
    let known = model::Secret::new(secret.to_owned());
    let world = TestGateway::new()
        .upstream("web", Mirror)
        .settings(|settings| settings.redactor = gateway::Redactor::knowing([&known]))
        .start()
        .await;
    let check = async |uri: &str, kept: &str| {
        let method = Method::ReadResource;
        let done = world.send(CallRequest { method, ..World::request(uri, json!({})) }).await;
        assert_eq!(code(&done), None, "{uri}");
        let record = world.last_record().await;
        assert_eq!(record.call.item_key.as_ref().unwrap().name, kept);
        let lines = world.store.records(&store::RecordFilter::default()).await.unwrap();
        assert_eq!(lines[0].tool, format!("web/{kept}"));
        is_nowhere(&world, uri).await;
        let body = serde_json::to_string(&record).unwrap();
        assert!(!body.contains("s3cr3t") && !body.contains(secret), "{body}");
    };
    let page = "https://docs.example/page";
    check(&format!("{page}?token={TOKEN}"), &format!("{page}?token=[redacted]")).await;
    check(&format!("{page}/{secret}"), &format!("{page}/[redacted]")).await;
    check("https://bob:s3cr3t-Pa55@docs.example/", "https://bob:[redacted]@docs.example/").await;
    check(LISTED, "db://app:[redacted]@host/table").await;
}

/// Two runs that differ in a secret alone are still two, and each is still one.
#[tokio::test]
async fn a_run_is_known_again_by_what_is_kept_of_its_name() {
    let (_, world) = shelf(Script::Echo, |_| ()).await;
    let run = async |name: String| {
        world.send(CallRequest { run_id: Some(name), ..World::request("peek", json!({})) }).await;
        world.last_record().await.call.run_id
    };
    let other = TOKEN.replace('4', "5");
    let one = run(format!("run {TOKEN}")).await;
    assert_eq!(run(format!("run {TOKEN}")).await, one);
    assert_ne!(run(format!("run {other}")).await, one);
    assert_eq!(run("run-7".to_owned()).await.as_str(), "run-7");
}
