//! What is kept of a call for ever: its envelope, the decision, the outcome, and their hashes.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::clock::Timestamp;
use crate::decision::Decision;
use crate::fault::{Code, ErrorKind, Fault};
use crate::ids::{ApprovalId, RecordId};
use crate::result::{CallResult, CallStatus};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordStatus {
    /// Opened, and not closed yet: running, or cut off.
    Open,
    Completed,
    Failed,
    Denied,
    Cancelled,
    Deferred,
    Escalated,
}

impl RecordStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Deferred => "deferred",
            Self::Escalated => "escalated",
        }
    }

    /// Where a fault leaves the record and the call (the mapping table of types.md).
    pub fn of(fault: &Fault) -> (Self, CallStatus) {
        match (fault.code, fault.code.kind()) {
            (Code::Cancelled, _) => (Self::Cancelled, CallStatus::Cancelled),
            (Code::ApprovalPending, _) => (Self::Escalated, CallStatus::Paused),
            (Code::StepUpRequired, _) => (Self::Deferred, CallStatus::Paused),
            (
                _,
                ErrorKind::Policy
                | ErrorKind::Capability
                | ErrorKind::Approval
                | ErrorKind::Egress
                | ErrorKind::Rate
                | ErrorKind::Budget,
            ) => (Self::Denied, CallStatus::Rejected),
            _ => (Self::Failed, CallStatus::Failed),
        }
    }
}

impl std::fmt::Display for RecordStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One governed call, refusals included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub record_id: RecordId,
    pub status: RecordStatus,
    pub call: Call,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<CallResult>,
    pub opened_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// The stages the call went through, in order.
    pub stages: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mapping table of types.md (C22), one row a line.
    #[test]
    fn each_fault_lands_in_its_status() {
        let check = |code: Code, record: RecordStatus, call: CallStatus| {
            assert_eq!(RecordStatus::of(&Fault::new(code, "")), (record, call), "{code}");
        };
        check(Code::ToolNotFound, RecordStatus::Failed, CallStatus::Failed);
        check(Code::ArgsInvalid, RecordStatus::Failed, CallStatus::Failed);
        check(Code::OutputInvalid, RecordStatus::Failed, CallStatus::Failed);
        check(Code::CapabilityDenied, RecordStatus::Denied, CallStatus::Rejected);
        check(Code::PolicyDenied, RecordStatus::Denied, CallStatus::Rejected);
        check(Code::ApprovalPending, RecordStatus::Escalated, CallStatus::Paused);
        check(Code::ApprovalRejected, RecordStatus::Denied, CallStatus::Rejected);
        check(Code::StepUpRequired, RecordStatus::Deferred, CallStatus::Paused);
        check(Code::UpstreamTimeout, RecordStatus::Failed, CallStatus::Failed);
        check(Code::Cancelled, RecordStatus::Cancelled, CallStatus::Cancelled);
        check(Code::RateLimited, RecordStatus::Denied, CallStatus::Rejected);
        check(Code::EgressDenied, RecordStatus::Denied, CallStatus::Rejected);
    }
}
