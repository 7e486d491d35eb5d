//! CO-38, CO-133: a human says yes to exactly one call, and it is made exactly once.

use gateway::Watch;
use model::{ApprovalState, CallStatus, Code, Principal, RecordStatus};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};

use crate::{ROAD, code, refused};

async fn bank() -> (Recorder, World) {
    let recorder = Recorder::one("pay", Script::Echo);
    let world = bank_gate(&recorder).start().await;
    (recorder, world)
}

fn bank_gate(recorder: &Recorder) -> TestGateway {
    let binding =
        json!({"class": "act", "approval_mode": "destructive", "requires_gate": "GATE_MONEY"});
    TestGateway::new()
        .upstream("bank", recorder.clone())
        .manifest("bank", manifest([capability("bank.pay", "pay", binding)]))
}

fn euros(amount: u32) -> Value {
    json!({"amount": amount})
}

/// CO-38, CO-133: pending pauses the call; the human sees what will be sent.
#[tokio::test]
async fn a_call_that_needs_a_human_pauses_and_shows_what_will_be_sent() {
    let (recorder, world) = bank().await;
    let request = World::request("pay", euros(5));
    let (done, record) =
        refused(&world, &recorder, request, Code::ApprovalPending, "approval").await;
    assert_eq!(record.status, RecordStatus::Escalated);
    assert_eq!(done.result.as_ref().unwrap().status, CallStatus::Paused);
    let asked = world.gateway.approvals(Some(ApprovalState::Pending)).await.unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!((&asked[0].args, asked[0].tool.as_str()), (&euros(5), "bank/pay"));
    assert_eq!(
        (asked[0].requested_by.as_str(), asked[0].gate.as_str()),
        ("user:ann", "GATE_MONEY")
    );
    assert_eq!(Some(&asked[0].approval_id), record.approval_id.as_ref());
}

#[tokio::test]
async fn an_approved_call_is_made_once_and_the_next_one_asks_anew() {
    let (recorder, world) = bank().await;
    let first = world.call("pay", euros(5)).await;
    let approval = world.approve(&first).await;

    let second = world.call("pay", euros(5)).await;
    assert_eq!(code(&second), None);
    let record = world.last_record().await;
    assert_eq!(record.stages, ROAD);
    assert_eq!(record.status, RecordStatus::Completed);
    assert_eq!(record.approval_id.as_ref(), Some(&approval.approval_id));
    assert_eq!(recorder.calls()[0].approval_id.as_ref(), Some(&approval.approval_id));

    let request = World::request("pay", euros(5));
    let (third, _) = refused(&world, &recorder, request, Code::ApprovalPending, "approval").await;
    assert_ne!(third.result.unwrap().approval_id, Some(approval.approval_id));
    assert_eq!(recorder.count(), 1);
}

/// CO-133: an explicit no is told as such, also to the one who tries again.
#[tokio::test]
async fn a_rejected_call_is_refused_with_the_reason_and_not_asked_again() {
    let (recorder, world) = bank().await;
    let first = world.call("pay", euros(5)).await;
    world.reject(&first, "too much").await;
    for _ in 0..2 {
        let request = World::request("pay", euros(5));
        let (done, record) =
            refused(&world, &recorder, request, Code::ApprovalRejected, "approval").await;
        assert!(done.fault.unwrap().message.contains("too much"));
        assert_eq!(record.status, RecordStatus::Denied);
        assert_eq!(done.result.unwrap().status, CallStatus::Rejected);
    }
    assert_eq!(world.gateway.approvals(None).await.unwrap().len(), 1);
}

/// CO-38: neither a question nor a yes lasts for ever.
#[tokio::test]
async fn an_expired_yes_releases_nothing() {
    let (recorder, world) = bank().await;
    let first = world.call("pay", euros(5)).await;
    let approval = world.approve(&first).await;
    world.clock.advance(model::limits::APPROVAL_TTL_DEFAULT);
    let request = World::request("pay", euros(5));
    let (done, _) = refused(&world, &recorder, request, Code::ApprovalPending, "approval").await;
    assert_ne!(done.result.unwrap().approval_id, Some(approval.approval_id));
}

/// CO-38: a yes to five is no yes to fifty, and ann's is not bob's.
#[tokio::test]
async fn a_yes_releases_no_other_arguments_and_no_other_caller() {
    let (recorder, world) = bank().await;
    let first = world.call("pay", euros(5)).await;
    world.approve(&first).await;
    let request = World::request("pay", euros(50));
    refused(&world, &recorder, request, Code::ApprovalPending, "approval").await;
    let bob = world.call_as(Principal::user("bob"), "pay", euros(5)).await;
    assert_eq!((code(&bob), recorder.count()), (Some(Code::ApprovalPending), 0));
    assert_eq!(code(&world.call("pay", euros(5)).await), None);
    assert_eq!(recorder.count(), 1);
}

/// Whatever goes out beside the arguments is part of what was asked about.
#[tokio::test]
async fn a_yes_releases_nothing_else_beside_the_arguments() {
    let (recorder, world) = bank().await;
    let first = world.call("pay", euros(5)).await;
    world.approve(&first).await;
    let params = json!({"task": {"ttl": 60_000}}).as_object().cloned().unwrap();
    let other = gateway::CallRequest { params, ..World::request("pay", euros(5)) };
    refused(&world, &recorder, other, Code::ApprovalPending, "approval").await;
}

/// A tenant's yes is not another tenant's, though the callers have one name.
#[tokio::test]
async fn a_yes_releases_no_call_of_another_tenant() {
    let (recorder, world) = bank().await;
    let of =
        |tenant: &str| Principal { tenant_id: Some(tenant.to_owned()), ..Principal::user("ann") };
    let first = world.call_as(of("one"), "pay", euros(5)).await;
    world.approve(&first).await;
    let other = world.call_as(of("two"), "pay", euros(5)).await;
    assert_eq!((code(&other), recorder.count()), (Some(Code::ApprovalPending), 0));
    assert_eq!(code(&world.call_as(of("one"), "pay", euros(5)).await), None);
}

/// A question that is pending when the gate stops is still there for the next one, and so is a yes.
#[tokio::test]
async fn a_question_and_its_answer_outlive_the_gate() {
    let (recorder, world) = bank().await;
    let first = world.call("pay", euros(5)).await;
    let asked = first.result.unwrap().approval_id.unwrap();
    let world = world.restart(bank_gate(&recorder)).await;
    let waiting = world.gateway.approvals(Some(ApprovalState::Pending)).await.unwrap();
    assert_eq!(waiting.iter().map(|a| &a.approval_id).collect::<Vec<_>>(), [&asked]);
    let again = world.call("pay", euros(5)).await;
    assert_eq!(again.result.as_ref().unwrap().approval_id.as_ref(), Some(&asked));
    world.approve(&again).await;
    let world = world.restart(bank_gate(&recorder)).await;
    assert_eq!(code(&world.call("pay", euros(5)).await), None);
    assert_eq!(recorder.count(), 1);
}

/// 64 at once: SECURITY.md's figure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_calls_one_yes_releases_one() {
    let (recorder, world) = bank().await;
    let first = world.call("pay", euros(5)).await;
    world.approve(&first).await;
    let calls: Vec<_> =
        (0..64).map(|_| world.spawn(World::request("pay", euros(5)), Watch::default())).collect();
    let mut made = 0;
    for call in calls {
        made += usize::from(call.await.unwrap().fault.is_none());
    }
    assert_eq!((made, recorder.count()), (1, 1));
}

/// The question shows no secret, and the call that it releases still carries it.
#[tokio::test]
async fn a_question_shows_no_secret() {
    let (recorder, world) = bank().await;
    let args = json!({"amount": 5, "password": "hunter2x-Tr0ub4dor9"});
    let first = world.call("pay", args.clone()).await;
    let asked = world.gateway.approvals(Some(ApprovalState::Pending)).await.unwrap();
    assert_eq!(asked[0].args, json!({"amount": 5, "password": "[redacted]"}));
    world.approve(&first).await;
    assert_eq!(code(&world.call("pay", args.clone()).await), None);
    assert_eq!(recorder.calls()[0].args, args);
}

/// Nobody was shown what a client sends along in `_meta`: a call that was approved goes without it.
#[tokio::test]
async fn what_nobody_was_shown_does_not_go_out_with_a_yes() {
    let (recorder, world) = bank().await;
    let with_meta = |value: &str| {
        let meta = json!({"bank/really": value}).as_object().cloned().unwrap();
        gateway::CallRequest { meta, ..World::request("pay", euros(5)) }
    };
    let first = world.send(with_meta("no")).await;
    world.approve(&first).await;
    assert_eq!(code(&world.send(with_meta("yes")).await), None);
    assert_eq!(recorder.calls()[0].meta, serde_json::Map::new());
}
