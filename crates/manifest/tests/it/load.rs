//! What loads, and what is stored of it.

use model::{ApprovalMode, CapClass, Code, Effect, ReplayRule};
use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_manifest::{
    self as manifest, AuthType, DedupScope, Metric, Protocol, TraceContext, TransportKind,
};

use crate::{PAYMENTS, REFUND_BINDING, payments, payments_json, small};

/// CO-57..CO-64, CO-69..CO-73, CO-88..CO-90.
#[test]
fn the_seed_manifest_loads_unchanged() {
    let manifest = payments();
    assert_eq!(manifest.label(), "adp_payments_mcp@0.0.0");
    assert_eq!(manifest.manifest_version, "toolgate.adapter.v1");
    assert_eq!(manifest.owner_role, "payments_platform");
    assert!(!manifest.name.is_empty());
    assert_eq!(manifest.protocol, Protocol::Mcp);
    assert_eq!(manifest.protocol_version.as_deref(), Some("2025-11-25"));
    let transport = manifest.transport.unwrap();
    assert_eq!(transport.kind, TransportKind::StreamableHttp);
    assert!(transport.endpoint_ref.is_some());
    assert_eq!(transport.origin_allowlist, ["https://contextos.example.com"]);
    let auth = manifest.auth.unwrap();
    assert_eq!(auth.kind, AuthType::OAuth2);
    assert!(auth.resource.is_some_and(|resource| resource.starts_with("https://")));
    assert_eq!(auth.initial_scopes, ["payments.read"]);
    assert_eq!(auth.token_audience.as_deref(), Some("payments-mcp"));
    assert_eq!(auth.step_up_scopes["payments.issue_refund"], ["payments.refund.write"]);
    let observability = manifest.observability.unwrap();
    assert_eq!(observability.trace_context, Some(TraceContext::W3c));
    assert!(observability.span_name_prefix.is_some());
    let metrics =
        [Metric::LatencyMs, Metric::RetryCount, Metric::UpstreamStatus, Metric::CostCents];
    assert_eq!(observability.metrics, metrics);
}

/// CO-75..CO-87: what the two capabilities of the seed declare.
#[test]
fn the_seed_capabilities_keep_what_they_declare() {
    let manifest = payments();
    let lookup = manifest.capability_for_tool("payments_lookup_transaction").unwrap();
    assert_eq!((lookup.class, lookup.approval_mode), (CapClass::Observe, ApprovalMode::ReadOnly));
    assert_eq!((lookup.effect(), lookup.replay_rule()), (Effect::Read, ReplayRule::RecordedResult));
    assert!(!lookup.is_write());
    assert_eq!(lookup.capability_id.as_str(), "payments.lookup_transaction");
    assert_eq!(lookup.decision_bindings, ["support.refund.eligibility"]);
    let schema = |reference: &Option<String>| reference.clone().unwrap().starts_with("schema://");
    assert!(schema(&lookup.input_schema_ref) && schema(&lookup.output_schema_ref));
    assert_eq!(lookup.evidence_keys, ["transaction_id", "status", "settlement_ref"]);
    let refund = manifest.capability_for_tool("payments_issue_refund").unwrap();
    assert_eq!((refund.class, refund.approval_mode), (CapClass::Act, ApprovalMode::Destructive));
    assert_eq!((refund.effect(), refund.replay_rule()), (Effect::External, ReplayRule::MustStub));
    assert!(refund.is_write());
    assert_eq!(refund.requires_gate.as_deref(), Some("GATE_FINANCE_APPROVAL"));
    assert_eq!(refund.decision_bindings, ["support.refund.execute"]);
    let idempotency = refund.idempotency.as_ref().unwrap();
    assert!(idempotency.required);
    assert_eq!(idempotency.dedup_window_seconds, 86_400);
    assert_eq!(idempotency.scope, DedupScope::Principal);
    let amount = &refund.arg_constraints["amount_inr"];
    assert_eq!((amount.min, amount.max), (Some(1.0), Some(50_000.0)));
    let currency = refund.arg_constraints["currency"].enum_values.as_ref().unwrap();
    assert_eq!(currency, &[json!("INR")]);
    assert!(manifest.capability_for_tool("payments_delete_everything").is_none());
}

/// CO-121..CO-129: the binding's spelling fills the same fields.
#[test]
fn the_seed_binding_loads_as_a_capability() {
    let mut manifest = payments_json();
    manifest["capabilities"][1] = serde_json::from_str(REFUND_BINDING).unwrap();
    let manifest = manifest::from_value(manifest).unwrap();
    let refund = manifest.capability_for_tool("payments_issue_refund").unwrap();
    assert_eq!(refund.decision_bindings, ["support.refund.execute"]);
    assert_eq!(refund.capability_id.as_str(), "payments.issue_refund");
    assert_eq!((refund.class, refund.approval_mode), (CapClass::Act, ApprovalMode::Destructive));
    assert_eq!(refund.requires_gate.as_deref(), Some("GATE_FINANCE_APPROVAL"));
    assert_eq!(refund.evidence_keys, ["refund_id", "transaction_id", "reversal_token"]);
    assert_eq!(refund.policy_refs, ["POLICY_RETURNS_V4"]);
    let retry = refund.retry();
    assert_eq!(retry.max_attempts, 1);
    assert_eq!(retry.codes, [Code::UpstreamTimeout]);
    assert!(retry.same_key);
}

/// CO-44: a capability has a business name of its own, an owner, a domain and what it is for.
#[test]
fn a_business_capability_is_named_owned_and_bound() {
    let named = small(json!({"domain": "shelves", "owner_role": "librarians",
        "capabilities": [{"decision_bindings": ["shelf.audit"]}]}));
    let manifest = manifest::from_value(named).unwrap();
    assert_eq!(
        (manifest.domain.as_deref(), manifest.owner_role.as_str()),
        (Some("shelves"), "librarians")
    );
    let capability = &manifest.capabilities[0];
    assert_eq!(capability.capability_id.as_str(), "small.look");
    assert_eq!(capability.decision_bindings, ["shelf.audit"]);
    for missing in ["owner_role", "name", "adapter_id"] {
        let mut value = small(json!({}));
        value.as_object_mut().unwrap().remove(missing);
        let error = manifest::from_value(value).unwrap_err().to_string();
        assert!(error.contains(missing), "{error}");
    }
}

/// CO-45: five classes and no sixth. CO-46: five modes, in this order, and no sixth.
#[test]
fn classes_and_modes_are_closed_lists() {
    let read = |key: &str, word: &str| {
        manifest::from_value(small(json!({"capabilities": [{key: word}]})))
            .map(|manifest| manifest.capabilities[0].clone())
    };
    for class in ["observe", "recall", "verify", "think_support", "act"] {
        assert_eq!(read("class", class).unwrap().class.as_str(), class);
    }
    let modes = ["read_only", "local_write", "network", "delegated", "destructive"];
    let read_modes: Vec<ApprovalMode> =
        modes.iter().map(|mode| read("approval_mode", mode).unwrap().approval_mode).collect();
    assert!(read_modes.is_sorted_by(|a, b| a < b));
    assert_eq!(read_modes.iter().map(|mode| mode.as_str()).collect::<Vec<_>>(), modes);
    for other in ["admin", "Act", "", "READ_ONLY", "write"] {
        assert!(read("class", other).is_err() && read("approval_mode", other).is_err(), "{other}");
    }
}

/// CO-47: a protocol with its revision pinned, and a way to reach it.
#[test]
fn protocol_and_transport_are_picked_and_pinned() {
    let check = |protocol: &str, version: &str, transport: &str, good: bool| {
        let value = small(json!({"protocol": protocol, "protocol_version": version,
            "transport": {"kind": transport}}));
        assert_eq!(manifest::from_value(value).is_ok(), good, "{protocol} {version} {transport}");
    };
    check("mcp", "2025-06-18", "streamable_http", true);
    check("mcp", "2025-11-25", "sse", true);
    check("openapi", "3.1", "custom", true);
    check("soap", "1", "streamable_http", false);
    check("mcp", "2025-11-25", "carrier_pigeon", false);
    let pinned = small(json!({"protocol_version": "2024-11-05", "protocol_version_reason": "old"}));
    let pinned = manifest::from_value(pinned).unwrap();
    assert_eq!(pinned.protocol_version.as_deref(), Some("2024-11-05"));
}

/// CO-1: every protocol has the same contract.
#[test]
fn every_protocol_parses() {
    let check = |word: &str, protocol: Protocol| {
        let manifest = manifest::from_value(small(json!({"protocol": word}))).unwrap();
        assert_eq!(manifest.protocol, protocol);
        assert_eq!(manifest.capabilities.len(), 1);
    };
    check("mcp", Protocol::Mcp);
    check("openapi", Protocol::OpenApi);
    check("function", Protocol::Function);
    check("custom", Protocol::Custom);
}

/// CO-3: the manifest declares the facts of a call and has no field that would decide one.
#[test]
fn a_manifest_cannot_grant() {
    for word in ["allow", "action", "granted", "approved", "effective_mode"] {
        let value = small(json!({"capabilities": [{word: true}]}));
        assert!(manifest::from_value(value).is_err(), "{word}");
    }
}

/// C38: two spellings, one stored form and so one hash.
#[test]
fn both_spellings_store_the_same() {
    let check = |one: Value, other: Value| {
        let read = |capability: Value| {
            manifest::from_value(small(json!({"capabilities": [capability]}))).unwrap()
        };
        let (one, other) = (read(one), read(other));
        assert_eq!(one, other);
        assert_eq!(one.hash(), other.hash());
    };
    check(json!({"decision_binding": "a.b"}), json!({"decision_bindings": ["a.b"]}));
    check(json!({"requires_approval_gate": "G"}), json!({"requires_gate": "G"}));
    check(
        json!({"retry_policy": {"retryable_error_codes": ["RATE_LIMITED"]}}),
        json!({"retry": {"codes": ["RATE_LIMITED"]}}),
    );
    check(
        json!({"retry": {"requires_same_idempotency_key": false}}),
        json!({"retry": {"same_key": false}}),
    );
    check(json!({"data_class": "RESTRICTED"}), json!({"data_class": "restricted"}));
}

#[test]
fn required_keys_have_two_spellings_too() {
    let check = |tool: &str, class: &str| {
        let mut value = small(json!({}));
        value["capabilities"] = json!([{
            "capability_id": "small.look", tool: "look", class: "observe",
            "approval_mode": "read_only"
        }]);
        assert_eq!(
            manifest::from_value(value).unwrap(),
            manifest::from_value(small(json!({}))).unwrap()
        );
    };
    check("tool", "class");
    check("mcp_tool_name", "capability_class");
    check("protocol_tool", "capability_class");
}

/// CO-65..CO-68: flags of `tasks` are booleans, whichever way they were written.
#[test]
fn task_features_are_stored_as_booleans() {
    let read = |key: &str, tasks: Value| {
        let features = json!({"tools": {"listChanged": true}, "tasks": tasks});
        manifest::from_value(small(json!({key: features}))).unwrap().server_features
    };
    let seed = payments().server_features;
    assert_eq!(seed["tasks"], json!({"list": true, "cancel": true}));
    let objects = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
    let stored = read("server_features", objects);
    assert_eq!(stored["tasks"]["list"], json!(true));
    assert_eq!(stored["tasks"]["cancel"], json!(true));
    assert_eq!(stored["tasks"]["requests"], json!({"tools": {"call": {}}}));
    assert_eq!(read("server_capabilities", json!({"list": false}))["tasks"]["list"], json!(false));
}

#[test]
fn only_mcp_has_a_default_revision() {
    let version = |protocol: &str| {
        let manifest = manifest::from_value(small(json!({"protocol": protocol}))).unwrap();
        assert_eq!(manifest.protocol_version, None, "what is not stated pins nothing");
        manifest.revision().map(str::to_owned)
    };
    assert_eq!(version("mcp").as_deref(), Some("2025-11-25"));
    assert_eq!(version("openapi"), None);
}

#[test]
fn the_hash_follows_the_content_and_not_the_signature() {
    let manifest = payments();
    let mut signed = payments_json();
    signed["signature"] = json!({"alg": "ed25519", "key_id": "k1", "value": "abc"});
    assert_eq!(manifest::from_value(signed).unwrap().hash(), manifest.hash());
    let mut raised = payments_json();
    raised["capabilities"][1]["arg_constraints"]["amount_inr"]["max"] = json!(50001);
    assert_ne!(manifest::from_value(raised).unwrap().hash(), manifest.hash());
}

#[test]
fn a_stored_manifest_reads_back() {
    let manifest = payments();
    let stored = serde_json::to_string(&manifest).unwrap();
    assert_eq!(manifest::parse(&stored).unwrap(), manifest);
}

proptest! {
    /// Whatever bytes are changed, reading ends in a manifest or an error.
    #[test]
    fn no_text_makes_the_reader_panic(at in 0..PAYMENTS.len(), junk in ".{0,8}") {
        let cut = (0..=at).rev().find(|i| PAYMENTS.is_char_boundary(*i)).unwrap();
        let (head, tail) = PAYMENTS.split_at(cut);
        if let Ok(manifest) = manifest::parse(&format!("{head}{junk}{tail}")) {
            prop_assert!(!manifest.label().is_empty());
        }
    }

    /// Any accepted id keeps `id@version` unambiguous.
    #[test]
    fn an_accepted_id_is_one_word(id in "[a-zA-Z0-9_@. -]{0,12}", version in "[0-9a-z.+@-]{0,10}") {
        let value = small(json!({"adapter_id": id, "version": version}));
        if let Ok(manifest) = manifest::from_value(value) {
            prop_assert_eq!(manifest.label().matches('@').count(), 1);
            prop_assert!(!manifest.label().contains(char::is_whitespace));
        }
    }
}
