//! A question to a human and its one answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::ids::{ApprovalId, CallId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Approved,
    Rejected,
    Expired,
    /// Approved, and the one call it released has been made.
    Redeemed,
}

impl ApprovalState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Redeemed => "redeemed",
        }
    }
}

/// What a person is asked to let pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A call of a tool.
    #[default]
    Call,
    /// What an upstream wants a client's model to do.
    Sampling,
}

impl Approval {
    /// Whether somebody of this tenant may know of the question; whoever belongs to none sees all.
    pub fn is_shown_to(&self, tenant: Option<&str>) -> bool {
        tenant.is_none() || self.tenant.as_deref() == tenant
    }
}

impl Subject {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Sampling => "sampling",
        }
    }
}

/// One human checkpoint on one frozen call. It releases exactly what it was shown, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub approval_id: ApprovalId,
    pub gate: String,
    pub state: ApprovalState,
    #[serde(default)]
    pub subject: Subject,
    /// Binds principal, tool definition, canonical arguments and policy. The same call made again
    /// finds its question by it.
    #[serde(default)]
    pub subject_hash: String,
    /// Binds all of that to the end of the question. What is approved is this.
    pub frozen_hash: String,
    pub requested_by: String,
    /// The tenant of whoever asks. Only its own people answer, and those who belong to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub requested_for: CallId,
    pub tool: String,
    /// The arguments in full, so that the human sees what will be sent.
    pub args: Value,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
