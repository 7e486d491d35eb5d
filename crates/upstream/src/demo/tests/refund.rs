//! The refund: the contract ContextOS publishes, and the rules of the business behind it.

use super::*;

const REFUND: &str = "payments_issue_refund";

fn input() -> Value {
    definition(REFUND)["inputSchema"].clone()
}

fn output() -> Value {
    definition(REFUND)["outputSchema"].clone()
}

/// CO-108..CO-120: the hash is taken from the published text, not from this code.
#[test]
fn the_definition_is_the_published_one_to_the_letter() {
    let published = "b61a79c1decd79d9db5adb410e3f0b4e1f052d9c61c824bcd410a7862a6ce2d8";
    assert_eq!(model::canonical::hash(&definition(REFUND)), published);
}

/// CO-108, CO-120.
#[test]
fn it_has_words_and_an_icon() {
    let definition = definition(REFUND);
    assert_eq!(definition["title"], "Issue Refund");
    assert!(definition["description"].is_string());
    let icon = &definition["icons"][0];
    assert!(icon["src"].is_string() && icon["mimeType"] == "image/png");
    assert_eq!(icon["sizes"], json!(["48x48"]));
}

/// CO-109..CO-114.
#[test]
fn its_input_schema_accepts_exactly_what_it_should() {
    let check = |key: &str, value: Value, expected: bool| {
        assert_eq!(
            accepts(&input(), &with(refund_args(), key, value.clone())),
            expected,
            "{key} {value}"
        );
    };
    check("note", json!("please"), false); // CO-109
    check("transaction_id", json!("txn_a1"), true); // CO-110
    check("transaction_id", json!("txn_"), false);
    check("transaction_id", json!("txn_A1"), false);
    check("transaction_id", json!("order_a1"), false);
    check("amount_inr", json!(0.99), false); // CO-111
    check("amount_inr", json!(1), true);
    check("amount_inr", json!(50000), true);
    check("amount_inr", json!(50000.01), false);
    check("amount_inr", json!("10"), false);
    check("currency", json!("USD"), false); // CO-112
    check("reason_code", json!("duplicate"), true); // CO-113
    check("reason_code", json!("service_failure"), true);
    check("reason_code", json!("because"), false);
    check("idempotency_key", json!("ik_0123456789abcde"), false); // CO-114
    check("idempotency_key", json!("ik_0123456789abcdefg"), false);
    check("idempotency_key", json!("ik_0123456789ABCDEF"), false);
}

/// CO-115.
#[test]
fn each_of_the_five_inputs_is_required() {
    assert!(accepts(&input(), &refund_args()));
    for key in ["transaction_id", "amount_inr", "currency", "reason_code", "idempotency_key"] {
        assert!(!accepts(&input(), &with(refund_args(), key, Value::Null)), "{key}");
    }
}

/// CO-116..CO-119.
#[tokio::test]
async fn its_output_schema_accepts_exactly_what_it_should() {
    let good = World::new().good(REFUND, refund_args()).await;
    let check = |key: &str, value: Value, expected: bool| {
        assert_eq!(
            accepts(&output(), &with(good.clone(), key, value.clone())),
            expected,
            "{key} {value}"
        );
    };
    check("note", json!("done"), false); // CO-116
    check("status", json!("queued"), true); // CO-117
    check("status", json!("lost"), false);
    check("evidence_refs", json!("evidence://x"), false); // CO-118
    check("evidence_refs", json!([1]), false);
    check("reversal_token", Value::Null, true); // CO-119
    for key in ["refund_id", "status", "transaction_id", "evidence_refs"] {
        check(key, Value::Null, false);
    }
}

/// CO-83..CO-87, CO-124..CO-129.
#[test]
fn its_capability_asks_for_a_gate_and_a_key() {
    let manifest: Value = serde_json::from_str(Demo::manifest()).unwrap();
    let capabilities = manifest["capabilities"].as_array().unwrap();
    let refund = capabilities.iter().find(|one| one["mcp_tool_name"] == REFUND).unwrap();
    let expected = json!({
        "capability_id": "payments.issue_refund",
        "mcp_tool_name": REFUND,
        "capability_class": "act",
        "approval_mode": "destructive",
        "decision_bindings": ["support.refund.execute"],
        "requires_approval_gate": "GATE_FINANCE_APPROVAL",
        "policy_refs": ["POLICY_RETURNS_V4"],
        "idempotency": {"required": true, "arg": "idempotency_key", "dedup_window_seconds": 86400},
        "arg_constraints": {"amount_inr": {"min": 1, "max": 50000}, "currency": {"enum": ["INR"]}},
        "evidence_keys": ["refund_id", "transaction_id", "reversal_token"],
        "retry_policy": {
            "max_attempts": 1,
            "retryable_error_codes": ["UPSTREAM_TIMEOUT"],
            "requires_same_idempotency_key": true,
        },
    });
    assert_eq!(*refund, expected);
}

#[tokio::test]
async fn a_refund_shows_in_the_ledger_the_list_and_the_balance() {
    let world = World::new();
    let before = world.good("payments_check_balance", json!({})).await;
    let refund = world.good(REFUND, refund_args()).await;
    assert_eq!((&refund["refund_id"], &refund["status"]), (&json!("rf_1001"), &json!("accepted")));
    let ledger = world.good("payments_list_ledger", json!({"limit": 1})).await;
    let newest = &ledger["entries"][0];
    assert_eq!((&newest["kind"], &newest["amount_inr"]), (&json!("refund"), &json!(-499.0)));
    let refunds = world.good("payments_list_refunds", json!({})).await;
    assert_eq!(refunds["refunds"][0]["refund_id"], "rf_1001");
    let after = world.good("payments_check_balance", json!({})).await;
    let net = |balance: &Value| balance["net_inr"].as_f64().unwrap();
    assert!((net(&before) - net(&after) - 499.0).abs() < 1e-6);
    let id = json!({"transaction_id": "txn_8f3k2a"});
    let transaction = world.good("payments_lookup_transaction", id).await;
    assert_eq!(
        (&transaction["refunded_inr"], &transaction["refundable_inr"]),
        (&json!(499.0), &json!(1000.0))
    );
    assert!(transaction["settlement_ref"].is_string());
}

#[tokio::test]
async fn a_large_refund_waits_for_the_bank() {
    let args = with(refund_args(), "transaction_id", json!("txn_2b7q9d"));
    let refund = World::new().good(REFUND, with(args, "amount_inr", json!(20_000))).await;
    assert_eq!(refund["status"], "queued");
}

/// CO-105: each refusal says what to do, with a machine code in the metadata.
#[tokio::test]
async fn a_refund_against_the_rules_is_refused_with_advice() {
    let world = World::new();
    let check = async |key: &str, value: Value, code: &str, advice: &str| {
        let (found, text) = world.refused(REFUND, with(refund_args(), key, value)).await;
        assert_eq!(found, code);
        assert!(text.contains(advice), "{text}");
    };
    check("transaction_id", json!("txn_nope"), "NOT_FOUND", "payments_list_transactions").await;
    check("transaction_id", json!("txn_5m1x0c"), "NOT_SETTLED", "payments_lookup_transaction")
        .await;
    check("transaction_id", json!("txn_9z4w7e"), "NOT_SETTLED", "payments_lookup_transaction")
        .await;
    check("amount_inr", json!(1499.01), "AMOUNT_TOO_HIGH", "1499 INR left").await;
    check("amount_inr", json!(1.001), "AMOUNT_INVALID", "two decimals").await;
    assert_eq!(world.good("payments_list_refunds", json!({})).await["total"], 0);
}

#[tokio::test]
async fn a_transaction_is_refunded_in_full_only_once() {
    let world = World::new();
    world.good(REFUND, with(refund_args(), "amount_inr", json!(1499))).await;
    let again = with(refund_args(), "idempotency_key", json!("ik_fedcba9876543210"));
    let (code, text) = world.refused(REFUND, again).await;
    assert_eq!(code, "ALREADY_REFUNDED");
    assert!(text.contains("payments_list_refunds"), "{text}");
}

/// CO-205, CO-219: enforced by the adapter itself, whatever the gate did, and for good.
#[tokio::test]
async fn the_same_key_gives_the_same_refund() {
    let world = World::new();
    let first = world.good(REFUND, refund_args()).await;
    world.wait(Duration::from_hours(48));
    assert_eq!(world.good(REFUND, refund_args()).await, first);
    assert_eq!(world.good("payments_list_refunds", json!({})).await["total"], 1);
}

#[tokio::test]
async fn a_key_cannot_be_used_for_another_refund() {
    let world = World::new();
    world.good(REFUND, refund_args()).await;
    let (code, text) = world.refused(REFUND, with(refund_args(), "amount_inr", json!(500))).await;
    assert_eq!(code, "IDEMPOTENCY_CONFLICT");
    assert!(text.contains("new key"), "{text}");
}
