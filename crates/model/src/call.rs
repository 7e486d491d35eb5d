//! The envelope of a call: everything that must be known to decide it, record it and replay it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical;
use crate::clock::Timestamp;
use crate::grade::ApprovalMode;
use crate::ids::{CallId, CapabilityId, DecisionId, Generation, RunId, SessionId, SpanId, TraceId};
use crate::item::ItemKey;
use crate::principal::{Grant, Principal};
use crate::trace::is_hex;

pub const ENVELOPE_VERSION: &str = "toolgate.call.v1";

/// Which versions of everything were in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    pub generation: Generation,
    pub catalogue_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    pub policy_hash: String,
    pub gateway_version: Cow<'static, str>,
    /// The server behind the tool, as it introduced itself; absent where nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Arc<ServerLineage>>,
    /// What a manifest says of the prompt that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptLineage>,
}

/// Which version of a prompt a manifest declares, and by what it was evaluated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptLineage {
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_ref: Option<String>,
}

/// Permissions a call needs, and those among them that the caller holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scopes {
    pub requested: Vec<String>,
    pub granted: Vec<String>,
}

/// Who an upstream says it is. Told, not proven.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLineage {
    pub name: String,
    pub version: String,
    pub protocol_version: String,
    pub capabilities_hash: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub envelope_version: Cow<'static, str>,
    pub call_id: CallId,
    pub run_id: RunId,
    pub trace_id: TraceId,
    /// The caller's span, where it named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<SpanId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The call that began the task this one is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<CallId>,
    /// What was asked for, where it was not the call of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The name the caller used, whatever rendering it was.
    pub asked_name: String,
    /// Absent while the name is not resolved, and for ever if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_key: Option<ItemKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    pub args: Value,
    pub args_hash: String,
    /// Who acts for whom, outermost first.
    pub principal_chain: Vec<Principal>,
    /// For whom the caller acts, where it acts for somebody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acts_for: Option<Principal>,
    /// What the caller says the call rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<String>,
    /// What else policy knew of the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<ApprovalMode>,
    /// What the capability asked of the caller's grants; absent where it asks for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Scopes>,
    /// What the caller says it is about. A claim, for policies that want one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_effective: Option<ApprovalMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision_id: Option<DecisionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    pub dry_run: bool,
    pub started_at: Timestamp,
    pub deadline: Timestamp,
    pub lineage: Lineage,
}

impl Call {
    /// The span this call is in its trace: the end of its own id, which nobody could guess before.
    pub fn span_id(&self) -> SpanId {
        let id = self.call_id.as_str();
        let end = id.len().checked_sub(16).and_then(|start| id.get(start..));
        match end.filter(|end| is_hex(end, 16)) {
            Some(end) => SpanId::from_string(end),
            None => SpanId::from_string(
                canonical::hash_bytes(id.as_bytes()).chars().take(16).collect::<String>(),
            ),
        }
    }
}
