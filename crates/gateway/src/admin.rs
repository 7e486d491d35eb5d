//! For people rather than agents: what was recorded, and what waits for an answer.

use model::{Approval, ApprovalState, Fault, Record};
use store::{RecordFilter, RecordLine, Verdict};

use crate::gateway::Gateway;

impl Gateway {
    pub async fn records(&self, filter: &RecordFilter) -> Result<Vec<RecordLine>, Fault> {
        self.store.records(filter).await
    }

    pub async fn record(&self, id: &str) -> Result<Option<Record>, Fault> {
        self.store.record(id).await
    }

    pub async fn approvals(&self, state: Option<ApprovalState>) -> Result<Vec<Approval>, Fault> {
        self.store.approvals(state).await
    }

    /// Takes a human's answer. It counts once.
    pub async fn answer(&self, approval: &str, verdict: Verdict) -> Result<Approval, Fault> {
        self.store.answer(approval, verdict).await
    }
}
