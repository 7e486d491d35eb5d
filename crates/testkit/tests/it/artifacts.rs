//! Answers too long to show: kept whole, shown in part, and only to their owner.

use gateway::{Done, Mode};
use model::{Answer, Caller, Handle, Principal, Selector};
use serde_json::json;
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};

use crate::code;

/// Three hundred lines, far more than is shown inline.
fn ledger() -> String {
    let lines: Vec<String> =
        (1..=300).map(|number| format!("line {number} of the ledger")).collect();
    lines.join("\n")
}

async fn export(mode: Mode) -> (World, Done) {
    let recorder = Recorder::one("export", Script::Answer(Answer::text(ledger())));
    let gate = TestGateway::new().upstream("books", recorder);
    let world = gate.settings(|settings| settings.mode = mode).start().await;
    let done = world.call("export", json!({})).await;
    assert_eq!(code(&done), None);
    (world, done)
}

fn handle(done: &Done) -> Handle {
    done.result.as_ref().unwrap().artifacts.first().unwrap().handle.clone()
}

#[tokio::test]
async fn a_long_answer_is_kept_under_a_handle_that_its_owner_can_read() {
    for mode in [Mode::Gateway, Mode::Transparent] {
        let (world, done) = export(mode).await;
        let handle = handle(&done);
        let shown = done.cleared.get().full_text();
        assert!(shown.contains(handle.as_str()), "{shown}");
        assert!(shown.chars().count() < ledger().chars().count() / 2);

        let lines = Selector::Lines { start: 298, end: 300 };
        let view = world.gateway.view(&World::ann(), handle.as_str(), &lines).await;
        let text = view.get().full_text();
        assert!(!view.get().is_error && text.contains("line 299 of the ledger"), "{text}");
        let head = Selector::Head { chars: 20 };
        let view = world.gateway.view(&World::ann(), handle.as_str(), &head).await;
        assert!(view.get().full_text().starts_with("line 1 of the ledger"));
        assert_eq!(world.last_record().await.result.unwrap().artifacts[0].handle, handle);
    }
}

#[tokio::test]
async fn native_mode_passes_a_long_answer_whole() {
    let (_, done) = export(Mode::Native).await;
    assert_eq!(done.cleared.get().full_text(), ledger());
    assert_eq!(done.result.unwrap().artifacts, []);
}

/// Knowing a handle is not owning it: a foreign one is as good as none.
#[tokio::test]
async fn a_foreign_handle_is_answered_like_an_unknown_one() {
    let (world, done) = export(Mode::Gateway).await;
    let handle = handle(&done);
    let bob = Caller::new(Principal::user("bob"));
    let head = Selector::Head { chars: 500 };
    let foreign = world.gateway.view(&bob, handle.as_str(), &head).await;
    let unknown = world.gateway.view(&bob, "art_0", &head).await;
    assert!(unknown.get().is_error);
    let spelt = |cleared: &gateway::Cleared, handle: &str| {
        serde_json::to_string(cleared.get()).unwrap().replace(handle, "HANDLE")
    };
    assert_eq!(spelt(&foreign, handle.as_str()), spelt(&unknown, "art_0"));
}

/// Tenants do not know each other: a namesake in another one is somebody else.
#[tokio::test]
async fn a_namesake_in_another_tenant_reads_nothing() {
    let recorder = Recorder::one("export", Script::Answer(Answer::text(ledger())));
    let world = TestGateway::new().upstream("books", recorder).start().await;
    let of = |tenant: Option<&str>| {
        let tenant_id = tenant.map(str::to_owned);
        Principal { tenant_id, ..Principal::user("ann") }
    };
    let handle = handle(&world.call_as(of(Some("one")), "export", json!({})).await);
    let check = async |tenant: Option<&str>, seen: bool| {
        let caller = Caller::new(of(tenant));
        let view = world.gateway.view(&caller, handle.as_str(), &Selector::Head { chars: 9 }).await;
        assert_eq!(!view.get().is_error, seen, "{tenant:?}");
    };
    check(Some("one"), true).await;
    check(Some("two"), false).await;
    check(None, false).await;
}

/// C28: the seed's handle means its own call, and unqualified the newest of the session.
#[tokio::test]
async fn the_seeds_handle_is_an_alias_within_its_call_and_session() {
    let script = |n: usize| {
        let rows: Vec<_> = (0..400).map(|row| json!({"row": row, "call": n})).collect();
        Script::Answer(Answer::structured(json!({"call": n, "rows": rows})))
    };
    let recorder = Recorder::new()
        .tool(toolgate_testkit::tool("first", json!({})), script(1))
        .tool(toolgate_testkit::tool("second", json!({})), script(2));
    let world = TestGateway::new().upstream("books", recorder).start().await;
    let in_session = |name: &str| {
        let session = Some(model::SessionId::from_string(name));
        Caller { session, ..World::ann() }
    };
    let mut calls = Vec::new();
    for session in ["s1", "s2"] {
        let request = gateway::CallRequest::new(in_session(session), "first", json!({}));
        calls.push(world.send(request).await.result.unwrap().call_id);
    }
    let alias = "mcp:first:structured_content";
    let pointer = Selector::JsonPointer { pointer: "/call".to_owned() };
    let see = async |session: &str, handle: &str| {
        let view = world.gateway.view(&in_session(session), handle, &pointer).await;
        (!view.get().is_error).then(|| view.get().full_text())
    };
    assert_eq!(see("s1", alias).await.as_deref(), Some("1"));
    assert_eq!(see("s3", alias).await, None);
    assert_eq!(see("s3", &format!("{}/{alias}", calls[0])).await.as_deref(), Some("1"));
    assert_eq!(see("s1", "mcp:second:structured_content").await, None);
}

/// The bytes that evidence rests on outlive every other; their id is the hash the evidence cites.
#[tokio::test]
async fn what_evidence_rests_on_is_kept_when_the_rest_expires() {
    let rows: Vec<_> = (0..400).map(|row| json!({"row": row})).collect();
    let paid = Answer::structured(json!({"receipt": "r1", "rows": rows}));
    let recorder = Recorder::new()
        .tool(toolgate_testkit::tool("pay", json!({})), Script::Answer(paid))
        .tool(toolgate_testkit::tool("export", json!({})), Script::Answer(Answer::text(ledger())));
    let binding = capability(
        "bank.pay",
        "pay",
        json!({"evidence_keys": ["receipt"], "data_class": "confidential"}),
    );
    let manifest = manifest([binding]);
    let gate = TestGateway::new().upstream("bank", recorder).manifest("bank", manifest);
    let world = gate.start().await;
    let paid = world.call("pay", json!({})).await.result.unwrap();
    let exported = world.call("export", json!({})).await;
    let kept = paid.artifacts.first().unwrap();
    assert_eq!(kept.artifact_id.as_str(), paid.evidence[0].payload_hash);
    assert_eq!((kept.class, paid.evidence[0].class), (model::Class::Confidential, kept.class));

    world.clock.advance(model::limits::ARTIFACT_TTL_DEFAULT);
    let head = Selector::Head { chars: 20 };
    let see = async |handle: &Handle| {
        !world.gateway.view(&World::ann(), handle.as_str(), &head).await.get().is_error
    };
    assert!(see(&kept.handle).await);
    assert!(!see(&handle(&exported)).await);
}

/// CO-37: looking into an answer is ruled by `view`, and what no record tells of is refused.
#[tokio::test]
async fn a_policy_that_cannot_tell_whose_answer_it_was_lets_nobody_look() {
    let check = async |policy: &str, reads: gateway::Reads, seen: bool| {
        let recorder = Recorder::one("export", Script::Answer(Answer::text(ledger())));
        let reads_only = json!({"class": "observe", "approval_mode": "read_only"});
        let contract = manifest([capability("books.export", "export", reads_only)]);
        let gate = TestGateway::new().upstream("books", recorder).manifest("books", contract);
        let gate = gate.policy(policy).settings(|settings| settings.reads = reads);
        let world = gate.start().await;
        let done = world.call("export", json!({})).await;
        let head = Selector::Head { chars: 20 };
        let view = world.gateway.view(&World::ann(), handle(&done).as_str(), &head).await;
        assert_eq!(!view.get().is_error, seen, "{policy} {reads:?}");
    };
    let (all, keep, skip) =
        ("permit(principal, action, resource);", gateway::Reads::Keep, gateway::Reads::Skip);
    let some = "permit(principal, action, resource) when { resource.upstream == \"books\" };";
    let blind = "permit(principal, action, resource);
        forbid(principal, action == Action::\"view\", resource);";
    for reads in [keep, skip] {
        check(all, reads, true).await;
        check(some, reads, true).await;
        check(blind, reads, false).await;
    }
}

/// The record is gone, or the tool is: then there is nothing a policy could speak of.
#[tokio::test]
async fn what_is_no_longer_on_record_or_offered_cannot_be_looked_into() {
    let some = "permit(principal, action, resource) when { resource.upstream == \"books\" };";
    let gate = |tool: &str| {
        let recorder = Recorder::one(tool, Script::Answer(Answer::text(ledger())));
        TestGateway::new().upstream("books", recorder).policy(some)
    };
    let world = gate("export").start().await;
    let handle = handle(&world.call("export", json!({})).await);
    let head = Selector::Head { chars: 20 };
    let world = world.restart(gate("export")).await;
    assert!(!world.gateway.view(&World::ann(), handle.as_str(), &head).await.get().is_error);
    let world = world.restart(gate("other")).await;
    assert!(world.gateway.view(&World::ann(), handle.as_str(), &head).await.get().is_error);
}
