//! What records point to by hash, kept so that a replay finds it: policies, definitions.

use model::{Fault, Timestamp};

use crate::database::{Connection, broken};
use crate::limits;
use crate::sql::Sql;
use crate::store::Store;
use crate::writer::{Write, WriteError};

/// One thing as it was in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// `policy` or `definition`.
    pub kind: &'static str,
    pub hash: String,
    pub body: String,
}

impl Store {
    /// Keeps what is not kept yet.
    pub async fn keep_lineage(&self, ancestors: Vec<Ancestor>) -> Result<(), Fault> {
        if ancestors.is_empty() { Ok(()) } else { self.write(Kept(ancestors)).await }
    }

    pub async fn ancestor(&self, kind: &str, hash: &str) -> Result<Option<String>, Fault> {
        let mut reader = self.reader().await?;
        sqlx::query_scalar("SELECT body FROM lineage WHERE kind = $1 AND hash = $2")
            .bind(kind)
            .bind(hash)
            .fetch_optional(&mut *reader)
            .await
            .map_err(broken)
    }
}

struct Kept(Vec<Ancestor>);

impl Write for Kept {
    type Done = ();
    const UNWRITTEN: &'static str = "what records point to could not be stored";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        for rows in self.0.chunks(limits::ROWS_MAX) {
            let mut sql = Sql::new("INSERT INTO lineage (kind, hash, body) VALUES ");
            for (index, ancestor) in rows.iter().enumerate() {
                sql.push(if index == 0 { "(" } else { ", (" }).bind(ancestor.kind);
                sql.push(", ").bind(&ancestor.hash).push(", ").bind(&ancestor.body).push(")");
            }
            sql.push(" ON CONFLICT (kind, hash) DO NOTHING");
            sql.query().execute(&mut *connection).await?;
        }
        Ok(())
    }
}
