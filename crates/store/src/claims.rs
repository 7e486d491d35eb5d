//! Idempotency keys: who makes the call, and what it gave to those who ask again.

use model::{Answer, Code, Fault, RecordId, Timestamp};

use crate::database::{Connection, broken};
use crate::records::Opened;
use crate::store::Store;
use crate::writer::{Write, WriteError};

/// "This call, under this key, is mine to make."
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose keys these are; keys of different scopes never meet.
    pub scope: String,
    pub key: String,
    pub args_hash: String,
    /// When the key is free again, whatever became of the call.
    pub expires_at: Timestamp,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimOutcome {
    pub scope: String,
    pub key: String,
    pub end: ClaimEnd,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ClaimEnd {
    Done(Answer),
    /// It was sent, and nobody knows whether it took effect.
    Unknown,
    /// Nothing was sent: the key is free.
    Released,
}

impl Store {
    /// The answer this key has already got, if it has one. Takes nothing and changes nothing.
    ///
    /// A key used for other arguments, still running or left in doubt is a fault, as it is when the
    /// claim is taken.
    pub async fn recall(&self, claim: &Claim) -> Result<Option<Answer>, Fault> {
        let mut reader = self.reader().await?;
        let row = find(&mut reader, claim).await.map_err(broken)?;
        let live = row.filter(|row| row.expires_at > self.now().as_millis());
        match live.map(|row| row.opened(claim)).transpose()? {
            Some(Opened::Stored(answer)) => Ok(Some(answer)),
            Some(Opened::Fresh) | None => Ok(None),
        }
    }

    /// Marks calls that an earlier process left unfinished as unknown, and says how many.
    ///
    /// For the holder of the [`crate::InstanceLock`] alone, before its first call: to anybody else
    /// the running calls of the gateway look just the same.
    pub async fn adopt_unfinished(&self) -> Result<u64, Fault> {
        self.write(Adoption).await
    }
}

/// What became of the key so far. Only a key that is [`Opened::Fresh`] may be taken.
pub(crate) async fn look(
    connection: &mut Connection,
    claim: &Claim,
    now: Timestamp,
) -> Result<Opened, WriteError> {
    let row = find(connection, claim).await?;
    let live = row.filter(|row| row.expires_at > now.as_millis());
    Ok(live.map_or(Ok(Opened::Fresh), |row| row.opened(claim))?)
}

/// Takes the key for this record, and the place of an expired claim with it.
///
/// INVARIANT: [`look`] has found the key fresh within this transaction.
pub(crate) async fn take(
    connection: &mut Connection,
    claim: &Claim,
    record_id: &RecordId,
) -> Result<(), WriteError> {
    sqlx::query("DELETE FROM claims WHERE scope = $1 AND key = $2")
        .bind(&claim.scope)
        .bind(&claim.key)
        .execute(&mut *connection)
        .await?;
    insert(connection, claim, record_id).await?;
    Ok(())
}

/// Settles the claim if it is still the record's own; an expired one may have a new owner.
pub(crate) async fn settle(
    connection: &mut Connection,
    outcome: &ClaimOutcome,
    record_id: &RecordId,
) -> Result<(), WriteError> {
    let query = match &outcome.end {
        ClaimEnd::Released => {
            sqlx::query("DELETE FROM claims WHERE scope = $1 AND key = $2 AND record_id = $3")
        }
        ClaimEnd::Done(_) | ClaimEnd::Unknown => sqlx::query(
            "UPDATE claims SET state = $4, answer = $5 \
             WHERE scope = $1 AND key = $2 AND record_id = $3",
        ),
    };
    let query = query.bind(&outcome.scope).bind(&outcome.key).bind(record_id.as_str());
    let settled = match &outcome.end {
        ClaimEnd::Done(answer) => query.bind("done").bind(Some(to_text(answer)?)),
        ClaimEnd::Unknown => query.bind("unknown").bind(None::<String>),
        ClaimEnd::Released => query,
    };
    if settled.execute(connection).await?.rows_affected() == 0 {
        tracing::warn!(record.id = %record_id, "the idempotency claim had expired before its call ended");
    }
    Ok(())
}

struct Adoption;

impl Write for Adoption {
    type Done = u64;
    const UNWRITTEN: &'static str = "unfinished calls of an earlier run could not be marked";

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<u64, WriteError> {
        sqlx::query("DELETE FROM claims WHERE state = 'done' AND expires_at <= $1")
            .bind(now.as_millis())
            .execute(&mut *connection)
            .await?;
        let adopted = sqlx::query("UPDATE claims SET state = 'unknown' WHERE state = 'claimed'");
        Ok(adopted.execute(connection).await?.rows_affected())
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    expires_at: i64,
    args_hash: String,
    state: String,
    answer: Option<String>,
}

impl Row {
    fn opened(self, claim: &Claim) -> Result<Opened, Fault> {
        if self.args_hash != claim.args_hash {
            return Err(conflict(
                "this key was used for a call with other arguments",
                "other_args",
            ));
        }
        match (self.state.as_str(), self.answer) {
            ("done", Some(answer)) => from_text(&answer).map(Opened::Stored),
            ("claimed", _) => Err(conflict("a call with this key is still running", "running")),
            _ => Err(conflict(
                "a call with this key was cut off and may have taken effect; a person must verify \
                 it before it is made again",
                "unknown",
            )),
        }
    }
}

fn conflict(message: &str, state: &str) -> Fault {
    Fault::new(Code::IdempotencyConflict, message).with("state", state)
}

async fn find(connection: &mut Connection, claim: &Claim) -> Result<Option<Row>, sqlx::Error> {
    sqlx::query_as(
        "SELECT expires_at, args_hash, state, answer FROM claims WHERE scope = $1 AND key = $2",
    )
    .bind(&claim.scope)
    .bind(&claim.key)
    .fetch_optional(connection)
    .await
}

async fn insert(
    connection: &mut Connection,
    claim: &Claim,
    record_id: &RecordId,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO claims (scope, key, args_hash, record_id, state, expires_at) \
         VALUES ($1, $2, $3, $4, 'claimed', $5)",
    )
    .bind(&claim.scope)
    .bind(&claim.key)
    .bind(&claim.args_hash)
    .bind(record_id.as_str())
    .bind(claim.expires_at.as_millis())
    .execute(connection)
    .await?;
    Ok(())
}

fn to_text(answer: &Answer) -> Result<String, Fault> {
    serde_json::to_string(answer).map_err(|error| Fault::internal(format!("answer: {error}")))
}

fn from_text(text: &str) -> Result<Answer, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::internal(format!("answer: {error}")))
}
