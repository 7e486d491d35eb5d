//! What can still be said of a call in doubt whose entries were purged: as much as its key tells.
//!
//! A doubt has no end of its own, and is settled by a person however long ago its record went.

use model::call::ENVELOPE_VERSION;
use model::{
    Call, CallId, Fault, Lineage, Record, RecordId, RecordStatus, RunId, Timestamp, TraceId,
};
use serde_json::Value;

use crate::database::broken;
use crate::store::Store;

#[derive(sqlx::FromRow)]
struct Row {
    scope: String,
    key: String,
    args_hash: String,
    claimed_at: i64,
}

impl Store {
    /// A record in place of the one that is gone; none if there is no such doubt.
    pub(super) async fn remnant(&self, record_id: &str) -> Result<Option<Record>, Fault> {
        let mut reader = self.reader().await?;
        let row: Option<Row> = sqlx::query_as(
            "SELECT scope, key, args_hash, claimed_at FROM claims \
             WHERE record_id = $1 AND state = 'unknown'",
        )
        .bind(record_id)
        .fetch_optional(&mut *reader)
        .await
        .map_err(broken)?;
        Ok(row.map(|row| row.record(RecordId::from_string(record_id))))
    }
}

impl Row {
    fn record(self, record_id: RecordId) -> Record {
        let opened_at = Timestamp::from_millis(self.claimed_at);
        Record {
            status: RecordStatus::Open,
            call: self.call(&record_id, opened_at),
            record_id,
            decision: None,
            approval_id: None,
            result: None,
            answer: None,
            scorecard: None,
            redacted: false,
            replay_rule: None,
            opened_at,
            closed_at: None,
            stages: Vec::new(),
        }
    }

    fn call(self, record_id: &RecordId, started_at: Timestamp) -> Call {
        let number = record_id.as_str().trim_start_matches("rec_");
        let call_id = CallId::from_string(format!("call_{number}"));
        // A scope ends with the name of its tool.
        let tool = self.scope.rsplit(' ').next().unwrap_or_default().to_owned();
        Call {
            envelope_version: ENVELOPE_VERSION.into(),
            run_id: RunId::of(&call_id),
            trace_id: TraceId::of(&call_id),
            call_id,
            parent_span_id: None,
            session_id: None,
            parent_call_id: None,
            method: None,
            asked_name: tool,
            item_key: None,
            capability_id: None,
            args: Value::Null,
            args_hash: self.args_hash,
            principal_chain: Vec::new(),
            acts_for: None,
            evidence_refs: Vec::new(),
            roles: Vec::new(),
            grants: Vec::new(),
            ceiling: None,
            scopes: None,
            intent: None,
            mode_effective: None,
            policy_decision_id: None,
            idempotency_key: Some(self.key),
            dry_run: false,
            started_at,
            deadline: started_at,
            lineage: Lineage::default(),
        }
    }
}
