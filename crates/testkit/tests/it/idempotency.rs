//! CO-84, CO-106: the same key takes effect once, whatever happens to the answer.

use std::time::Duration;

use gateway::{CallRequest, Watch};
use model::{Answer, Code, Principal, RecordStatus};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};

use crate::{code, up_to};

async fn bank(script: Script) -> (Recorder, World) {
    let recorder = Recorder::one("pay", script);
    let rule = json!({"required": true, "arg": "key", "dedup_window_seconds": 3600});
    let binding = json!({"class": "act", "idempotency": rule});
    let world = TestGateway::new()
        .upstream("bank", recorder.clone())
        .manifest("bank", manifest([capability("bank.pay", "pay", binding)]))
        .start()
        .await;
    (recorder, world)
}

fn five(key: &str) -> Value {
    json!({"amount": 5, "key": key})
}

/// Why the key was refused.
async fn conflict(world: &World, args: Value) -> Option<Value> {
    let done = world.call("pay", args).await;
    assert_eq!(code(&done), Some(Code::IdempotencyConflict));
    done.fault.unwrap().details.remove("state")
}

/// CO-106: a repeat gets the first answer, and the record says so.
#[tokio::test]
async fn the_same_key_and_arguments_get_the_stored_answer() {
    let (recorder, world) = bank(Script::Echo).await;
    let first = world.call("pay", five("k1")).await;
    let second = world.call("pay", five("k1")).await;
    assert_eq!(second.cleared, first.cleared);
    assert_eq!(recorder.count(), 1);
    assert!(!first.result.unwrap().deduplicated);
    assert!(second.result.unwrap().deduplicated);
    let record = world.last_record().await;
    let after_policy = ["idempotency", "stored", "output", "evidence", "sanitise"];
    assert_eq!(record.stages, [up_to("policy"), &after_policy[..]].concat());
    assert_eq!(record.status, RecordStatus::Completed);
    assert_eq!(record.call.idempotency_key.as_deref(), Some("k1"));
}

/// CO-106: who lost the answer to an approved call gets it again; nobody is asked twice.
#[tokio::test]
async fn a_repeat_of_an_approved_call_needs_no_second_yes() {
    let recorder = Recorder::one("pay", Script::Echo);
    let rule = json!({"required": true, "arg": "key"});
    let binding = json!({"class": "act", "requires_gate": "GATE_MONEY", "idempotency": rule});
    let gate = TestGateway::new().upstream("bank", recorder.clone());
    let world =
        gate.manifest("bank", manifest([capability("bank.pay", "pay", binding)])).start().await;
    let asked = world.call("pay", five("k1")).await;
    world.approve(&asked).await;
    let made = world.call("pay", five("k1")).await;
    let repeat = world.call("pay", five("k1")).await;
    assert_eq!((code(&repeat), &repeat.cleared), (None, &made.cleared));
    assert!(repeat.result.unwrap().deduplicated);
    assert_eq!(recorder.count(), 1);
    assert_eq!(world.gateway.approvals(None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_key_with_other_arguments_is_a_conflict() {
    let (recorder, world) = bank(Script::Echo).await;
    world.call("pay", five("k1")).await;
    assert_eq!(
        conflict(&world, json!({"amount": 6, "key": "k1"})).await,
        Some(json!("other_args"))
    );
    assert_eq!(recorder.count(), 1);
}

#[tokio::test]
async fn a_key_in_use_is_a_conflict_until_its_call_ends() {
    let (recorder, world) = bank(Script::Wait(Answer::text("paid"))).await;
    let running = world.spawn(World::request("pay", five("k1")), Watch::default());
    recorder.arrived().await;
    assert_eq!(conflict(&world, five("k1")).await, Some(json!("running")));
    recorder.release();
    assert_eq!(code(&running.await.unwrap()), None);
    let repeat = world.call("pay", five("k1")).await;
    assert!(repeat.result.unwrap().deduplicated);
    assert_eq!(recorder.count(), 1);
}

/// A write that got no answer may have happened: nobody may send it again without looking.
#[tokio::test]
async fn a_write_cut_off_by_its_timeout_is_of_unknown_outcome() {
    let (recorder, world) = bank(Script::Hang).await;
    let timeout = Some(Duration::from_millis(1));
    let done = world.send(CallRequest { timeout, ..World::request("pay", five("k1")) }).await;
    let fault = done.fault.unwrap();
    assert_eq!(fault.code, Code::UpstreamTimeout);
    assert!(fault.indeterminate && !fault.retryable());
    assert_eq!(conflict(&world, five("k1")).await, Some(json!("unknown")));
    assert_eq!(recorder.count(), 1);
}

#[tokio::test]
async fn a_tools_own_no_frees_the_key() {
    let (recorder, world) = bank(Script::Answer(Answer::error("account closed"))).await;
    for calls in 1..=2 {
        let done = world.call("pay", five("k1")).await;
        assert!(done.cleared.get().is_error);
        assert_eq!(recorder.count(), calls);
    }
}

#[tokio::test]
async fn keys_of_two_people_do_not_meet() {
    let (recorder, world) = bank(Script::Echo).await;
    world.call("pay", five("k1")).await;
    let bob = world.call_as(Principal::user("bob"), "pay", five("k1")).await;
    assert!(!bob.result.unwrap().deduplicated);
    assert_eq!(recorder.count(), 2);
}

/// CO-50 (the window).
#[tokio::test]
async fn a_key_is_free_again_after_its_window() {
    let (recorder, world) = bank(Script::Echo).await;
    world.call("pay", five("k1")).await;
    world.clock.advance(Duration::from_hours(1));
    world.call("pay", five("k1")).await;
    assert_eq!(recorder.count(), 2);
}

#[tokio::test]
async fn the_key_may_come_with_the_call_and_must_not_contradict_the_argument() {
    let (recorder, world) = bank(Script::Echo).await;
    let with_key = |args: Value| CallRequest {
        idempotency_key: Some("k1".to_owned()),
        ..World::request("pay", args)
    };
    assert_eq!(code(&world.send(with_key(json!({}))).await), None);
    let other = world.send(with_key(json!({"key": "k2"}))).await;
    assert_eq!(code(&other), Some(Code::ArgsInvalid));
    assert_eq!(recorder.count(), 1);
}

/// C35 and CO-199: a key that stands only in the envelope reaches the upstream in its argument.
#[tokio::test]
async fn the_key_goes_on_to_the_upstream() {
    let (recorder, world) = bank(Script::Echo).await;
    let request = World::request("pay", json!({"amount": 5}));
    let key = Some("k9".to_owned());
    world.send(CallRequest { idempotency_key: key, ..request }).await;
    assert_eq!(recorder.calls()[0].args, five("k9"));
    let record = world.last_record().await;
    assert_eq!(record.call.args, five("k9"));
    assert_eq!(record.call.args_hash, model::canonical::hash(&five("k9")));
    world.call("pay", five("k9")).await;
    assert_eq!(recorder.count(), 1, "both ways of giving a key mean the same key");
}

#[tokio::test]
async fn a_call_in_flight_is_waited_for() {
    let recorder = Recorder::one("pay", Script::Wait(Answer::text("paid")));
    let binding = json!({"class": "act", "idempotency": {"required": true, "arg": "key"}});
    let world = TestGateway::new()
        .upstream("bank", recorder.clone())
        .manifest("bank", manifest([capability("bank.pay", "pay", binding)]))
        .settings(|settings| settings.in_flight_wait = Duration::from_mins(1))
        .start()
        .await;
    let first = world.spawn(World::request("pay", five("k1")), Watch::default());
    recorder.arrived().await;
    let second = world.spawn(World::request("pay", five("k1")), Watch::default());
    recorder.release();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((code(&first), code(&second)), (None, None));
    assert_eq!(second.cleared, first.cleared);
    assert_eq!(recorder.count(), 1);
}

/// A secret that a tool returns is not kept for repeats, and nowhere in the data folder.
#[tokio::test]
async fn the_stored_answer_holds_no_secret() {
    let (recorder, world) = bank(Script::Echo).await;
    let secret = "hunter2x-Tr0ub4dor9";
    let args = json!({"key": "k1", "password": secret});
    let first = world.call("pay", args.clone()).await;
    let second = world.call("pay", args).await;
    assert!(second.result.unwrap().deduplicated);
    assert_eq!(second.cleared, first.cleared);
    assert_eq!(recorder.calls()[0].args["password"], secret);
    for file in std::fs::read_dir(world.data_dir()).unwrap() {
        let path = file.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let held = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!held, "{}", path.display());
    }
}
