//! What is refused, and in which words.

use serde_json::{Value, json};
use toolgate_manifest::{self as manifest, ManifestError};

use crate::{PAYMENTS, REFUND_BINDING, payments_json, small};

fn refusal(value: Value) -> ManifestError {
    manifest::from_value(value).unwrap_err()
}

/// Each row: what is laid over a good manifest, and the words of the refusal.
fn check(extra: Value, expected: &str) {
    let error = refusal(small(extra)).to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_nearest_known_one() {
    let check = |extra: Value, at: &str, key: &str, nearest: Option<&str>| {
        let (at, key) = (at.to_owned(), key.to_owned());
        let nearest = nearest.map(str::to_owned);
        assert_eq!(refusal(small(extra)), ManifestError::UnknownKey { at, key, nearest });
    };
    check(json!({"adapterid": 1}), "", "adapterid", Some("adapter_id"));
    check(json!({"zzz": 1}), "", "zzz", None);
    check(
        json!({"capabilities": [{"aproval_mode": 1}]}),
        "capabilities[0]",
        "aproval_mode",
        Some("approval_mode"),
    );
    check(
        json!({"capabilities": [{"arg_constraints": {"amount": {"maximum": 1}}}]}),
        "capabilities[0].arg_constraints.amount",
        "maximum",
        Some("max"),
    );
    check(
        json!({"auth": {"type": "none", "allow_token_pass_through": false}}),
        "auth",
        "allow_token_pass_through",
        Some("allow_token_passthrough"),
    );
}

#[test]
fn an_unknown_key_reads_well() {
    let error = refusal(small(json!({"adapterid": 1}))).to_string();
    assert_eq!(error, "unknown key `adapterid` in the manifest; did you mean `adapter_id`?");
    let text = PAYMENTS.replace("\"evidence_keys\"", "\"evidence_key\"");
    assert_eq!(
        manifest::parse(&text).unwrap_err().to_string(),
        "unknown key `evidence_key` in `capabilities[0]`; did you mean `evidence_keys`?"
    );
}

/// CO-74.
#[test]
fn token_passthrough_is_refused() {
    let mut value = payments_json();
    value["auth"]["allow_token_passthrough"] = json!(true);
    let error = refusal(value).to_string();
    assert!(error.starts_with("in `auth.allow_token_passthrough`: a caller's token is never"));
}

#[test]
fn ids_follow_their_grammar() {
    let adapter = |id: &str| check(json!({"adapter_id": id}), "adapter id `");
    for id in ["", "Payments", "9lives", "a-b", "a b", "a@b", "ä"] {
        adapter(id);
    }
    let capability =
        |id: &str| check(json!({"capabilities": [{"capability_id": id}]}), "capability id `");
    for id in ["", "refund", ".refund", "a.", "a..b", "A.b", "a.b c", "a.9b"] {
        capability(id);
    }
}

#[test]
fn a_version_is_three_numbers() {
    for version in ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "1.2.3-", "1.2.3+a@b"] {
        check(json!({"version": version}), "must be three numbers");
    }
    for version in ["0.0.0", "1.20.3", "1.0.0-rc.1", "1.0.0+build.5", "1.0.0-a-b+c"] {
        assert!(manifest::from_value(small(json!({"version": version}))).is_ok(), "{version}");
    }
}

/// CO-90: four metrics can be told of a call, and no other is promised.
#[test]
fn a_metric_that_nobody_measures_is_refused() {
    check(json!({"observability": {"metrics": ["latency"]}}), "`cost_cents`");
}

#[test]
fn an_unknown_manifest_version_is_refused() {
    check(json!({"manifest_version": "toolgate.adapter.v2"}), "this gate reads");
}

/// CO-75.
#[test]
fn a_capability_id_is_used_once() {
    let mut value = payments_json();
    value["capabilities"][1]["capability_id"] = json!("payments.lookup_transaction");
    let (at, id) = ("capabilities[1]".to_owned(), "payments.lookup_transaction".to_owned());
    assert_eq!(refusal(value), ManifestError::DuplicateCapability { at, id });
}

#[test]
fn a_tool_has_one_capability() {
    let mut value = payments_json();
    value["capabilities"][1]["mcp_tool_name"] = json!("payments_lookup_transaction");
    let error = refusal(value).to_string();
    assert!(error.contains("which `payments.lookup_transaction` already binds"), "{error}");
}

#[test]
fn a_binding_of_another_adapter_is_refused() {
    let mut binding: Value = serde_json::from_str(REFUND_BINDING).unwrap();
    binding["adapter_id"] = json!("adp_other");
    let mut value = payments_json();
    value["capabilities"][1] = binding;
    let error = refusal(value);
    assert!(matches!(error, ManifestError::OtherAdapter { .. }), "{error}");
}

#[test]
fn two_spellings_of_one_key_at_once_are_refused() {
    check(json!({"capabilities": [{"mcp_tool_name": "other"}]}), "duplicate field `tool`");
}

#[test]
fn a_key_written_twice_is_refused() {
    let twice = PAYMENTS.replacen(
        "\"approval_mode\": \"read_only\"",
        "\"approval_mode\": \"read_only\", \"approval_mode\": \"destructive\"",
        1,
    );
    let error = manifest::parse(&twice).unwrap_err().to_string();
    assert!(error.contains("duplicate field `approval_mode`"), "{error}");
    let limits = r#"{"min": 1, "max": 50000 },
        "amount_inr": { "min": 1, "max": 99999 }"#;
    let twice = PAYMENTS.replacen(r#"{ "min": 1, "max": 50000 }"#, limits, 1);
    let error = manifest::parse(&twice).unwrap_err().to_string();
    assert!(error.contains("`amount_inr` is written twice"), "{error}");
}

#[test]
fn a_bad_pattern_is_refused_when_read() {
    let bad = json!({"capabilities": [{"arg_constraints": {"ref": {"pattern": "("}}}]});
    check(bad, "in `capabilities[0].arg_constraints.ref.pattern`: `(` is not a regular expression");
}

/// CO-63.
#[test]
fn credentials_in_an_address_are_refused() {
    let transport = |endpoint: &str| {
        small(json!({"transport": {"kind": "streamable_http", "endpoint_ref": endpoint}}))
    };
    for endpoint in ["https://user:pw@example.com/mcp", "https://token@example.com"] {
        let error = refusal(transport(endpoint)).to_string();
        assert!(error.contains("keep credentials in `auth`") && !error.contains("pw"), "{error}");
    }
    for endpoint in ["https://example.com/@scope/mcp", "payments@prod", "https://example.com"] {
        assert!(manifest::from_value(transport(endpoint)).is_ok(), "{endpoint}");
    }
}

#[test]
fn a_missing_or_unknown_value_is_named() {
    let mut value = small(json!({}));
    value["capabilities"][0].as_object_mut().unwrap().remove("approval_mode");
    let error = refusal(value).to_string();
    assert_eq!(error, "in `capabilities[0]`: missing field `approval_mode`");
    check(json!({"protocol": "soap"}), "in `protocol`: unknown variant `soap`");
    check(json!({"capabilities": [{"retry": {"codes": ["NO_SUCH"]}}]}), "`NO_SUCH`");
    check(json!({"capabilities": [{"decision_binding": 7}]}), "a string or a list of strings");
}

#[test]
fn text_that_is_not_json_is_called_that() {
    for text in ["", "{", "adapter_id: x"] {
        let error = manifest::parse(text).unwrap_err();
        assert!(matches!(error, ManifestError::NotJson(_)), "{text}: {error}");
    }
    let error = manifest::parse(&format!("{PAYMENTS} trailing")).unwrap_err();
    assert!(matches!(error, ManifestError::NotJson(_)), "{error}");
    assert!(matches!(refusal(json!([])), ManifestError::Invalid { .. }));
}
