//! CO-84, CO-106: the same key takes effect once, whatever happens to the answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use auth::Credentials;
use gateway::{CallRequest, Watch};
use model::{Answer, Code, Fault, Principal, RecordStatus};
use policy::Permit;
use serde_json::{Value, json};
use toolgate_testkit::{
    FaultyHttp, Recorder, Rest, Script, TestGateway, World, capability, manifest,
};
use upstream::http::Http;
use upstream::mcp::Age;
use upstream::openapi::OpenApi;
use upstream::{Connector, Errand};

use crate::{code, up_to};

/// Makes a payment once for each key.
fn once() -> Value {
    let rule = json!({"required": true, "arg": "key", "dedup_window_seconds": 3600});
    json!({"class": "act", "idempotency": rule})
}

async fn bank(script: Script) -> (Recorder, World) {
    let recorder = Recorder::one("pay", script);
    let world = TestGateway::new()
        .upstream("bank", recorder.clone())
        .manifest("bank", manifest([capability("bank.pay", "pay", once())]))
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

/// A key that is a secret is kept as a digest, and keeps its call from being made twice all the same;
/// also where the gate has only now learnt that it is one.
#[tokio::test]
async fn a_key_that_holds_a_secret_is_known_again() {
    let secret = "hunter2-Tr0ub4dor9";
    let check = async |key: &str, learnt: bool| {
        let (recorder, world) = bank(Script::Echo).await;
        let first = world.call("pay", five(key)).await;
        let next = TestGateway::new().upstream("bank", recorder.clone());
        let next = next.manifest("bank", manifest([capability("bank.pay", "pay", once())]));
        let known = model::Secret::new(secret.to_owned());
        let next = next.settings(|settings| {
            settings.redactor = gateway::Redactor::knowing(learnt.then_some(&known));
        });
        let world = world.restart(next).await;
        let second = world.call("pay", five(key)).await;
        assert_eq!((code(&first), code(&second)), (None, None), "{key}");
        assert!(second.result.unwrap().deduplicated, "{key}");
        assert_eq!(recorder.count(), 1, "{key}");
        let sent: Vec<_> = recorder.calls().iter().map(|call| call.args["key"].clone()).collect();
        assert_eq!(sent, [json!(key)], "the upstream gets the key itself");
    };
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    check(token, false).await;
    check(secret, true).await;
    check("plain", true).await;
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

/// The same holds for an answer that cannot be used; a refusal in the upstream's own words is one.
#[tokio::test]
async fn an_answer_that_cannot_be_used_leaves_a_write_in_doubt() {
    let check = async |fault: Fault, in_doubt: bool| {
        let (recorder, world) = bank(Script::Fault(fault.clone())).await;
        let told = world.call("pay", five("k1")).await.fault.unwrap();
        assert_eq!((told.code, told.indeterminate), (fault.code, in_doubt), "{fault:?}");
        let again = code(&world.call("pay", five("k1")).await);
        let expected = if in_doubt { Code::IdempotencyConflict } else { fault.code };
        assert_eq!(again, Some(expected), "{fault:?}");
        assert_eq!(recorder.count(), if in_doubt { 1 } else { 2 }, "{fault:?}");
    };
    let error = || Fault::new(Code::UpstreamError, "not JSON-RPC");
    check(error(), true).await;
    check(error().with("status", 502), true).await;
    check(error().with("status", 404), false).await;
    check(error().said_by_upstream(-32602, "no such account".to_owned(), None), false).await;
    check(Fault::new(Code::UpstreamUnavailable, "gone"), true).await;
    check(Fault::new(Code::AuthFailed, "not you"), false).await;
}

/// The same over a wire: what is no answer at all does not free the key.
#[tokio::test]
async fn garbage_in_place_of_an_answer_leaves_a_write_in_doubt() {
    let server = FaultyHttp::start("garbage").await;
    let http = Http::new(&server.url, &Credentials::default(), Age::Auto).unwrap();
    let world = TestGateway::new().upstream("bad", http).start().await;
    server.err(true);
    let request = || CallRequest {
        idempotency_key: Some("k1".to_owned()),
        timeout: Some(Duration::from_secs(5)),
        ..World::request("echo", json!({"n": 1}))
    };
    let told = world.send(request()).await.fault.unwrap();
    assert!(told.indeterminate, "{told:?}");
    server.err(false);
    let again = world.send(request()).await.fault.unwrap();
    let state = again.details.get("state");
    assert_eq!((again.code, state), (Code::IdempotencyConflict, Some(&json!("unknown"))));
}

/// Does not answer the first time, and says no from then on.
#[derive(Debug, Default)]
struct Fickle(AtomicUsize);

#[async_trait]
impl Connector for Fickle {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(vec![toolgate_testkit::tool("pay", json!({}))])
    }

    async fn call(&self, _permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Fault::new(Code::UpstreamTimeout, "no answer")),
            _ => Err(Fault::new(Code::UpstreamError, "refused").said_by_upstream(
                -32602,
                "paid already".to_owned(),
                None,
            )),
        }
    }
}

/// Whatever the last attempt came to, the first may have taken effect.
#[tokio::test]
async fn a_doubt_outlasts_the_attempts_after_it() {
    let retry = json!({"max_attempts": 2, "codes": ["UPSTREAM_TIMEOUT"], "base_ms": 0});
    let binding = json!({"class": "act", "idempotency": {"arg": "key"}, "retry": retry});
    let contract = manifest([capability("bank.pay", "pay", binding)]);
    let gate = TestGateway::new().upstream("bank", Fickle::default());
    let world = gate.manifest("bank", contract).start().await;
    let told = world.call("pay", five("k1")).await.fault.unwrap();
    assert_eq!((told.code, told.indeterminate), (Code::UpstreamError, true));
    assert_eq!(world.last_record().await.result.unwrap().metrics.retry_count, 1);
    assert_eq!(conflict(&world, five("k1")).await, Some(json!("unknown")));
}

/// A service that breaks while it writes may have written.
#[tokio::test]
async fn a_service_that_breaks_in_a_write_leaves_it_in_doubt() {
    let service = Rest::start().await;
    let shelf = OpenApi::new(service.document(), Some(&service.base), Credentials::default());
    let world = TestGateway::new().upstream("library", shelf.unwrap()).start().await;
    let put = async |status: u16| {
        let request = World::request("shelf_put", json!({"number": status}));
        let key = Some(format!("k{status}"));
        let done = world.send(CallRequest { idempotency_key: key, ..request }).await;
        let state = done.fault.as_ref().and_then(|fault| fault.details.get("state").cloned());
        (code(&done), state, done.cleared.get().is_error)
    };
    assert_eq!(put(500).await, (Some(Code::UpstreamError), None, true));
    assert_eq!(put(500).await, (Some(Code::IdempotencyConflict), Some(json!("unknown")), true));
    assert_eq!(put(422).await, (None, None, true));
    assert_eq!(put(422).await, (None, None, true), "it said no, so the key is free");
}

/// A key counts wherever it comes from, also for a tool nobody has declared.
#[tokio::test]
async fn a_key_counts_for_a_tool_that_declares_none() {
    let check = async |binding: Option<Value>, effects: usize| {
        let recorder = Recorder::one("pay", Script::Echo);
        let mut gate = TestGateway::new().upstream("bank", recorder.clone());
        if let Some(binding) = binding {
            gate = gate.manifest("bank", manifest([capability("bank.pay", "pay", binding)]));
        }
        let world = gate.start().await;
        let request = || CallRequest {
            idempotency_key: Some("k1".to_owned()),
            ..World::request("pay", json!({"amount": 5}))
        };
        let first = world.send(request()).await;
        let second = world.send(request()).await;
        assert_eq!((code(&second), &second.cleared), (None, &first.cleared));
        assert_eq!(recorder.count(), effects);
        assert_eq!(recorder.calls()[0].meta["toolgate/idempotency_key"], "k1");
        let record = world.last_record().await;
        assert_eq!(record.call.idempotency_key.as_deref(), Some("k1"));
        assert_eq!(second.result.unwrap().deduplicated, effects == 1);
        world.send(World::request("pay", json!({"amount": 5}))).await;
        assert_eq!(recorder.count(), effects + 1, "without a key, nothing is remembered");
    };
    check(None, 1).await;
    check(Some(json!({"class": "act"})), 1).await;
    // What only reads is read anew.
    check(Some(json!({})), 2).await;
}

/// A policy that asks for a key gets what a key is for.
#[tokio::test]
async fn a_key_that_a_policy_asks_for_counts() {
    let recorder = Recorder::one("pay", Script::Echo);
    let world = TestGateway::new()
        .upstream("bank", recorder.clone())
        .policy("@id(\"keyed\") @obligations(\"idempotency_key\") permit (principal, action, resource);")
        .start()
        .await;
    let keyless = world.call("pay", json!({"amount": 5})).await;
    assert_eq!(code(&keyless), Some(Code::IdempotencyMissing));
    for _ in 0..2 {
        let done = world.call("pay", json!({"amount": 5, "idempotency_key": "k1"})).await;
        assert_eq!(code(&done), None);
    }
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

/// The same where the arguments go on letter by letter: what is sent has the key, too.
#[tokio::test]
async fn the_key_goes_on_with_numbers_as_they_are_written() {
    let check = async |args: Value, written: &str, wanted: &str| {
        let (recorder, world) = bank(Script::Echo).await;
        let (key, written) = (Some("k\"9".to_owned()), Some(written.to_owned()));
        let request = World::request("pay", args);
        world.send(CallRequest { idempotency_key: key, written, ..request }).await;
        assert_eq!(recorder.calls()[0].written.as_deref(), Some(wanted));
    };
    check(json!({"n": 100.0}), r#"{"n":1e2 }"#, r#"{"n":1e2 ,"key":"k\"9"}"#).await;
    check(json!({}), "{ } ", r#"{ "key":"k\"9"}"#).await;
}

/// What no value holds has no hash that would tell it from its like, so it is not sent.
#[tokio::test]
async fn numbers_too_long_to_be_told_apart_share_no_key() {
    let (recorder, world) = bank(Script::Echo).await;
    for account in ["18446744073709551617", "18446744073709551618"] {
        let text = format!(r#"{{"key":"k1","account":{account}}}"#);
        let args = serde_json::from_str(&text).unwrap();
        let request = World::request("pay", args);
        let done = world.send(CallRequest { written: Some(text), ..request }).await;
        assert_eq!(code(&done), Some(Code::ArgsInvalid));
    }
    assert_eq!(recorder.count(), 0);
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
