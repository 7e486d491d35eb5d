//! A call that outlives its request. A state that ends a task is never left again.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::CallId;
use crate::principal::Principal;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl TaskState {
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether a task may go from here to `next`.
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => false,
            Self::Working => !matches!(next, Self::Working),
            Self::InputRequired => !matches!(next, Self::InputRequired),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub task_id: String,
    pub call_id: CallId,
    pub state: TaskState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub ttl_ms: u64,
    pub poll_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_task_id: Option<String>,
    pub principal: Principal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_stays_ended() {
        use TaskState::{Cancelled, Completed, Failed, InputRequired, Working};
        let all = [Working, InputRequired, Completed, Failed, Cancelled];
        for end in all.into_iter().filter(|state| state.is_final()) {
            assert!(all.into_iter().all(|next| !end.may_become(next)), "{end:?}");
        }
        assert!(Working.may_become(InputRequired) && InputRequired.may_become(Working));
        assert!(Working.may_become(Cancelled) && InputRequired.may_become(Completed));
    }
}
