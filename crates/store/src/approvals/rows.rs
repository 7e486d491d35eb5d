//! The table of approvals. What its rows mean for a call is decided beside it.

use model::{Approval, ApprovalId, ApprovalState, CallId, Fault, Timestamp};

use crate::database::{self, Connection};
use crate::writer::WriteError;
use crate::{limits, prefix, word};

/// All approvals as they stand at `$1`.
macro_rules! seen {
    ($rest:literal) => {
        concat!(
            "SELECT * FROM (SELECT approval_id, gate, \
             CASE WHEN state IN ('pending', 'approved') AND expires_at <= $1 THEN 'expired' \
             ELSE state END AS state, subject, subject_hash, frozen_hash, requested_by, requested_for, tool, args, \
             tenant, requested_at, expires_at, approver, answered_at, reason FROM approvals) AS seen ",
            $rest
        )
    };
}

pub(super) async fn find(
    connection: &mut Connection,
    id: &str,
    now: Timestamp,
) -> Result<Option<Approval>, WriteError> {
    let Some(approval_id) = resolve(connection, id).await? else { return Ok(None) };
    let row: Option<Row> = sqlx::query_as(seen!("WHERE approval_id = $2"))
        .bind(now.as_millis())
        .bind(approval_id)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(Row::approval).transpose()?)
}

pub(super) async fn list(
    connection: &mut Connection,
    state: Option<ApprovalState>,
    now: Timestamp,
) -> Result<Vec<Approval>, WriteError> {
    let query = sqlx::query_as(seen!(
        "WHERE $2 = '' OR state = $2 ORDER BY requested_at DESC, approval_id DESC LIMIT $3"
    ));
    let rows: Vec<Row> = query
        .bind(now.as_millis())
        .bind(state.map(ApprovalState::as_str).unwrap_or_default())
        .bind(i64::from(limits::LINES_MAX))
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(Row::approval).collect::<Result<_, _>>()?)
}

pub(super) async fn live(
    connection: &mut Connection,
    subject_hash: &str,
    now: Timestamp,
) -> Result<Option<Approval>, WriteError> {
    let query = sqlx::query_as(seen!(
        "WHERE subject_hash = $2 AND (state IN ('pending', 'approved') \
         OR (state = 'rejected' AND expires_at > $1))"
    ));
    let row: Option<Row> =
        query.bind(now.as_millis()).bind(subject_hash).fetch_optional(connection).await?;
    Ok(row.map(Row::approval).transpose()?)
}

/// How many questions of the one who asks this nobody has answered yet. A namesake in another tenant
/// is somebody else.
pub(super) async fn waiting(
    connection: &mut Connection,
    asked: &Approval,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT COUNT(*) FROM approvals WHERE state = 'pending' AND requested_by = $1 \
         AND COALESCE(tenant, '') = $2",
    )
    .bind(&asked.requested_by)
    .bind(asked.tenant.as_deref().unwrap_or_default())
    .fetch_one(connection)
    .await
}

pub(super) async fn mark_expired(
    connection: &mut Connection,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE approvals SET state = 'expired' \
         WHERE state IN ('pending', 'approved') AND expires_at <= $1",
    )
    .bind(now.as_millis())
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn insert(
    connection: &mut Connection,
    approval: &Approval,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO approvals (approval_id, gate, state, frozen_hash, requested_by, \
         requested_for, tool, args, requested_at, expires_at, subject, subject_hash, tenant) \
         VALUES ($1, $2, 'pending', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(approval.approval_id.as_str())
    .bind(&approval.gate)
    .bind(&approval.frozen_hash)
    .bind(&approval.requested_by)
    .bind(approval.requested_for.as_str())
    .bind(&approval.tool)
    .bind(approval.args.to_string())
    .bind(approval.requested_at.as_millis())
    .bind(approval.expires_at.as_millis())
    .bind(approval.subject.as_str())
    .bind(&approval.subject_hash)
    .bind(&approval.tenant)
    .execute(connection)
    .await?;
    Ok(())
}

/// INVARIANT: the caller has seen the row pending within this transaction.
pub(super) async fn answer(
    connection: &mut Connection,
    answered: &Approval,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE approvals SET state = $2, approver = $3, answered_at = $4, reason = $5 \
         WHERE approval_id = $1 AND state = 'pending'",
    )
    .bind(answered.approval_id.as_str())
    .bind(answered.state.as_str())
    .bind(&answered.approver)
    .bind(answered.answered_at.map(Timestamp::as_millis))
    .bind(&answered.reason)
    .execute(connection)
    .await?;
    Ok(())
}

/// Whether the approval was there to be used; it is used now.
pub(super) async fn redeem(
    connection: &mut Connection,
    approval_id: &ApprovalId,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let redeemed = sqlx::query(
        "UPDATE approvals SET state = 'redeemed' \
         WHERE approval_id = $1 AND state = 'approved' AND expires_at > $2",
    )
    .bind(approval_id.as_str())
    .bind(now.as_millis())
    .execute(connection)
    .await?;
    Ok(redeemed.rows_affected() == 1)
}

/// Undoes [`redeem`], where nothing else lives for the same subject.
pub(super) async fn give_back(
    connection: &mut Connection,
    approval_id: &ApprovalId,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE approvals SET state = 'approved' \
         WHERE approval_id = $1 AND state = 'redeemed' AND expires_at > $2 \
         AND NOT EXISTS (SELECT 1 FROM approvals AS other \
         WHERE other.subject_hash = approvals.subject_hash \
         AND other.state IN ('pending', 'approved'))",
    )
    .bind(approval_id.as_str())
    .bind(now.as_millis())
    .execute(connection)
    .await?;
    Ok(())
}

/// As many as go at once of those that were over before this; says how many.
pub(super) async fn remove_over(
    connection: &mut Connection,
    before: i64,
) -> Result<u64, sqlx::Error> {
    let delete = sqlx::query(
        "DELETE FROM approvals WHERE approval_id IN \
         (SELECT approval_id FROM approvals WHERE expires_at < $1 LIMIT $2)",
    );
    // What was asked about holds arguments.
    database::erase(connection, delete.bind(before).bind(limits::PURGE_ROWS)).await
}

async fn resolve(connection: &mut Connection, id: &str) -> Result<Option<String>, WriteError> {
    if id.is_empty() {
        return Ok(None);
    }
    let found: Vec<String> = sqlx::query_scalar(
        "SELECT approval_id FROM approvals WHERE approval_id >= $1 AND approval_id < $2 \
         ORDER BY approval_id LIMIT 2",
    )
    .bind(id)
    .bind(prefix::end(id))
    .fetch_all(connection)
    .await?;
    // A full id sorts first among all that begin with it.
    if found.first().is_some_and(|first| first == id) {
        return Ok(Some(id.to_owned()));
    }
    Ok(prefix::only(id, found)?)
}

#[derive(sqlx::FromRow)]
struct Row {
    approval_id: String,
    gate: String,
    state: String,
    subject: String,
    subject_hash: String,
    frozen_hash: String,
    requested_by: String,
    requested_for: String,
    tool: String,
    args: String,
    tenant: Option<String>,
    requested_at: i64,
    expires_at: i64,
    approver: Option<String>,
    answered_at: Option<i64>,
    reason: Option<String>,
}

impl Row {
    fn approval(self) -> Result<Approval, Fault> {
        let args = serde_json::from_str(&self.args).map_err(|error| {
            Fault::internal(format!("approval `{}`: {error}", self.approval_id))
        })?;
        Ok(Approval {
            approval_id: ApprovalId::from_string(self.approval_id),
            gate: self.gate,
            state: word::read(self.state)?,
            subject: word::read(self.subject)?,
            subject_hash: self.subject_hash,
            frozen_hash: self.frozen_hash,
            requested_by: self.requested_by,
            tenant: self.tenant,
            requested_for: CallId::from_string(self.requested_for),
            tool: self.tool,
            args,
            requested_at: Timestamp::from_millis(self.requested_at),
            expires_at: Timestamp::from_millis(self.expires_at),
            approver: self.approver,
            answered_at: self.answered_at.map(Timestamp::from_millis),
            reason: self.reason,
        })
    }
}
