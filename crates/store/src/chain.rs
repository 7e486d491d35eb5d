//! The chain of entries: each carries the hash of the one before it.
//!
//! The hash is over the body as it is stored, not over its canonical form: RFC 8785 rounds integers
//! beyond 2^53, and a changed account number must not pass. Cutting off the newest entries leaves
//! a sound chain; only a head that was noted elsewhere shows it.

use model::{Fault, canonical};
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::database::broken;
use crate::entry::{Columns, Entry};
use crate::limits;
use crate::store::Store;
use crate::writer::WriteError;

/// What a walk along the chain found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// Entries that are as they were written, counted from the first.
    pub entries: u64,
    /// The hash of the last of them. Noted elsewhere, it proves that nothing was cut off.
    pub head: String,
    /// The first entry that was changed, moved or removed.
    pub first_bad: Option<i64>,
}

impl Store {
    /// Reads every entry and checks its hash, its place and its columns.
    pub async fn verify_chain(&self) -> Result<ChainReport, Fault> {
        let mut reader = self.reader().await?;
        let mut last = Link::genesis();
        loop {
            let page = page_after(&mut reader, last.seq).await?;
            if page.is_empty() {
                return Ok(last.report(None));
            }
            for row in page {
                let Some(next) = row.check(&last) else {
                    let bad = last.seq + 1;
                    return Ok(last.report(Some(bad)));
                };
                last = next;
            }
        }
    }
}

pub(crate) async fn append(
    connection: &mut SqliteConnection,
    entry: &Entry,
) -> Result<(), WriteError> {
    let last = head(connection).await?;
    let body = entry.to_body()?;
    let next = last.next(&body);
    insert(connection, &entry.columns(), &body, &last, &next).await?;
    Ok(())
}

/// A place in the chain.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
struct Link {
    seq: i64,
    hash: String,
}

impl Link {
    /// Before the first entry.
    fn genesis() -> Self {
        Self { seq: 0, hash: "0".repeat(64) }
    }

    fn next(&self, body: &str) -> Self {
        let hash = canonical::hash_bytes(format!("{}{body}", self.hash).as_bytes());
        Self { seq: self.seq + 1, hash }
    }

    fn report(self, first_bad: Option<i64>) -> ChainReport {
        let entries = u64::try_from(self.seq).unwrap_or_default();
        ChainReport { entries, head: self.hash, first_bad }
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    seq: i64,
    #[sqlx(flatten)]
    columns: Columns,
    body: String,
    prev_hash: String,
    hash: String,
}

impl Row {
    /// This entry's place, if it is as it was written after `last`.
    fn check(&self, last: &Link) -> Option<Link> {
        let next = last.next(&self.body);
        let linked = self.seq == next.seq && self.hash == next.hash && self.prev_hash == last.hash;
        let entry = Entry::from_body(&self.body).ok()?;
        (linked && entry.columns() == self.columns).then_some(next)
    }
}

async fn head(connection: &mut SqliteConnection) -> Result<Link, sqlx::Error> {
    let head = sqlx::query_as("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1");
    Ok(head.fetch_optional(connection).await?.unwrap_or_else(Link::genesis))
}

async fn insert(
    connection: &mut SqliteConnection,
    columns: &Columns,
    body: &str,
    last: &Link,
    next: &Link,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO entries (seq, record_id, call_id, phase, at, tool, status, principal, \
         run_id, body, prev_hash, hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(next.seq)
    .bind(&columns.record_id)
    .bind(&columns.call_id)
    .bind(&columns.phase)
    .bind(columns.at)
    .bind(&columns.tool)
    .bind(&columns.status)
    .bind(&columns.principal)
    .bind(&columns.run_id)
    .bind(body)
    .bind(&last.hash)
    .bind(&next.hash)
    .execute(connection)
    .await?;
    Ok(())
}

async fn page_after(connection: &mut SqliteConnection, seq: i64) -> Result<Vec<Row>, Fault> {
    sqlx::query_as("SELECT * FROM entries WHERE seq > $1 ORDER BY seq LIMIT $2")
        .bind(seq)
        .bind(limits::CHAIN_PAGE)
        .fetch_all(connection)
        .await
        .map_err(broken)
}
