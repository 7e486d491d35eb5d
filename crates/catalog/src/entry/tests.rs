//! The refund tool of the fourth seed, argument by argument and field by field.

use super::*;
use crate::ingest::item_from_mcp_tool;
use model::UpstreamName;
use serde_json::json;

fn entry(definition: &Value) -> Entry {
    let item = item_from_mcp_tool(&UpstreamName::from_string("pay"), None, definition).unwrap();
    Entry::new(item, definition, definition.into(), "mcp")
}

fn refund() -> Entry {
    entry(&serde_json::from_str(include_str!("../../fixtures/payments_issue_refund.json")).unwrap())
}

fn good_input() -> Value {
    json!({
        "transaction_id": "txn_9f2",
        "amount_inr": 120.5,
        "currency": "INR",
        "reason_code": "duplicate",
        "idempotency_key": "ik_0123456789abcdef",
    })
}

fn good_output() -> Value {
    json!({"refund_id": "rf_1", "status": "queued", "transaction_id": "txn_9f2", "evidence_refs": ["ev_1"]})
}

/// The value with one field replaced, or taken out.
fn with(mut value: Value, field: &str, replacement: Option<Value>) -> Value {
    let fields = value.as_object_mut().unwrap();
    match replacement {
        Some(replacement) => fields.insert(field.to_owned(), replacement),
        None => fields.remove(field),
    };
    value
}

fn check_input(field: &str, value: Value, fits: bool) {
    let args = with(good_input(), field, Some(value));
    assert_eq!(refund().check_input(&args).is_ok(), fits, "{args}");
}

fn check_output(field: &str, value: Option<Value>, fits: bool) {
    let output = with(good_output(), field, value);
    assert_eq!(refund().check_output(Some(&output)).is_empty(), fits, "{output}");
}

/// CO-201, valid.
#[test]
fn good_arguments_and_a_good_answer_pass() {
    assert_eq!(refund().check_input(&good_input()), Ok(()));
    assert_eq!(refund().check_output(Some(&good_output())), []);
}

/// CO-109.
#[test]
fn an_extra_argument_is_refused() {
    check_input("note", json!("hi"), false);
}

/// CO-110.
#[test]
fn the_transaction_id_follows_its_pattern() {
    check_input("transaction_id", json!("txn_a1"), true);
    check_input("transaction_id", json!("txn_"), false);
    check_input("transaction_id", json!("txn_A1"), false);
    check_input("transaction_id", json!("x txn_a1"), false);
    check_input("transaction_id", json!(7), false);
}

/// CO-111.
#[test]
fn the_amount_lies_between_one_and_fifty_thousand() {
    check_input("amount_inr", json!(0.99), false);
    check_input("amount_inr", json!(1), true);
    check_input("amount_inr", json!(50000), true);
    check_input("amount_inr", json!(50000.01), false);
    check_input("amount_inr", json!("100"), false);
}

/// CO-112.
#[test]
fn the_currency_is_rupees() {
    check_input("currency", json!("INR"), true);
    check_input("currency", json!("USD"), false);
    check_input("currency", json!("inr"), false);
}

/// CO-113; CO-201, enum violation.
#[test]
fn the_reason_is_one_of_three() {
    for reason in ["duplicate", "customer_request", "service_failure"] {
        check_input("reason_code", json!(reason), true);
    }
    check_input("reason_code", json!("because"), false);
}

/// CO-114.
#[test]
fn the_idempotency_key_follows_its_pattern() {
    check_input("idempotency_key", json!("ik_0123456789abcdef"), true);
    check_input("idempotency_key", json!("ik_0123456789abcde"), false);
    check_input("idempotency_key", json!("ik_0123456789abcdef0"), false);
    check_input("idempotency_key", json!("IK_0123456789abcdef"), false);
}

/// CO-115; CO-201, missing required: one row for each of the five.
#[test]
fn a_missing_argument_is_named() {
    for field in ["transaction_id", "amount_inr", "currency", "reason_code", "idempotency_key"] {
        let fault = refund().check_input(&with(good_input(), field, None)).unwrap_err();
        assert_eq!(fault.code, Code::ArgsInvalid);
        assert_eq!(fault.path, "payments_issue_refund");
        assert_eq!(fault.violations.len(), 1);
        let expected = format!("arguments do not fit at `/`: \"{field}\" is a required property");
        assert_eq!(fault.message, expected);
    }
}

#[test]
fn every_violation_is_listed_and_the_first_is_in_the_message() {
    let fault = refund().check_input(&json!({"amount_inr": 0, "currency": "USD"})).unwrap_err();
    assert_eq!(fault.violations.len(), 5);
    assert!(fault.message.contains("is a required property"), "{}", fault.message);
    assert_eq!(refund().check_input(&json!([])).unwrap_err().code, Code::ArgsInvalid);
}

/// CO-116; CO-201, output mismatch.
#[test]
fn an_extra_output_field_is_a_violation() {
    check_output("internal", Some(json!(1)), false);
}

/// CO-117.
#[test]
fn the_output_status_is_one_of_three() {
    for status in ["accepted", "queued", "rejected"] {
        check_output("status", Some(json!(status)), true);
    }
    check_output("status", Some(json!("done")), false);
}

/// CO-118.
#[test]
fn evidence_refs_are_strings() {
    check_output("evidence_refs", Some(json!([])), true);
    check_output("evidence_refs", Some(json!(["ev_1", 2])), false);
    check_output("evidence_refs", Some(json!("ev_1")), false);
}

/// CO-119.
#[test]
fn required_output_fields_are_required_and_the_reversal_token_is_not() {
    for field in ["refund_id", "status", "transaction_id", "evidence_refs"] {
        check_output(field, None, false);
    }
    check_output("reversal_token", Some(json!("rt_1")), true);
    check_output("reversal_token", None, true);
}

#[test]
fn a_missing_structured_answer_is_a_violation_only_under_a_schema() {
    assert_eq!(refund().check_output(None).len(), 1);
    let free = entry(&json!({"name": "free", "inputSchema": {"type": "object"}}));
    assert_eq!(free.check_output(None), []);
    assert_eq!(free.check_output(Some(&json!("anything"))), []);
}

#[test]
fn a_tool_with_a_broken_schema_is_quarantined_and_refuses_calls() {
    let check = |definition: Value, which: &str| {
        let broken = entry(&definition);
        let finding = broken.quarantined().unwrap();
        assert_eq!((finding.severity, finding.rule.as_str()), (Severity::Error, "schema_invalid"));
        assert!(finding.message.contains(which), "{}", finding.message);
        let fault = broken.check_input(&json!({})).unwrap_err();
        assert_eq!((fault.code, fault.path.as_str()), (Code::SchemaInvalid, "t"));
        assert_eq!(broken.check_output(Some(&json!({}))).len(), 1);
    };
    check(json!({"name": "t", "inputSchema": {"type": "strin"}}), "input schema");
    check(json!({"name": "t", "inputSchema": []}), "input schema");
    check(json!({"name": "t", "outputSchema": {"$schema": "urn:mine"}}), "output schema");
}
