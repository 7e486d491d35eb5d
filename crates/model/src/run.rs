//! The bounds of one piece of work: identity, intent, ceiling and budget.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
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

/// What a run has used up. It only grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spending {
    pub began: Timestamp,
    pub calls: u64,
    pub writes: u64,
    pub tokens: u64,
    /// In the smallest unit of whatever it is counted in.
    pub cost: u64,
    pub retries: u64,
    pub iterations: u64,
    pub result_bytes: u64,
    pub elicitations: u64,
    pub samples: u64,
}

impl Spending {
    /// A run that has done nothing yet.
    pub const fn begun(began: Timestamp) -> Self {
        Self {
            began,
            calls: 0,
            writes: 0,
            tokens: 0,
            cost: 0,
            retries: 0,
            iterations: 0,
            result_bytes: 0,
            elicitations: 0,
            samples: 0,
        }
    }
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
