//! What is told and kept of a call, as snapshots with ids and times blanked.

use gateway::CallRequest;
use model::fault::ErrorKind;
use model::trace::Trace;
use model::{Caller, Code};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};

use crate::code;

/// CO-42: result, evidence, metrics and trace in one envelope.
#[tokio::test]
async fn the_result_of_a_call_is_one_envelope() {
    let recorder = Recorder::one("peek", Script::Echo);
    let binding = capability("shelf.peek", "peek", json!({"evidence_keys": ["number"]}));
    let gate = TestGateway::new().upstream("shelf", recorder.clone());
    let world = gate.manifest("shelf", manifest([binding])).start().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let request = CallRequest {
        run_id: Some("run_1".to_owned()),
        trace: Trace::read(parent),
        ..World::request("peek", json!({"number": 1}))
    };
    let result = world.send(request).await.result.unwrap();
    insta::assert_json_snapshot!(result, {
        ".call_id" => "[call]",
        ".evidence[].evidence_ref" => "[evidence]",
        ".evidence[].source.call_id" => "[call]",
        ".policy_decision_id" => "[decision]",
        ".metrics.latency_ms" => "[ms]",
        ".metrics.upstream_ms" => "[ms]",
    });
}

/// CO-42: a failure has the same envelope, with the error in it.
#[tokio::test]
async fn the_result_of_a_refusal_is_the_same_envelope() {
    let recorder = Recorder::one("peek", Script::Echo);
    let listed_only = r#"@id("look") permit(principal, action == Action::"list", resource);"#;
    let world = TestGateway::new().upstream("shelf", recorder).policy(listed_only).start().await;
    let result = world.call("peek", json!({})).await.result.unwrap();
    insta::assert_json_snapshot!(result, {
        ".call_id" => "[call]",
        ".run_id" => "[run]",
        ".trace_id" => "[trace]",
        ".policy_decision_id" => "[decision]",
        ".error.details.policy_decision_id" => "[decision]",
        ".metrics.latency_ms" => "[ms]",
        ".metrics.upstream_ms" => "[ms]",
    });
}

/// CO-52: what a write has changed is on record by its ids, and by nothing else of the answer.
#[tokio::test]
async fn a_write_is_on_record_with_what_it_changed() {
    let check = async |keys: Value, expected: &[&str]| {
        let recorder = Recorder::one("pay", Script::Echo);
        let rule = json!({"class": "act", "mutation_keys": keys});
        let gate = TestGateway::new().upstream("bank", recorder);
        let world =
            gate.manifest("bank", manifest([capability("bank.pay", "pay", rule)])).start().await;
        let made =
            json!({"id": "p_1", "entries": [7, "e_2"], "to": {"account": "a_3"}, "paid": true});
        world.call("pay", made).await;
        let result = world.last_record().await.result.unwrap();
        assert_eq!(result.mutation_refs, expected, "{keys}");
    };
    check(json!(["id", "entries", "to.account"]), &["p_1", "7", "e_2", "a_3"]).await;
    check(json!(["paid", "missing", "to"]), &[]).await;
    check(json!([]), &[]).await;
}

/// CO-131: what breaks a rule of the business is an error the model reads, of kind `validation`, that
/// says what to change; changed so, the call is made.
#[tokio::test]
async fn a_breach_of_a_rule_can_be_corrected_by_who_made_it() {
    let recorder = Recorder::one("pay", Script::Echo);
    let rule = json!({"class": "observe", "arg_constraints": {"amount": {"max": 100}}});
    let gate = TestGateway::new().upstream("bank", recorder.clone());
    let world =
        gate.manifest("bank", manifest([capability("bank.pay", "pay", rule)])).start().await;
    let done = world.call("pay", json!({"amount": 500})).await;
    assert_eq!((code(&done), recorder.count()), (Some(Code::ArgsInvalid), 0));
    let answer = done.cleared.get();
    let told = answer.structured.clone().unwrap();
    assert_eq!((answer.is_error, &told["kind"]), (true, &json!("validation")));
    let text = answer.full_text();
    assert!(text.contains("amount") && text.contains("100"), "{text}");
    let error = world.last_record().await.result.unwrap().error.unwrap();
    assert_eq!(error.code.kind(), ErrorKind::Validation);
    assert_eq!(code(&world.call("pay", json!({"amount": 100})).await), None);
}

/// CO-3: whether (status, decision), for whom (principal chain), under which policy (rules, hash,
/// gate), with which evidence (facts, hash) and how recorded (ids, stages, lineage).
#[tokio::test]
async fn the_record_of_an_approved_refund_answers_the_five_questions() {
    let world = TestGateway::new().demo().start().await;
    let caller = Caller { client: Some("claude".to_owned()), ..World::ann() };
    let args = json!({
        "transaction_id": "txn_8f3k2a",
        "amount_inr": 1499,
        "currency": "INR",
        "reason_code": "duplicate",
        "idempotency_key": "ik_0123456789abcdef",
    });
    let refund = || CallRequest::new(caller.clone(), "payments_issue_refund", args.clone());
    let asked = world.send(refund()).await;
    assert_eq!(code(&asked), Some(Code::ApprovalPending));
    let approval = world.approve(&asked).await;
    let done = world.send(refund()).await;
    assert_eq!(code(&done), None);

    let record = world.last_record().await;
    assert_eq!(record.approval_id, Some(approval.approval_id));
    assert_eq!(approval.approver.as_deref(), Some("user:bob"));
    insta::assert_json_snapshot!(record, {
        ".record_id" => "[record]",
        ".approval_id" => "[approval]",
        ".call.call_id" => "[call]",
        ".call.run_id" => "[run]",
        ".call.trace_id" => "[trace]",
        ".call.policy_decision_id" => "[decision]",
        ".call.lineage.catalogue_hash" => "[hash]",
        ".call.lineage.definition_hash" => "[hash]",
        ".call.lineage.gateway_version" => "[version]",
        ".decision.policy_decision_id" => "[decision]",
        ".decision.inputs_hash" => "[hash]",
        ".result.call_id" => "[call]",
        ".result.evidence[].evidence_ref" => "[evidence]",
        ".result.evidence[].source.call_id" => "[call]",
        ".result.run_id" => "[run]",
        ".result.trace_id" => "[trace]",
        ".result.approval_id" => "[approval]",
        ".result.policy_decision_id" => "[decision]",
        ".result.metrics.latency_ms" => "[ms]",
        ".result.metrics.upstream_ms" => "[ms]",
    });
}
