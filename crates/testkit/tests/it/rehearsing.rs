//! A dry run says what would become of a call, whichever stage has the last word, and leaves all as
//! it was.

use gateway::{CallRequest, Settings, Via};
use model::{Answer, ApprovalState};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};

async fn rehearse(world: &World, tool: &str) -> Answer {
    let request = CallRequest { via: Via::Argument, ..request(tool) };
    Box::pin(world.gateway.rehearse(&request)).await.get().clone()
}

fn request(tool: &str) -> CallRequest {
    CallRequest { run_id: Some("r".to_owned()), ..World::request(tool, json!({})) }
}

fn outcome(answer: &Answer) -> Value {
    let said = answer.structured.clone().unwrap();
    let part = if answer.is_error { "error" } else { "outcome" };
    said.get(part).cloned().unwrap_or_default()
}

fn gate(change: impl FnOnce(&mut Settings)) -> TestGateway {
    let recorder = Recorder::one("peek", Script::Echo).at_host("api.example.com");
    TestGateway::new().upstream("far", recorder).settings(change)
}

/// As often as it is asked: nothing is counted.
#[tokio::test]
async fn what_a_later_stage_would_refuse_is_foretold() {
    let check = async |change: fn(&mut Settings), calls: usize, expected: &str| {
        let world = gate(change).start().await;
        for _ in 0..calls {
            assert_eq!(outcome(&rehearse(&world, "peek").await), "it would be called");
            assert!(world.send(request("peek")).await.fault.is_none());
        }
        for _ in 0..3 {
            assert_eq!(outcome(&rehearse(&world, "peek").await), expected);
        }
    };
    check(|_| (), 2, "it would be called").await;
    check(|settings| settings.egress_allow = Some(Vec::new()), 0, "EGRESS_DENIED").await;
    check(|settings| settings.calls_per_minute = 2, 2, "RATE_LIMITED").await;
    check(|settings| settings.rates.per_caller.per_minute = Some(1), 1, "RATE_LIMITED").await;
    check(|settings| settings.runs.budget.max_calls = Some(1), 1, "BUDGET_EXCEEDED").await;
}

/// A human's answer is found and not used up.
#[tokio::test]
async fn the_answer_of_a_human_is_foretold() {
    let binding = json!({"class": "act", "approval_mode": "destructive", "requires_gate": "G"});
    let world = TestGateway::new()
        .upstream("bank", Recorder::one("pay", Script::Echo))
        .manifest("bank", manifest([capability("bank.pay", "pay", binding)]))
        .start()
        .await;
    assert_eq!(outcome(&rehearse(&world, "pay").await), "a human would be asked first");
    assert_eq!(world.gateway.approvals(None).await.unwrap().len(), 0);
    let first = world.call("pay", json!({})).await;
    let waiting = "a human was asked and has not answered yet";
    assert_eq!(outcome(&rehearse(&world, "pay").await), waiting);
    world.approve(&first).await;
    let approved = "a human has approved it, and it would be called";
    for _ in 0..2 {
        assert_eq!(outcome(&rehearse(&world, "pay").await), approved);
    }
    assert!(world.call("pay", json!({})).await.fault.is_none());
    let second = world.call("pay", json!({})).await;
    world.reject(&second, "no").await;
    assert_eq!(outcome(&rehearse(&world, "pay").await), "APPROVAL_REJECTED");
    let open = world.gateway.approvals(Some(ApprovalState::Pending)).await.unwrap();
    assert_eq!(open.len(), 0);
}
