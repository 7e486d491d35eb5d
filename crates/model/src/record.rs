//! What is kept of a call for ever: its envelope, the decision, the outcome, and their hashes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::Call;
use crate::clock::Timestamp;
use crate::decision::Decision;
use crate::fault::{Code, ErrorKind, Fault};
use crate::grade::ReplayRule;
use crate::ids::{ApprovalId, RecordId};
use crate::result::{CallResult, CallStatus};
use crate::score::Scorecard;
use crate::task::TaskState;

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

impl From<TaskState> for RecordStatus {
    /// Where a call that runs as a task stands.
    fn from(state: TaskState) -> Self {
        match state {
            TaskState::Working => Self::Deferred,
            TaskState::InputRequired => Self::Escalated,
            TaskState::Completed => Self::Completed,
            TaskState::Failed => Self::Failed,
            TaskState::Cancelled => Self::Cancelled,
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
    /// The raw answer without its secrets, if it was short enough to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// What the built-in critic makes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorecard: Option<Scorecard>,
    /// Secrets were taken out of the arguments or the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// What stands in for the call when it is replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_rule: Option<ReplayRule>,
    pub opened_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// The stages the call went through, in order.
    pub stages: Vec<Cow<'static, str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CO-98, CO-135 and CO-183 to CO-187, the part that is on record.
    #[test]
    fn each_task_state_has_its_record_status() {
        let check = |state: TaskState, expected: RecordStatus| {
            assert_eq!(RecordStatus::from(state), expected);
            let open = matches!(expected, RecordStatus::Deferred | RecordStatus::Escalated);
            assert_eq!(state.is_final(), !open, "{expected}");
        };
        check(TaskState::Working, RecordStatus::Deferred);
        check(TaskState::InputRequired, RecordStatus::Escalated);
        check(TaskState::Completed, RecordStatus::Completed);
        check(TaskState::Failed, RecordStatus::Failed);
        check(TaskState::Cancelled, RecordStatus::Cancelled);
    }

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
