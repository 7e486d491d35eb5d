//! Makes room: what has expired goes, then the oldest above the quotas, and never what is cited.

use model::{Code, Fault, Timestamp};

use super::Quotas;
use crate::database::Connection;
use crate::limits::EVICT_PAGE;
use crate::writer::{Write, WriteError};

#[derive(Debug, Default)]
pub(super) struct Swept {
    pub(super) removed: usize,
    /// Hashes that no row names any more.
    pub(super) orphans: Vec<String>,
}

/// Removes what has to go; refuses when what must stay is more than the quotas allow.
///
/// `keep` is the artifact that room is made for.
pub(super) async fn make(
    connection: &mut Connection,
    quotas: &Quotas,
    keep: Option<i64>,
    now: Timestamp,
) -> Result<Swept, WriteError> {
    let keep = keep.unwrap_or(-1);
    let mut gone = expired(connection, keep, now).await?;
    let mut excess = Excess::over(connection, quotas).await?;
    while excess.any() {
        let oldest = oldest(connection, keep).await?;
        if oldest.is_empty() {
            // Only a newcomer can be refused; what is there is there.
            return if keep < 0 {
                finish(connection, gone).await
            } else {
                Err(full(quotas).into())
            };
        }
        for (seq, artifact_id, size_bytes) in oldest {
            if !excess.any() {
                break;
            }
            sqlx::query("DELETE FROM artifacts WHERE seq = $1")
                .bind(seq)
                .execute(&mut *connection)
                .await?;
            excess.less(size_bytes);
            gone.push(artifact_id);
        }
    }
    finish(connection, gone).await
}

/// Whether any row still names these bytes.
pub(super) async fn is_named(
    connection: &mut Connection,
    artifact_id: &str,
) -> Result<bool, sqlx::Error> {
    let named: Option<i64> =
        sqlx::query_scalar("SELECT seq FROM artifacts WHERE artifact_id = $1 LIMIT 1")
            .bind(artifact_id)
            .fetch_optional(connection)
            .await?;
    Ok(named.is_some())
}

pub(super) fn too_large(bytes: usize, quotas: &Quotas) -> Fault {
    Fault::new(
        Code::BudgetExceeded,
        format!(
            "the result has {bytes} bytes and cannot be kept: `artifacts.max_bytes` is {}",
            quotas.bytes_max
        ),
    )
}

fn full(quotas: &Quotas) -> Fault {
    Fault::new(
        Code::BudgetExceeded,
        format!(
            "the result cannot be kept: records cite so much that `artifacts.max_bytes` ({}) or \
             `artifacts.max_count` ({}) leaves no room",
            quotas.bytes_max, quotas.count_max
        ),
    )
}

/// A sweep that makes room for nothing in particular.
pub(super) struct Sweep {
    pub(super) quotas: Quotas,
}

impl Write for Sweep {
    type Done = Swept;
    const UNWRITTEN: &'static str = "old artifacts could not be removed";

    async fn write(
        &self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> Result<Swept, WriteError> {
        make(connection, &self.quotas, None, now).await
    }
}

/// By how much the quotas are overdrawn.
struct Excess {
    bytes: i64,
    count: i64,
}

impl Excess {
    async fn over(connection: &mut Connection, quotas: &Quotas) -> Result<Self, sqlx::Error> {
        let (count, bytes): (i64, i64) = sqlx::query_as(
            "SELECT COUNT(*), CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT) FROM artifacts",
        )
        .fetch_one(connection)
        .await?;
        let above = |used: i64, max: u64| used - i64::try_from(max).unwrap_or(i64::MAX);
        Ok(Self { bytes: above(bytes, quotas.bytes_max), count: above(count, quotas.count_max) })
    }

    const fn any(&self) -> bool {
        self.bytes > 0 || self.count > 0
    }

    const fn less(&mut self, size_bytes: i64) {
        self.bytes -= size_bytes;
        self.count -= 1;
    }
}

async fn expired(
    connection: &mut Connection,
    keep: i64,
    now: Timestamp,
) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "DELETE FROM artifacts WHERE cited = 0 AND seq <> $1 AND expires_at <= $2 \
         RETURNING artifact_id",
    )
    .bind(keep)
    .bind(now.as_millis())
    .fetch_all(connection)
    .await
}

async fn oldest(
    connection: &mut Connection,
    keep: i64,
) -> Result<Vec<(i64, String, i64)>, sqlx::Error> {
    sqlx::query_as(
        "SELECT seq, artifact_id, size_bytes FROM artifacts WHERE cited = 0 AND seq <> $1 \
         ORDER BY seq LIMIT $2",
    )
    .bind(keep)
    .bind(EVICT_PAGE)
    .fetch_all(connection)
    .await
}

async fn finish(connection: &mut Connection, gone: Vec<String>) -> Result<Swept, WriteError> {
    let removed = gone.len();
    let mut orphans = Vec::new();
    for artifact_id in gone {
        if !is_named(connection, &artifact_id).await? {
            orphans.push(artifact_id);
        }
    }
    Ok(Swept { removed, orphans })
}
