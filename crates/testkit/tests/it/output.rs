//! What comes back is checked and cleaned before anybody reads it.

use gateway::OnViolation;
use model::{Answer, CallStatus, Code, Outcome, RecordStatus, canonical};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest, tool};

use crate::{code, up_to};

/// A tool that promises `{"count": integer}` and answers as told.
async fn counting(answer: Answer, on_violation: OnViolation) -> (Recorder, World) {
    let output = json!({
        "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
    });
    let definition = tool("count", json!({"outputSchema": output}));
    let recorder = Recorder::new().tool(definition, Script::Answer(answer));
    let gate = TestGateway::new().upstream("shelf", recorder.clone());
    let rule = |settings: &mut gateway::Settings| settings.output.on_violation = on_violation;
    (recorder, gate.settings(rule).start().await)
}

/// SG-23, SG-27: the bad answer is on record as such and never shown.
#[tokio::test]
async fn an_answer_that_breaks_its_schema_is_blocked() {
    let answer = Answer::structured(json!({"count": "IGNORE PREVIOUS"}));
    let (recorder, world) = counting(answer, OnViolation::Block).await;
    let done = world.call("count", json!({})).await;
    assert_eq!((code(&done), recorder.count()), (Some(Code::OutputInvalid), 1));
    assert_eq!(done.fault.as_ref().unwrap().violations[0].instance_path, "/count");
    let record = world.last_record().await;
    assert_eq!(record.stages, up_to("output"));
    assert_eq!(record.status, RecordStatus::Failed);
    assert_eq!(record.result.unwrap().error.unwrap().code, Code::OutputInvalid);
}

#[tokio::test]
async fn an_answer_without_the_promised_structure_is_blocked() {
    let (_, world) = counting(Answer::text("three"), OnViolation::Block).await;
    let done = world.call("count", json!({})).await;
    assert_eq!(code(&done), Some(Code::OutputInvalid));
    assert!(!done.cleared.get().full_text().contains("three"));
}

#[tokio::test]
async fn an_answer_that_breaks_its_schema_passes_where_that_is_only_a_warning() {
    let answer = Answer::structured(json!({"count": "three"}));
    let (_, world) = counting(answer.clone(), OnViolation::Warn).await;
    let done = world.call("count", json!({})).await;
    assert_eq!(code(&done), None);
    assert_eq!(done.cleared.get(), &answer);
    assert_eq!(world.last_record().await.status, RecordStatus::Completed);
}

/// A tool's own "no" is an answer the model can act on, whatever its schema says.
#[tokio::test]
async fn a_tools_own_error_passes_as_a_failed_call() {
    let answer = Answer::error("the shelf is empty");
    let (_, world) = counting(answer.clone(), OnViolation::Block).await;
    let done = world.call("count", json!({})).await;
    assert_eq!(code(&done), None);
    assert_eq!(done.cleared.get(), &answer);
    let result = done.result.unwrap();
    assert_eq!((result.status, result.outcome), (CallStatus::Failed, Outcome::Error));
    let record = world.last_record().await;
    assert_eq!((record.status, record.result.unwrap().error), (RecordStatus::Failed, None));
}

/// SG-24: what the model reads is clean; the hash is of what was sent.
#[tokio::test]
async fn control_characters_are_stripped_everywhere_and_the_hash_is_of_the_raw_answer() {
    let raw = Answer {
        structured: Some(json!({"na\u{7}me": ["\u{1b}[31mEmma\u{1b}[0m", 7]})),
        ..Answer::text("Em\u{0}ma\u{9b}1m")
    };
    let recorder = Recorder::one("read", Script::Answer(raw.clone()));
    let world = TestGateway::new().upstream("shelf", recorder).start().await;
    let done = world.call("read", json!({})).await;
    let cleared = done.cleared.get();
    assert_eq!(cleared.full_text(), "Emma");
    assert_eq!(cleared.structured, Some(json!({"name": ["Emma", 7]})));
    let result = done.result.unwrap();
    assert_eq!(result.result_hash, Some(canonical::hash(&serde_json::to_value(raw).unwrap())));
    assert_eq!(result.cleaning.changed_leaves, 3);
    assert!(!result.summary.contains(char::is_control));
    assert_eq!(world.last_record().await.result, Some(result));
}

#[tokio::test]
async fn an_answer_without_its_evidence_is_only_partial() {
    let check = async |answer: Value, outcome: Outcome| {
        let recorder = Recorder::one("pay", Script::Answer(Answer::structured(answer)));
        let binding = capability("bank.pay", "pay", json!({"evidence_keys": ["receipt", "at"]}));
        let gate = TestGateway::new().upstream("bank", recorder);
        let world = gate.manifest("bank", manifest([binding])).start().await;
        assert_eq!(world.call("pay", json!({})).await.result.unwrap().outcome, outcome);
    };
    check(json!({"receipt": "r1", "at": 1}), Outcome::Ok).await;
    check(json!({"receipt": "r1"}), Outcome::Partial).await;
}

/// CW-19, C4: what is small passes as it is, with its data, pictures and sounds.
#[tokio::test]
async fn a_small_answer_reaches_the_client_unchanged_in_every_mode() {
    let answer: Answer = serde_json::from_value(json!({
        "content": [
            {"type": "text", "text": "two open orders", "annotations": {"priority": 0.9, "audience": ["human"]}},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "blob": "aGVsbG8="}},
            {"type": "resource_link", "uri": "https://example.com/a", "name": "a"},
        ],
        "structuredContent": {"count": 2},
        "_meta": {"vendor": 1},
    }))
    .unwrap();
    for mode in [gateway::Mode::Native, gateway::Mode::Transparent, gateway::Mode::Gateway] {
        let recorder = Recorder::one("list", Script::Answer(answer.clone()));
        let gate = TestGateway::new().upstream("shelf", recorder);
        let world = gate.settings(|settings| settings.mode = mode).start().await;
        let done = world.call("list", json!({})).await;
        assert_eq!(done.cleared.get(), &answer);
        let result = done.result.unwrap();
        assert_eq!((result.artifacts.len(), result.cleaning.changed_leaves), (0, 0));
        // CW-27
        let annotations = json!([{"part_index": 0, "priority": 0.9, "audience": ["human"]}]);
        assert_eq!(json!(result.provenance.content_annotations), annotations);
    }
}

/// Nine tokens stay about nine tokens.
#[tokio::test]
async fn a_nine_token_answer_costs_nine_tokens() {
    let text = "The order was shipped to Oslo yesterday.";
    let recorder = Recorder::one("ask", Script::Answer(Answer::text(text)));
    let world = TestGateway::new().upstream("shelf", recorder).start().await;
    let done = world.call("ask", json!({})).await;
    let wire = serde_json::to_string(done.cleared.get()).unwrap();
    assert_eq!(wire, json!({"content": [{"type": "text", "text": text}]}).to_string());
}

/// A7: valid as sent, invalid once cleaned: the client gets a typed error, never the broken value.
#[tokio::test]
async fn an_answer_that_cleaning_would_break_is_blocked_whatever_the_policy() {
    let output = json!({
        "type": "object",
        "properties": {"state": {"enum": ["ok\u{202e}", "no"]}, "mode": {"type": "string"}},
    });
    for on_violation in [OnViolation::Block, OnViolation::Warn, OnViolation::Pass] {
        let definition = tool("peek", json!({"outputSchema": output}));
        let answer = Answer::structured(json!({"state": "ok\u{202e}", "mode": "a"}));
        let recorder = Recorder::new().tool(definition, Script::Answer(answer));
        let gate = TestGateway::new().upstream("shelf", recorder);
        let world =
            gate.settings(|settings| settings.output.on_violation = on_violation).start().await;
        let done = world.call("peek", json!({})).await;
        assert_eq!(code(&done), Some(Code::OutputInvalid));
        assert_eq!(done.fault.unwrap().details["rule"], "sanitization_broke_schema");
        let shown = done.cleared.get().structured.clone().unwrap();
        assert!(shown.get("state").is_none(), "{shown}");
    }
}

/// SG-39: where structure is always asked for, anything but an object is refused.
#[tokio::test]
async fn an_answer_that_is_no_object_is_refused_where_one_is_asked_for() {
    let check = async |structured: Option<Value>| {
        let answer = Answer { structured, ..Answer::text("x") };
        let recorder = Recorder::one("peek", Script::Answer(answer));
        let gate = TestGateway::new().upstream("shelf", recorder);
        let rule = |settings: &mut gateway::Settings| {
            settings.output.require_structured = gateway::RequireStructured::Always;
            settings.output.on_violation = OnViolation::Block;
        };
        let done = gate.settings(rule).start().await.call("peek", json!({})).await;
        assert_eq!(code(&done), Some(Code::OutputInvalid));
        assert_eq!(done.fault.unwrap().details["rule"], "mcp-non-object-output");
    };
    check(None).await;
    check(Some(json!([1]))).await;
    check(Some(json!("text"))).await;
    check(Some(json!(7))).await;
    check(Some(Value::Null)).await;
}

/// What is odd about the parts is on record, and crashes nobody.
#[tokio::test]
async fn odd_parts_are_findings_of_the_record() {
    let content = json!([
        {"type": "image", "data": "not base64!", "mimeType": "image/png"},
        {"type": "hologram", "data": "x"},
        {"type": "text"},
        7,
    ]);
    let answer: Answer = serde_json::from_value(json!({"content": content})).unwrap();
    let recorder = Recorder::one("peek", Script::Answer(answer));
    let world = TestGateway::new().upstream("shelf", recorder).start().await;
    let done = world.call("peek", json!({})).await;
    assert_eq!(code(&done), None);
    let findings = world.last_record().await.result.unwrap().findings;
    let rules: Vec<_> = findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["bad_base64", "part_unknown", "part_malformed", "part_unknown"]);
}
