//! What records point to by hash, kept so that a replay finds it: policies, definitions.

use std::collections::BTreeMap;

use model::{Fault, Timestamp};

use crate::database::{Connection, broken};
use crate::limits;
use crate::sql::Sql;
use crate::store::Store;
use crate::writer::{Write, WriteError};

/// One thing as it was in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// `policy`, `definition`, or `form` where an entry points to it.
    pub kind: &'static str,
    pub hash: String,
    pub body: String,
}

impl Store {
    /// Keeps what is not kept yet, and notes of all of it that it is in force.
    pub async fn keep_lineage(&self, ancestors: Vec<Ancestor>) -> Result<(), Fault> {
        let by_name = ancestors.into_iter().map(|one| ((one.kind, one.hash.clone()), one));
        let distinct: BTreeMap<_, _> = by_name.collect();
        let ancestors: Vec<Ancestor> = distinct.into_values().collect();
        if ancestors.is_empty() { Ok(()) } else { self.write(Kept(ancestors)).await }
    }

    /// Removes what was no longer in force when the oldest entry was written: nothing that is left
    /// points to it. Says how much. Keep what is in force first.
    pub async fn prune_lineage(&self) -> Result<u64, Fault> {
        match self.oldest().await? {
            Some(oldest) => self.write(Prune { oldest }).await,
            None => Ok(0),
        }
    }

    pub async fn ancestor(&self, kind: &str, hash: &str) -> Result<Option<String>, Fault> {
        let mut reader = self.reader().await?;
        find(&mut reader, kind, hash).await.map_err(broken)
    }
}

pub(crate) async fn find(
    connection: &mut Connection,
    kind: &str,
    hash: &str,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar("SELECT body FROM lineage WHERE kind = $1 AND hash = $2")
        .bind(kind)
        .bind(hash)
        .fetch_optional(connection)
        .await
}

/// Of `ancestors` none may be there twice: a statement may not touch a row twice.
pub(crate) async fn keep(
    connection: &mut Connection,
    ancestors: &[Ancestor],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    for rows in ancestors.chunks(limits::ROWS_MAX) {
        let mut sql = Sql::new("INSERT INTO lineage (kind, hash, body, seen_at) VALUES ");
        for (index, ancestor) in rows.iter().enumerate() {
            sql.push(if index == 0 { "(" } else { ", (" }).bind(ancestor.kind);
            sql.push(", ").bind(&ancestor.hash).push(", ").bind(&ancestor.body);
            sql.push(", ").bind(now.as_millis()).push(")");
        }
        sql.push(" ON CONFLICT (kind, hash) DO UPDATE SET seen_at = excluded.seen_at");
        sql.query().execute(&mut *connection).await?;
    }
    Ok(())
}

struct Kept(Vec<Ancestor>);

impl Write for Kept {
    type Done = ();
    const UNWRITTEN: &'static str = "what records point to could not be stored";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        Ok(keep(connection, &self.0, now).await?)
    }
}

struct Prune {
    oldest: Timestamp,
}

impl Write for Prune {
    type Done = u64;
    const UNWRITTEN: &'static str = "what no record points to any more could not be removed";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<u64, WriteError> {
        let margin = i64::try_from(limits::LINEAGE_MARGIN.as_millis()).unwrap_or(i64::MAX);
        let before = self.oldest.as_millis().saturating_sub(margin);
        let query = sqlx::query("DELETE FROM lineage WHERE seen_at < $1");
        Ok(query.bind(before).execute(connection).await?.rows_affected())
    }
}
