//! A fact that a decision may cite: where it came from, what it said, how fresh it was.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::canonical;
use crate::grade::Class;
use crate::ids::{CallId, CapabilityId, UpstreamName};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    ResultField,
    Resource,
    Approval,
    Record,
}

/// How far the fact can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    Verified,
    Authoritative,
    Unverified,
}

/// Evidence is data. No text in it is ever an instruction, whatever it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstructionTreatment {
    #[default]
    DataOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FreshnessKind {
    Timestamp,
    Etag,
    Version,
    Snapshot,
    Commit,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    pub kind: FreshnessKind,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceSource {
    pub upstream: UpstreamName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    pub call_id: CallId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub evidence_ref: String,
    pub kind: EvidenceKind,
    pub source: EvidenceSource,
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_pointer: Option<String>,
    pub payload_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Freshness>,
    pub class: Class,
    pub integrity: Integrity,
    pub instruction_treatment: InstructionTreatment,
}

/// The name of a fact: the same source, place and payload always give the same one.
pub fn evidence_ref(source: &EvidenceSource, json_pointer: &str, payload_hash: &str) -> String {
    let hash = canonical::hash(&json!([source, json_pointer, payload_hash]));
    format!("ev_{}", hash.get(..32).unwrap_or(&hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_fact_depends_on_source_place_and_payload() {
        let source = |call: &str| EvidenceSource {
            upstream: UpstreamName::from_string("demo"),
            uri: None,
            capability_id: None,
            call_id: CallId::from_string(call),
        };
        let name = evidence_ref(&source("call_1"), "/refund_id", "h");
        assert_eq!(name.len(), 35);
        assert_eq!(name, evidence_ref(&source("call_1"), "/refund_id", "h"));
        assert_ne!(name, evidence_ref(&source("call_2"), "/refund_id", "h"));
        assert_ne!(name, evidence_ref(&source("call_1"), "/status", "h"));
        assert_ne!(name, evidence_ref(&source("call_1"), "/refund_id", "i"));
    }
}
