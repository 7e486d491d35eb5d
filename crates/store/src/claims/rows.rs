//! The table of claims. What its rows mean for a call is decided beside it.

use model::{Answer, Code, Fault, RecordId, Timestamp};

use super::{Claim, ClaimState};
use crate::database::{self, Connection};
use crate::limits;
use crate::records::Opened;

#[derive(sqlx::FromRow)]
pub(crate) struct Row {
    expires_at: i64,
    args_hash: String,
    state: String,
    answer: Option<String>,
    record_id: String,
}

impl Row {
    /// Whether the key is free again. Time alone frees no key whose call may be running or may have
    /// taken effect: that takes its gate, or a person.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.state == ClaimState::Done.as_str() && self.expires_at <= now.as_millis()
    }

    /// What this row means to somebody with the same key.
    pub(crate) fn opened(self, claim: &Claim) -> Result<Opened, Fault> {
        let refuse = |message: &str, state: &str| {
            let fault = Fault::new(Code::IdempotencyConflict, message).with("state", state);
            Err(fault.with("record_id", self.record_id.as_str()))
        };
        if self.args_hash != claim.args_hash {
            return refuse("this key was used for a call with other arguments", "other_args");
        }
        match (self.state.as_str(), &self.answer) {
            ("done", Some(answer)) => from_text(answer).map(Opened::Stored),
            ("claimed" | "dispatched", _) => {
                refuse("a call with this key is still running", "running")
            }
            _ => refuse(
                "a call with this key was cut off and may have taken effect; a person must verify \
                 it before it is made again",
                "unknown",
            ),
        }
    }
}

pub(super) async fn find(
    connection: &mut Connection,
    claim: &Claim,
) -> Result<Option<Row>, sqlx::Error> {
    let [plain, digest] = claim.spellings();
    sqlx::query_as(
        "SELECT expires_at, args_hash, state, answer, record_id FROM claims \
         WHERE scope = $1 AND key IN ($2, $3)",
    )
    .bind(&claim.scope)
    .bind(plain.into_owned())
    .bind(digest.into_owned())
    .fetch_optional(connection)
    .await
}

pub(super) async fn insert(
    connection: &mut Connection,
    claim: &Claim,
    owner: &str,
    record_id: &RecordId,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO claims (scope, key, args_hash, record_id, state, owner, claimed_at, \
         expires_at) VALUES ($1, $2, $3, $4, 'claimed', $5, $6, $7)",
    )
    .bind(&claim.scope)
    .bind(claim.kept().into_owned())
    .bind(&claim.args_hash)
    .bind(record_id.as_str())
    .bind(owner)
    .bind(now.as_millis())
    .bind(claim.expires_at.as_millis())
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn remove(connection: &mut Connection, claim: &Claim) -> Result<(), sqlx::Error> {
    let [plain, digest] = claim.spellings();
    sqlx::query("DELETE FROM claims WHERE scope = $1 AND key IN ($2, $3)")
        .bind(&claim.scope)
        .bind(plain.into_owned())
        .bind(digest.into_owned())
        .execute(connection)
        .await?;
    Ok(())
}

/// How many answers were remembered no longer, and are gone: as many as go at once.
pub(super) async fn forget(
    connection: &mut Connection,
    now: Timestamp,
) -> Result<u64, sqlx::Error> {
    let delete = sqlx::query(
        "DELETE FROM claims WHERE (scope, key) IN (SELECT scope, key FROM claims \
         WHERE state = 'done' AND expires_at <= $1 ORDER BY expires_at LIMIT $2)",
    );
    database::erase(connection, delete.bind(now.as_millis()).bind(limits::PURGE_ROWS)).await
}

/// The records for which this process holds keys.
pub(crate) async fn of_owner(
    connection: &mut Connection,
    owner: &str,
) -> Result<Vec<String>, sqlx::Error> {
    let query = sqlx::query_scalar(
        "SELECT record_id FROM claims WHERE owner = $1 AND state IN ('claimed', 'dispatched')",
    );
    query.bind(owner).fetch_all(connection).await
}

/// Nobody closes this record any more: what was never sent is free, what was sent is in doubt.
pub(crate) async fn let_go(
    connection: &mut Connection,
    record_id: &str,
) -> Result<(), sqlx::Error> {
    for settle in [
        "DELETE FROM claims WHERE record_id = $1 AND state = 'claimed'",
        "UPDATE claims SET state = 'unknown' WHERE record_id = $1 AND state = 'dispatched'",
    ] {
        sqlx::query(settle).bind(record_id).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Whether the claim was the record's own; it is free now.
pub(super) async fn release(
    connection: &mut Connection,
    scope: &str,
    key: &str,
    record_id: &RecordId,
) -> Result<bool, sqlx::Error> {
    let query = sqlx::query("DELETE FROM claims WHERE scope = $1 AND key = $2 AND record_id = $3");
    let released = query.bind(scope).bind(key).bind(record_id.as_str()).execute(connection).await?;
    Ok(released.rows_affected() == 1)
}

/// Whether the claim was the record's own and not sent yet; it counts as sent now.
pub(super) async fn dispatch(
    connection: &mut Connection,
    scope: &str,
    key: &str,
    record_id: &RecordId,
) -> Result<bool, sqlx::Error> {
    // Marked twice when the answer to the first time was lost.
    let query = sqlx::query(
        "UPDATE claims SET state = 'dispatched' WHERE scope = $1 AND key = $2 AND record_id = $3 \
         AND state IN ('claimed', 'dispatched')",
    );
    let sent = query.bind(scope).bind(key).bind(record_id.as_str()).execute(connection).await?;
    Ok(sent.rows_affected() == 1)
}

/// Whether the claim was the record's own; it is in this state now.
pub(super) async fn mark(
    connection: &mut Connection,
    scope: &str,
    key: &str,
    record_id: &RecordId,
    state: ClaimState,
    answer: Option<String>,
) -> Result<bool, sqlx::Error> {
    let query = sqlx::query(
        "UPDATE claims SET state = $4, answer = $5 \
         WHERE scope = $1 AND key = $2 AND record_id = $3",
    );
    let query = query.bind(scope).bind(key).bind(record_id.as_str());
    let marked = query.bind(state.as_str()).bind(answer).execute(connection).await?;
    Ok(marked.rows_affected() == 1)
}

pub(super) fn to_text(answer: &Answer) -> Result<String, Fault> {
    serde_json::to_string(answer).map_err(|error| Fault::internal(format!("answer: {error}")))
}

fn from_text(text: &str) -> Result<Answer, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::internal(format!("answer: {error}")))
}
