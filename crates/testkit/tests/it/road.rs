//! The fixed order of stages, and where each refusal leaves it.

use std::sync::Arc;
use std::time::Duration;

use gateway::{CallRequest, Mode};
use model::{Answer, CallStatus, Caller, Code, Effect, Fault, Grant, Principal, RecordStatus};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest, tool};

use crate::{ROAD, code, refused};

/// One tool `shelf.get` with a schema, which needs a grant and takes numbers up to nine.
fn shelf() -> (Recorder, Value) {
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
    });
    let recorder =
        Recorder::new().tool(tool("shelf.get", json!({"inputSchema": input})), Script::Echo);
    let binding = json!({
        "permissions": ["shelf.read"],
        "arg_constraints": {"number": {"max": 9}},
    });
    (recorder, manifest([capability("shelf.get", "shelf.get", binding)]))
}

/// A call by ann, who holds the grant.
fn granted(args: Value) -> CallRequest {
    let grants = vec![Grant::read("shelf.read")];
    CallRequest::new(Caller { grants, ..World::ann() }, "shelf.get", args)
}

async fn world(recorder: &Recorder, manifest: Value) -> World {
    TestGateway::new().upstream("shelf", recorder.clone()).manifest("shelf", manifest).start().await
}

/// SG-19, CO-35..CO-42, C8: one order for every call.
#[tokio::test]
async fn a_good_call_goes_through_every_stage_in_the_fixed_order() {
    let (recorder, manifest) = shelf();
    let world = world(&recorder, manifest).await;
    let done = world.send(granted(json!({"number": 1}))).await;
    assert_eq!(done.fault, None);
    assert_eq!(done.cleared.get().structured, Some(json!({"number": 1})));
    let record = world.last_record().await;
    assert_eq!(record.stages, ROAD);
    assert_eq!(record.status, RecordStatus::Completed);
    assert_eq!(recorder.calls()[0].effect, Effect::Read);
    assert_eq!(recorder.calls()[0].call_id, record.call.call_id);
}

/// CO-34, CO-35: what is not in the catalogue is not found, and that is on record too.
#[tokio::test]
async fn an_unknown_tool_is_refused_at_resolve_and_recorded() {
    let (recorder, manifest) = shelf();
    let world = world(&recorder, manifest).await;
    let unknown = World::request("shelf.burn", json!({"number": 1}));
    let (_, record) = refused(&world, &recorder, unknown, Code::ToolNotFound, "resolve").await;
    assert_eq!(record.call.asked_name, "shelf.burn");
    assert_eq!((record.call.item_key, record.status), (None, RecordStatus::Failed));
}

/// SG-20, SG-26: the grant is looked at before the arguments are.
#[tokio::test]
async fn a_missing_grant_is_refused_before_the_arguments_are_read() {
    let (recorder, manifest) = shelf();
    let world = world(&recorder, manifest).await;
    let nobody = World::request("shelf.get", json!({"nonsense": true}));
    let (_, record) = refused(&world, &recorder, nobody, Code::CapabilityDenied, "grants").await;
    assert_eq!(record.status, RecordStatus::Denied);
    assert_eq!(record.result.unwrap().status, CallStatus::Rejected);
}

/// CW-75, CO-36: no mode lets arguments through that do not fit.
#[tokio::test]
async fn arguments_that_break_the_schema_reach_no_upstream_in_any_mode() {
    for mode in Mode::ALL {
        let (recorder, manifest) = shelf();
        let gate = TestGateway::new().upstream("shelf", recorder.clone());
        let world = gate.manifest("shelf", manifest).settings(|s| s.mode = *mode).start().await;
        for args in [json!({}), json!({"number": "1"}), json!({"number": 1, "more": 2})] {
            let (done, _) =
                refused(&world, &recorder, granted(args), Code::ArgsInvalid, "validate").await;
            assert!(!done.fault.unwrap().violations.is_empty());
        }
    }
}

/// CO-36: the manifest bounds arguments beyond the schema.
#[tokio::test]
async fn arguments_that_break_a_constraint_are_refused_at_validation() {
    let (recorder, manifest) = shelf();
    let world = world(&recorder, manifest).await;
    let request = granted(json!({"number": 10}));
    let (done, _) = refused(&world, &recorder, request, Code::ArgsInvalid, "validate").await;
    let violation = done.fault.unwrap().violations.remove(0);
    assert_eq!(violation.instance_path, "/number");
}

/// CO-37: being listed is no leave to be called.
#[tokio::test]
async fn a_tool_that_may_be_listed_but_not_called_is_refused_by_policy() {
    let recorder = Recorder::one("peek", Script::Echo);
    let world = TestGateway::new()
        .upstream("shelf", recorder.clone())
        .policy(r#"permit(principal, action == Action::"list", resource);"#)
        .settings(|settings| settings.mode = Mode::Native)
        .start()
        .await;
    assert_eq!(world.gateway.menu(&World::ann()).get().len(), 1);
    let request = World::request("peek", json!({}));
    let (_, record) = refused(&world, &recorder, request, Code::PolicyDenied, "policy").await;
    assert_eq!(record.status, RecordStatus::Denied);
    assert!(record.decision.is_some());
}

/// CO-37: what held when the tool was found may no longer hold when it is called.
#[tokio::test]
async fn policy_is_asked_again_when_the_call_is_made() {
    let recorder = Recorder::one("peek", Script::Echo);
    let world = TestGateway::new()
        .upstream("shelf", recorder.clone())
        .policy(
            r#"permit(principal, action == Action::"list", resource);
            permit(principal, action == Action::"call", resource)
            when { context.now_ms < 1768471260000 };"#,
        )
        .start()
        .await;
    assert_eq!(code(&world.call("peek", json!({})).await), None);
    world.clock.advance(Duration::from_mins(1));
    assert!(!world.gateway.hydrate(&World::ann(), "peek").get().is_error);
    let request = World::request("peek", json!({}));
    refused(&world, &recorder, request, Code::PolicyDenied, "policy").await;
}

/// CO-39: somebody answers for every call, and the record says who acts for whom.
#[tokio::test]
async fn the_record_names_the_person_and_the_agent() {
    let recorder = Recorder::one("peek", Script::Echo);
    let world = TestGateway::new().upstream("shelf", recorder.clone()).start().await;
    let caller = Caller { client: Some("claude".to_owned()), ..World::ann() };
    world.send(CallRequest::new(caller, "peek", json!({}))).await;
    let chain = world.last_record().await.call.principal_chain;
    assert_eq!(chain, [Principal::user("ann"), Principal::agent("claude")]);

    let nobody = CallRequest::new(Caller::new(Principal::user("")), "peek", json!({}));
    refused(&world, &recorder, nobody, Code::AuthRequired, "identity").await;
}

/// C18, CO-128, CO-129: a call is made again for the codes its capability lists, as often as it says,
/// and a write only with a key, which stays the same.
#[tokio::test]
async fn a_call_is_made_again_only_as_its_capability_says() {
    let check = async |class: &str, key: Option<&str>, retry: Value, failed: Code, calls: usize| {
        let recorder = Recorder::one("peek", Script::Fault(Fault::new(failed, "no")));
        let required = json!({"required": key.is_some()});
        let over = json!({"class": class, "retry": retry, "idempotency": required});
        let binding = capability("shelf.peek", "peek", over);
        let gate = TestGateway::new().upstream("shelf", recorder.clone());
        let world = gate.manifest("shelf", manifest([binding])).start().await;
        let request = World::request("peek", json!({}));
        let key = key.map(str::to_owned);
        let done = world.send(CallRequest { idempotency_key: key.clone(), ..request }).await;
        assert_eq!((code(&done), recorder.count()), (Some(failed), calls), "{class} {retry}");
        for seen in recorder.calls() {
            let told = seen.meta.get("toolgate/idempotency_key").and_then(Value::as_str);
            assert_eq!(told, key.as_deref(), "{class} {retry}");
        }
        let repeats = done.result.unwrap().metrics.retry_count;
        assert_eq!(usize::try_from(repeats).unwrap(), calls - 1);
    };
    let (down, slow) = (Code::UpstreamUnavailable, Code::UpstreamTimeout);
    let three = json!({"max_attempts": 3, "codes": ["UPSTREAM_UNAVAILABLE"], "base_ms": 1});
    check("observe", None, three.clone(), down, 3).await;
    check("observe", None, three.clone(), slow, 1).await;
    check("observe", None, json!({"max_attempts": 3}), down, 1).await;
    check("observe", None, json!({}), down, 1).await;
    check("act", None, three.clone(), down, 1).await;
    check("act", Some("ik_0123456789abcdef"), three, down, 3).await;
}

/// The nearest patience counts: the tool's, then its upstream's, then the gate's.
#[test]
fn a_tool_may_have_a_time_of_its_own() {
    let mut member = upstream::Member::new(Arc::new(Recorder::new()));
    assert_eq!(member.timeout_of("slow"), None);
    member.timeout = Some(Duration::from_secs(1));
    member.tool_timeouts.insert("slow".to_owned(), Duration::from_secs(9));
    assert_eq!(member.timeout_of("slow"), Some(Duration::from_secs(9)));
    assert_eq!(member.timeout_of("other"), Some(Duration::from_secs(1)));
}

/// SG-22, CO-41, CO-127: a failing upstream is not asked twice.
#[tokio::test]
async fn one_attempt_is_exactly_one_upstream_call() {
    let check = async |script: Script, wanted: Option<Code>| {
        let recorder = Recorder::one("peek", script);
        let world = TestGateway::new().upstream("shelf", recorder.clone()).start().await;
        let done = world.call("peek", json!({})).await;
        assert_eq!(code(&done), wanted);
        assert_eq!(recorder.count(), 1);
        assert_eq!(done.result.unwrap().metrics.retry_count, 0);
    };
    check(Script::Echo, None).await;
    check(Script::Answer(Answer::error("the shelf is empty")), None).await;
    for wanted in [Code::UpstreamError, Code::UpstreamUnavailable, Code::UpstreamTimeout] {
        check(Script::Fault(Fault::new(wanted, "no")), Some(wanted)).await;
    }
}

/// SG-25: whatever an operator sets about answers, no step is left out.
#[tokio::test]
async fn no_setting_takes_a_step_out_of_the_road() {
    use gateway::{OnViolation, Output, RequireStructured};
    let mut outputs = Vec::new();
    for on_violation in [OnViolation::Block, OnViolation::Warn, OnViolation::Pass] {
        for require_structured in
            [RequireStructured::Never, RequireStructured::WhenSchema, RequireStructured::Always]
        {
            for profile in [
                gateway::Profile::Strict,
                gateway::Profile::Plain,
                gateway::Profile::Verbatim,
                gateway::Profile::Stargraph(gateway::Html::Escape),
            ] {
                outputs.push(Output { on_violation, require_structured, profile });
            }
        }
    }
    for output in outputs {
        let recorder = Recorder::one("peek", Script::Echo);
        let gate = TestGateway::new().upstream("shelf", recorder);
        let world = gate.settings(|settings| settings.output = output).start().await;
        assert_eq!(code(&world.call("peek", json!({"n": 1})).await), None, "{output:?}");
        assert_eq!(world.last_record().await.stages, ROAD, "{output:?}");
    }
}

/// CO-131: what breaks a rule of the business comes back as a tool's error that says what to mend.
#[tokio::test]
async fn a_broken_rule_of_the_business_is_an_error_a_model_can_mend() {
    let recorder = Recorder::one("pay", Script::Echo);
    let binding = json!({"class": "act", "arg_constraints": {"amount": {"min": 1, "max": 500}}});
    let contract = manifest([capability("bank.pay", "pay", binding)]);
    let gate = TestGateway::new().upstream("bank", recorder.clone()).manifest("bank", contract);
    let world = gate.start().await;
    let request = World::request("pay", json!({"amount": 501}));
    let (done, record) = refused(&world, &recorder, request, Code::ArgsInvalid, "validate").await;
    let told = Value::Object(done.fault.as_ref().unwrap().to_client_json());
    assert_eq!((&told["kind"], &told["next"]), (&json!("validation"), &json!("fix_args")));
    let text = done.cleared.get().full_text();
    assert!(text.contains("amount") && text.contains("500"), "{text}");
    assert_eq!(
        record.result.unwrap().error.unwrap().code.kind(),
        model::fault::ErrorKind::Validation
    );
    assert_eq!(code(&world.call("pay", json!({"amount": 500})).await), None);
}
