//! What a caller, a tool, an upstream and a run may use, each refusing on its own.

use gateway::{CallRequest, Rate, Settings, Watch};
use model::run::RunBudget;
use model::{Answer, Caller, Code, Fault, Principal};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};

use crate::{code, refused, shelf};

fn in_run(run: &str, name: &str, args: Value) -> CallRequest {
    CallRequest { run_id: Some(run.to_owned()), ..World::request(name, args) }
}

/// CO-40: how often and how many at once, for each caller, tool and upstream.
#[tokio::test]
async fn a_caller_a_tool_and_an_upstream_have_rates_of_their_own() {
    let twice = Rate { per_minute: Some(2), in_flight: None };
    let check = async |change: fn(&mut Settings, Rate), what: &str, others: [bool; 3]| {
        let (recorder, world) = shelf(Script::Echo, |settings| change(settings, twice)).await;
        for _ in 0..2 {
            assert_eq!(code(&world.call("peek", json!({})).await), None);
        }
        let request = World::request("peek", json!({}));
        let (done, _) = refused(&world, &recorder, request, Code::RateLimited, "limits").await;
        assert!(done.fault.unwrap().message.contains(what));
        let bob = Principal::user("bob");
        let got = [
            world.call("put", json!({})).await.fault.is_none(),
            world.call_as(bob.clone(), "peek", json!({})).await.fault.is_none(),
            world.call_as(bob, "put", json!({})).await.fault.is_none(),
        ];
        assert_eq!(got, others, "{what}");
    };
    let caller: fn(&mut Settings, Rate) = |settings, rate| settings.rates.per_caller = rate;
    Box::pin(check(caller, "of this caller", [false, true, true])).await;
    let tool: fn(&mut Settings, Rate) = |settings, rate| settings.rates.per_tool = rate;
    Box::pin(check(tool, "of this tool by all", [true, false, true])).await;
    let upstream: fn(&mut Settings, Rate) = |settings, rate| settings.rates.per_upstream = rate;
    Box::pin(check(upstream, "of this upstream", [false, false, false])).await;
}

#[tokio::test]
async fn one_caller_cannot_take_every_place() {
    let one = Rate { per_minute: None, in_flight: Some(1) };
    let wait = Script::Wait(Answer::text("done"));
    let (recorder, world) = shelf(wait, |settings| settings.rates.per_caller = one).await;
    let running = world.spawn(World::request("peek", json!({})), Watch::default());
    recorder.arrived().await;
    let request = World::request("put", json!({}));
    refused(&world, &recorder, request, Code::RateLimited, "limits").await;
    recorder.release();
    assert_eq!(code(&running.await.unwrap()), None);
    assert_eq!(code(&world.call("put", json!({})).await), None);
}

#[tokio::test]
async fn a_run_that_has_used_up_its_budget_is_refused_and_others_are_not() {
    let budget = RunBudget { max_calls: Some(2), ..RunBudget::default() };
    let (recorder, world) = shelf(Script::Echo, |s| s.runs.budget = budget).await;
    for number in 0..2 {
        let done = world.send(in_run("r1", "peek", json!({"n": number}))).await;
        assert_eq!(code(&done), None);
    }
    let third = in_run("r1", "peek", json!({"n": 3}));
    let (done, record) = refused(&world, &recorder, third, Code::BudgetExceeded, "limits").await;
    let details = done.fault.unwrap().details;
    assert_eq!((&details["budget"], &details["limit"]), (&json!("calls"), &json!(2)));
    assert_eq!(record.call.run_id.as_str(), "r1");
    assert_eq!(code(&world.send(in_run("r2", "peek", json!({}))).await), None);
    let bob = Caller::new(Principal::user("bob"));
    let bobs = CallRequest { caller: bob, ..in_run("r1", "peek", json!({})) };
    assert_eq!(code(&world.send(bobs).await), None, "another's run of the same name");
}

#[tokio::test]
async fn writes_are_counted_apart_and_refused_calls_not_at_all() {
    let budget = RunBudget { max_write_calls: Some(1), ..RunBudget::default() };
    let (recorder, world) = shelf(Script::Echo, |s| s.runs.budget = budget).await;
    assert_eq!(
        code(&world.send(in_run("r", "nowhere", json!({}))).await),
        Some(Code::ToolNotFound)
    );
    assert_eq!(code(&world.send(in_run("r", "put", json!({}))).await), None);
    let second = in_run("r", "put", json!({}));
    refused(&world, &recorder, second, Code::BudgetExceeded, "limits").await;
    assert_eq!(code(&world.send(in_run("r", "peek", json!({}))).await), None);
}

#[tokio::test]
async fn what_models_read_counts_in_bytes_and_tokens() {
    for budget in [
        RunBudget { max_result_bytes: Some(100), ..RunBudget::default() },
        RunBudget { max_tokens: Some(20), ..RunBudget::default() },
    ] {
        let answer = Script::Answer(Answer::text("many words ".repeat(40)));
        let (recorder, world) = shelf(answer, |s| s.runs.budget = budget).await;
        assert_eq!(code(&world.send(in_run("r", "peek", json!({"n": 1}))).await), None);
        let second = in_run("r", "peek", json!({"n": 2}));
        refused(&world, &recorder, second, Code::BudgetExceeded, "limits").await;
    }
}

/// CO-132: the gate's own repeats count towards the budget like the caller's.
#[tokio::test]
async fn what_the_gate_tries_again_by_itself_is_charged_to_the_run() {
    let check = async |retries: u64, wanted: Code| {
        let down = Fault::new(Code::UpstreamUnavailable, "no");
        let recorder = Recorder::one("peek", Script::Fault(down));
        let retry = json!({"max_attempts": 3, "codes": ["UPSTREAM_UNAVAILABLE"], "base_ms": 1});
        let over = json!({"class": "observe", "approval_mode": "read_only", "retry": retry});
        let binding = capability("shelf.peek", "peek", over);
        let gate = TestGateway::new().upstream("shelf", recorder.clone());
        let gate = gate.manifest("shelf", manifest([binding])).settings(|settings| {
            settings.runs.budget = RunBudget { max_retries: Some(retries), ..RunBudget::default() };
        });
        let world = gate.start().await;
        let call = async || world.send(in_run("r", "peek", json!({}))).await;
        assert_eq!(code(&call().await), Some(Code::UpstreamUnavailable));
        assert_eq!(recorder.count(), 3);
        assert_eq!(code(&call().await), Some(wanted), "{retries}");
    };
    check(2, Code::BudgetExceeded).await;
    check(3, Code::UpstreamUnavailable).await;
}

/// CO-132: a timeout says that it may be tried again; trying again has a budget, and a guard.
#[tokio::test]
async fn trying_again_has_a_budget_and_repeating_oneself_an_end() {
    let late = Script::Fault(Fault::new(Code::UpstreamTimeout, "no answer"));
    let budget = RunBudget { max_retries: Some(1), ..RunBudget::default() };
    let (recorder, world) = shelf(late.clone(), |s| s.runs.budget = budget).await;
    let call = || in_run("r", "peek", json!({"n": 1}));
    for _ in 0..2 {
        let done = world.send(call()).await;
        assert_eq!(code(&done), Some(Code::UpstreamTimeout));
        assert!(done.cleared.get().is_error && done.fault.unwrap().retryable());
    }
    let (done, _) = refused(&world, &recorder, call(), Code::BudgetExceeded, "limits").await;
    assert_eq!(done.fault.unwrap().details["budget"], "retries");

    let (recorder, world) = shelf(Script::Echo, |s| s.runs.same_call = Some(3)).await;
    for _ in 0..3 {
        assert_eq!(code(&world.send(call()).await), None);
    }
    refused(&world, &recorder, call(), Code::LoopGuard, "limits").await;
    assert_eq!(code(&world.send(in_run("r", "peek", json!({"n": 2}))).await), None);
}

/// What a run has used up is among the facts of a policy.
#[tokio::test]
async fn a_policy_may_look_at_what_the_run_has_used_up() {
    let recorder = Recorder::one("put", Script::Echo);
    let world = TestGateway::new()
        .upstream("shelf", recorder.clone())
        .policy(
            "permit(principal, action, resource);
             @gate(\"MANY\") permit(principal, action == Action::\"call\", resource)
             when { context has budget && context.budget.writes >= 1 };",
        )
        .settings(|s| s.runs.budget.max_calls = Some(9))
        .start()
        .await;
    assert_eq!(code(&world.send(in_run("r", "put", json!({}))).await), None);
    assert_eq!(code(&world.send(in_run("r", "put", json!({}))).await), Some(Code::ApprovalPending));
}

/// What a run has used up outlives the gate: calls, time, and how often it repeated itself.
#[tokio::test]
async fn a_restart_gives_a_run_nothing_back() {
    let check = async |change: fn(&mut Settings), wanted: Code| {
        let recorder = Recorder::one("peek", Script::Echo);
        let gate = || TestGateway::new().upstream("shelf", recorder.clone()).settings(change);
        let world = gate().start().await;
        for _ in 0..2 {
            assert_eq!(code(&world.send(in_run("r", "peek", json!({}))).await), None);
        }
        let world = world.restart(gate()).await;
        let third = in_run("r", "peek", json!({}));
        refused(&world, &recorder, third, wanted, "limits").await;
        assert_eq!(code(&world.send(in_run("other", "peek", json!({}))).await), None);
    };
    let calls: fn(&mut Settings) = |s| s.runs.budget.max_calls = Some(2);
    Box::pin(check(calls, Code::BudgetExceeded)).await;
    let same: fn(&mut Settings) = |s| s.runs.same_call = Some(2);
    Box::pin(check(same, Code::LoopGuard)).await;
}

/// A policy sees what the run has used up, on whichever gate it was.
#[tokio::test]
async fn a_policy_sees_what_a_run_used_before_a_restart() {
    let recorder = Recorder::one("peek", Script::Echo);
    let policy = "permit(principal, action, resource);
        forbid(principal, action == Action::\"call\", resource)
        when { context has budget && context.budget.calls >= 1 };";
    let gate = || {
        let gate = TestGateway::new().upstream("shelf", recorder.clone()).policy(policy);
        gate.settings(|settings| settings.runs.budget.max_calls = Some(9))
    };
    let world = gate().start().await;
    assert_eq!(code(&world.send(in_run("r", "peek", json!({}))).await), None);
    let world = world.restart(gate()).await;
    let second = in_run("r", "peek", json!({}));
    refused(&world, &recorder, second, Code::PolicyDenied, "policy").await;
}
