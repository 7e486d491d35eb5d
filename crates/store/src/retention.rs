//! Letting old entries go. The rest of the chain stays verifiable, and nothing goes unexported.
//!
//! A signed purge says what the last entry to go was; the walk along the chain begins there. How they go
//! stands beside this.

mod purge;
mod turn;

use model::{Fault, Timestamp};

use crate::database::{Connection, broken};
use crate::limits;
use crate::store::Store;

pub use turn::Turn;

/// What may go: the first entries, up to this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purgeable {
    pub upto_seq: i64,
    pub entries: i64,
    hash: String,
}

impl Store {
    /// The entries before `before`, as far as they may go. The newest entry always stays, and no
    /// entry goes whose call may still be running.
    pub async fn older_than(&self, before: Timestamp) -> Result<Option<Purgeable>, Fault> {
        let bound = "SELECT MIN(seq) FROM entries WHERE at >= $1";
        self.purgeable(bound, before.as_millis()).await
    }

    /// All but the newest `keep` entries, as far as they may go.
    pub async fn beyond(&self, keep: u64) -> Result<Option<Purgeable>, Fault> {
        let bound = "SELECT MAX(seq) - $1 + 1 FROM entries";
        self.purgeable(bound, i64::try_from(keep).unwrap_or(i64::MAX)).await
    }

    /// How many entries there are and about how many bytes they take, judged by the newest.
    pub async fn entries_size(&self) -> Result<(u64, u64), Fault> {
        let mut reader = self.reader_of_entries().await?;
        let (entries, bytes): (i64, i64) = sqlx::query_as(
            "SELECT (SELECT COALESCE(MAX(seq) - MIN(seq) + 1, 0) FROM entries), \
             CAST(COALESCE(AVG(length(body)), 0) AS BIGINT) \
             FROM (SELECT body FROM entries ORDER BY seq DESC LIMIT 1000) AS newest",
        )
        .fetch_one(&mut *reader)
        .await
        .map_err(broken)?;
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        Ok((count(entries), count(entries).saturating_mul(count(bytes) + limits::ROW_BYTES)))
    }

    /// When the oldest entry was written that is left. To look at all takes a while, so it is not done by
    /// those who write: what they add meanwhile is newer.
    pub(crate) async fn oldest(&self) -> Result<Option<Timestamp>, Fault> {
        let mut reader = self.surveyor().await?;
        let oldest: Option<i64> = sqlx::query_scalar("SELECT MIN(at) FROM entries")
            .fetch_one(&mut reader)
            .await
            .map_err(broken)?;
        Ok(oldest.map(Timestamp::from_millis))
    }

    async fn purgeable(&self, bound: &'static str, value: i64) -> Result<Option<Purgeable>, Fault> {
        let mut reader = self.surveyor().await?;
        let first_kept: Option<i64> =
            sqlx::query_scalar(bound).bind(value).fetch_one(&mut reader).await.map_err(broken)?;
        let newest: Option<i64> = sqlx::query_scalar("SELECT MAX(seq) FROM entries")
            .fetch_one(&mut reader)
            .await
            .map_err(broken)?;
        let Some(newest) = newest else { return Ok(None) };
        let first_kept = first_kept.unwrap_or(newest).min(newest);
        let running = self.now().as_millis().saturating_sub(limits::CALL_MS_MAX);
        let open = first_open(&mut reader, first_kept, running).await.map_err(broken)?;
        let upto_seq = open.unwrap_or(first_kept) - 1;
        let found: Option<(String, i64)> = sqlx::query_as(
            "SELECT hash, (SELECT COUNT(*) FROM entries WHERE seq <= $1) FROM entries \
             WHERE seq = $1",
        )
        .bind(upto_seq)
        .fetch_optional(&mut reader)
        .await
        .map_err(broken)?;
        Ok(found.map(|(hash, entries)| Purgeable { upto_seq, entries, hash }))
    }
}

/// The first entry before `seq` that opens a call which may still be running.
async fn first_open(
    connection: &mut Connection,
    seq: i64,
    since: i64,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT MIN(seq) FROM entries WHERE seq < $1 AND at >= $2 AND phase = 'open' AND NOT EXISTS \
         (SELECT 1 FROM entries AS later WHERE later.record_id = entries.record_id \
         AND later.phase = 'close')",
    )
    .bind(seq)
    .bind(since)
    .fetch_one(connection)
    .await
}
