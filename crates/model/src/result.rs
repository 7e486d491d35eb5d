//! The envelope of a result: what happened, in a form that records, cards and planners share.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::artifact::{ArtifactRef, View};
use crate::evidence::Evidence;
use crate::fault::Fault;
use crate::ids::{ApprovalId, CallId, CapabilityId, DecisionId, RunId, TraceId};
use crate::item::Finding;

pub const ENVELOPE_VERSION: &str = "toolgate.result.v1";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    Completed,
    Failed,
    Paused,
    Rejected,
    Cancelled,
}

impl CallStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Paused => "paused",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    Partial,
    Error,
}

/// How the model's copy was cleaned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaning {
    pub profile: String,
    pub version: u32,
    /// Strings that differ from what the upstream sent.
    pub changed_leaves: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    pub latency_ms: u64,
    /// Time spent waiting for the upstream.
    pub upstream_ms: u64,
    pub retry_count: u32,
    /// How the upstream answered, where its manifest lists that: a status of HTTP, or a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_status: Option<String>,
    /// What the call cost, where its manifest lists that and the configuration says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_cents: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    pub upstream: Arc<str>,
    pub tool: Arc<str>,
    pub protocol: Cow<'static, str>,
    /// The annotations of each part of the answer that has some, with its `part_index`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content_annotations: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    pub envelope_version: Cow<'static, str>,
    pub call_id: CallId,
    pub run_id: RunId,
    pub trace_id: TraceId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    pub status: CallStatus,
    pub outcome: Outcome,
    /// At most 500 characters.
    pub summary: String,
    /// The summary leaves something out.
    pub lossy: bool,
    pub facts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactRef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<View>,
    /// SHA-256 of the raw answer, before cleaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_hash: Option<String>,
    /// What a decision may cite of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What the write says it has made or changed, by the ids in its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutation_refs: Vec<String>,
    /// What was odd about the answer, such as a broken output schema that was let through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision_id: Option<DecisionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    pub deduplicated: bool,
    pub cleaning: Cleaning,
    pub metrics: Metrics,
    pub provenance: Provenance,
}
