//! One answer of the policy, as it is recorded.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::grade::ApprovalMode;
use crate::ids::DecisionId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionAction {
    Allow,
    Deny,
    RequireApproval,
}

impl DecisionAction {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::RequireApproval => "require_approval",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub policy_decision_id: DecisionId,
    pub action: DecisionAction,
    /// In words, for the person who asks "who allowed this?".
    pub reason: String,
    /// The rules that decided, sorted.
    pub matched_rule_ids: Vec<String>,
    /// SHA-256 of the policy text that was in force.
    pub policy_hash: String,
    pub effective_mode: ApprovalMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// What the rules that permitted it ask for besides, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obligations: Vec<String>,
    /// What the run had used up, where the policy could look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// SHA-256 over everything the policy was asked about.
    pub inputs_hash: String,
    pub at: Timestamp,
}

/// What a run has used up so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub calls: u64,
    pub writes: u64,
}
