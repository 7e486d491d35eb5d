//! The bounds of one piece of work: identity, intent, ceiling and budget.

use serde::{Deserialize, Serialize};

use crate::grade::ApprovalMode;
use crate::ids::{RunId, SessionId, TraceId};
use crate::principal::Principal;

/// Limits of a run. An absent field is unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunBudget {
    pub max_calls: Option<u64>,
    pub max_write_calls: Option<u64>,
    pub max_tokens: Option<u64>,
    pub max_wall_ms: Option<u64>,
    pub max_cost_minor: Option<u64>,
    pub max_retries: Option<u64>,
    pub max_iterations: Option<u64>,
    pub max_result_bytes: Option<u64>,
    pub max_elicitations: Option<u64>,
    pub max_samples: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunContext {
    pub run_id: RunId,
    pub trace_id: TraceId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    pub principal_chain: Vec<Principal>,
    /// Capabilities above it are hidden and refused.
    pub safety_ceiling: ApprovalMode,
    pub budget: RunBudget,
}
