//! Bindings written apart from their manifest: what they add, and what they must repeat.

use serde_json::{Value, json};
use toolgate_manifest::{self as manifest, AdapterManifest, Binding, BindingError};

use crate::{REFUND_BINDING, lay_over, payments, payments_json};

fn seed() -> Value {
    serde_json::from_str(REFUND_BINDING).unwrap()
}

fn bound(manifest: Value, change: Value) -> Result<AdapterManifest, Vec<BindingError>> {
    let mut binding = seed();
    lay_over(&mut binding, change);
    let mut manifest = manifest::from_value(manifest).unwrap();
    manifest.bind(Binding::from_value(binding).unwrap()).map(|()| manifest)
}

/// CO-121, CO-123..CO-126: the seed's binding goes with the seed's manifest as both are, and adds what
/// the manifest is silent about; the hash covers it.
#[test]
fn the_seed_binding_adds_to_the_seed_manifest() {
    let manifest = bound(payments_json(), json!({})).unwrap();
    let refund = manifest.capability_for_tool("payments_issue_refund").unwrap();
    assert_eq!(refund.policy_refs, ["POLICY_RETURNS_V4"]);
    assert_eq!(refund.retry().max_attempts, 1);
    assert_eq!(refund.decision_bindings, ["support.refund.execute"]);
    assert_ne!(manifest.hash(), payments().hash());
    let mut silent = payments_json();
    for key in ["decision_bindings", "requires_approval_gate", "evidence_keys"] {
        silent["capabilities"][1].as_object_mut().unwrap().remove(key);
    }
    let filled = bound(silent, json!({})).unwrap();
    assert_eq!(filled.hash(), manifest.hash());
}

/// CO-122: what is repeated must be the same.
#[test]
fn what_a_binding_repeats_must_equal_the_manifest() {
    let check = |change: Value, expected: &str| {
        let errors = bound(payments_json(), change.clone()).unwrap_err();
        let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(told, [expected], "{change}");
    };
    check(
        json!({"capability_class": "observe"}),
        "`class` is `observe` here and `act` in the manifest; write the same in both",
    );
    check(
        json!({"approval_mode": "read_only"}),
        "`approval_mode` is `read_only` here and `destructive` in the manifest; write the same in \
         both",
    );
    check(
        json!({"protocol_tool": "wipe"}),
        "`tool` is `wipe` here and `payments_issue_refund` in the manifest; write the same in both",
    );
    check(
        json!({"requires_approval_gate": "GATE_NONE"}),
        "`requires_gate` is `GATE_NONE` here and `GATE_FINANCE_APPROVAL` in the manifest; write the \
         same in both",
    );
    check(
        json!({"adapter_id": "adp_other"}),
        "it binds the adapter `adp_other`, and the manifest is that of `adp_payments_mcp`; name the \
         binding with its own manifest",
    );
    check(
        json!({"capability_id": "payments.wipe"}),
        "the manifest declares no capability `payments.wipe`; declare it there first",
    );
    let both = json!({"approval_mode": "network", "evidence_keys": ["refund_id"]});
    assert_eq!(bound(payments_json(), both).unwrap_err().len(), 2);
    let reordered = json!({"evidence_keys": ["transaction_id", "reversal_token", "refund_id"]});
    assert!(bound(payments_json(), reordered).is_ok());
}

/// CO-127: a manifest that says once means once, whatever a binding says.
#[test]
fn a_stated_retry_is_not_loosened() {
    let mut once = payments_json();
    once["capabilities"][1]["retry"] = json!({"max_attempts": 1});
    let more = json!({"retry_policy": {"max_attempts": 3}});
    let errors = bound(once, more.clone()).unwrap_err();
    assert_eq!(errors[0].keys(), ["retry", "retry_policy"]);
    let manifest = bound(payments_json(), more).unwrap();
    assert_eq!(manifest.capabilities[1].retry().max_attempts, 3);
}

/// CO-121: three names make a binding, and nothing else is taken for one.
#[test]
fn a_binding_names_capability_adapter_and_tool() {
    for key in ["capability_id", "adapter_id", "protocol_tool"] {
        let mut binding = seed();
        binding.as_object_mut().unwrap().remove(key);
        assert!(Binding::from_value(binding).is_err(), "{key}");
    }
    let mut odd = seed();
    odd["permission"] = json!("all");
    let error = Binding::from_value(odd).unwrap_err().to_string();
    assert!(error.contains("unknown key `permission`"), "{error}");
}
