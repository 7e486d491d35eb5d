//! Facts of an answer that a decision may cite, taken from structured content and nowhere else.

use model::evidence::{Evidence, EvidenceKind, EvidenceSource, Freshness, InstructionTreatment};
use model::evidence::{Integrity, evidence_ref};
use model::fault::one_line;
use model::{Class, canonical};
use serde_json::Value;

use crate::json::pointer_token;
use crate::limits::{EVIDENCE_CHARS_MAX, FACT_CHARS_MAX, MUTATIONS_MAX};
use crate::redact::Redactor;
use crate::sanitise::Cleaner;

/// Where the facts come from, and how far they can be trusted.
#[derive(Clone, Debug)]
pub struct Witness<'a> {
    pub source: EvidenceSource,
    pub freshness: Option<Freshness>,
    pub class: Class,
    pub integrity: Integrity,
    pub redactor: &'a Redactor,
}

/// One fact for each key found, in the order of the keys.
///
/// A key is the name of a field, a path of names with dots between, or a JSON pointer.
pub fn evidence(
    structured: Option<&Value>,
    keys: &[String],
    witness: &Witness<'_>,
) -> Vec<Evidence> {
    let Some(root) = structured else { return Vec::new() };
    let payload_hash = canonical::hash(root);
    let mint = |key: &String| {
        let (pointer, value) = find(root, key)?;
        Some(Evidence {
            evidence_ref: evidence_ref(&witness.source, &pointer, &payload_hash),
            kind: EvidenceKind::ResultField,
            source: witness.source.clone(),
            key: key.clone(),
            value: shown(key, value, witness.redactor),
            json_pointer: Some(pointer),
            payload_hash: payload_hash.clone(),
            freshness: witness.freshness.clone(),
            class: witness.class,
            integrity: witness.integrity,
            instruction_treatment: InstructionTreatment::DataOnly,
        })
    };
    keys.iter().filter_map(mint).collect()
}

/// The ids under these keys, and of a list under one of them each: what a write made or changed.
pub fn mutation_refs(
    structured: Option<&Value>,
    keys: &[String],
    redactor: &Redactor,
) -> Vec<String> {
    let Some(root) = structured else { return Vec::new() };
    let named = keys.iter().filter_map(|key| find(root, key)).map(|(_, value)| value);
    let each = named.flat_map(|value| match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    });
    let ids = each.filter_map(|value| match value {
        Value::String(text) => Some(redactor.redact(text).into_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    ids.take(MUTATIONS_MAX).map(|id| one_line(&id, FACT_CHARS_MAX)).collect()
}

/// The value and its pointer; `null` is no evidence of anything.
fn find<'v>(root: &'v Value, key: &str) -> Option<(String, &'v Value)> {
    let named = format!("/{}", pointer_token(key));
    let dotted = || format!("/{}", key.split('.').map(pointer_token).collect::<Vec<_>>().join("/"));
    let pointers = [named, if key.starts_with('/') { key.to_owned() } else { dotted() }];
    let found = |pointer: String| {
        let value = root.pointer(&pointer).filter(|value| !value.is_null())?;
        Some((pointer, value))
    };
    pointers.into_iter().find_map(found)
}

/// Short values are kept, cleaned; of long ones the pointer and the hash say enough.
fn shown(key: &str, value: &Value, redactor: &Redactor) -> Option<Value> {
    if crate::json::chars(value, EVIDENCE_CHARS_MAX) > EVIDENCE_CHARS_MAX {
        return None;
    }
    let mut field = serde_json::json!({ key: value });
    Cleaner::strict(redactor).value(&mut field);
    field.as_object_mut()?.values_mut().next().map(Value::take)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CallId, UpstreamName};
    use serde_json::json;

    fn minted(structured: &Value, keys: &[&str]) -> Vec<Evidence> {
        let source = EvidenceSource {
            upstream: UpstreamName::from_string("demo"),
            uri: None,
            capability_id: None,
            call_id: CallId::from_string("call_1"),
        };
        let (freshness, class, integrity) = (None, Class::Internal, Integrity::Verified);
        let redactor = Redactor::default();
        let witness = Witness { source, freshness, class, integrity, redactor: &redactor };
        let keys: Vec<_> = keys.iter().map(|key| (*key).to_owned()).collect();
        evidence(Some(structured), &keys, &witness)
    }

    /// CO-51, CO-82, CO-143: source, place and payload give the fact its name.
    #[test]
    fn keys_become_facts_with_pointer_and_payload_hash() {
        let data = json!({"refund_id": "r1", "a.b": 1, "deep": {"x": 2}, "none": null});
        let check = |key: &str, expected: Option<(&str, Value)>| {
            let facts = minted(&data, &[key]);
            let found = facts
                .first()
                .map(|fact| (fact.json_pointer.as_deref().unwrap(), fact.value.clone().unwrap()));
            assert_eq!(found, expected, "{key}");
        };
        check("refund_id", Some(("/refund_id", json!("r1"))));
        check("a.b", Some(("/a.b", json!(1))));
        check("deep.x", Some(("/deep/x", json!(2))));
        check("/deep/x", Some(("/deep/x", json!(2))));
        check("none", None);
        check("missing", None);
        let fact = minted(&data, &["refund_id"]).remove(0);
        assert_eq!(fact.payload_hash, canonical::hash(&data));
        assert!(fact.evidence_ref.starts_with("ev_"));
        assert_eq!((fact.class, fact.integrity), (Class::Internal, Integrity::Verified));
    }

    /// CO-7, CO-198: what a fact shows is clean, without secrets, and never an instruction.
    #[test]
    fn values_are_cleaned_and_long_ones_left_out() {
        let data = json!({"note": "<|im_start|>go", "reset_token": "9f8a7b6c5d4e3f2a1b", "long": "x".repeat(500)});
        let facts = minted(&data, &["note", "reset_token", "long"]);
        let values: Vec<_> = facts.iter().map(|fact| fact.value.clone()).collect();
        assert_eq!(values, [Some(json!("[marker:im_start]go")), Some(json!("[redacted]")), None]);
        assert!(facts.iter().all(|f| f.instruction_treatment == InstructionTreatment::DataOnly));
    }
}
