//! Walking the chain: is every entry as it was written, and where it was written?

use model::Fault;
use serde::Serialize;

use crate::chain::{Link, hash};
use crate::database::{Connection, broken};
use crate::entry::{Columns, Entry};
use crate::limits;
use crate::store::Store;

/// What a walk along the chain found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// Entries that are as they were written, counted from the first.
    pub entries: u64,
    /// The hash of the last of them. Noted elsewhere, it proves that nothing was cut off.
    pub head: String,
    /// The first entry that was changed, moved or removed.
    pub first_bad: Option<i64>,
    /// What was done to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
}

/// What can be done to an entry behind the database's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// Its body, its hash or a column is not what was written.
    Changed,
    /// It is not there, and later ones are.
    Deleted,
    /// It is whole, and stands where another was written.
    Moved,
}

impl Store {
    /// Reads every entry and checks its hash, its place and its columns.
    pub async fn verify_chain(&self) -> Result<ChainReport, Fault> {
        let mut reader = self.reader().await?;
        let mut last = Link::genesis();
        loop {
            let page = page_after(&mut reader, last.seq).await?;
            if page.is_empty() {
                return Ok(report(last, None));
            }
            for row in page {
                match row.check(&last) {
                    Ok(next) => last = next,
                    Err(damage) => return Ok(report(last, Some(damage))),
                }
            }
        }
    }
}

fn report(last: Link, damage: Option<Damage>) -> ChainReport {
    let entries = u64::try_from(last.seq).unwrap_or_default();
    let first_bad = damage.map(|_| last.seq + 1);
    ChainReport { entries, head: last.hash, first_bad, damage }
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
    fn check(&self, last: &Link) -> Result<Link, Damage> {
        let next = last.next(&self.body);
        if self.seq != next.seq {
            return Err(Damage::Deleted);
        }
        if self.prev_hash != last.hash && self.hash == hash(&self.prev_hash, &self.body) {
            return Err(Damage::Moved);
        }
        let linked = self.prev_hash == last.hash && self.hash == next.hash;
        let told = Entry::from_body(&self.body).is_ok_and(|entry| entry.columns() == self.columns);
        if linked && told { Ok(next) } else { Err(Damage::Changed) }
    }
}

async fn page_after(connection: &mut Connection, seq: i64) -> Result<Vec<Row>, Fault> {
    sqlx::query_as("SELECT * FROM entries WHERE seq > $1 ORDER BY seq LIMIT $2")
        .bind(seq)
        .bind(limits::CHAIN_PAGE)
        .fetch_all(connection)
        .await
        .map_err(broken)
}
