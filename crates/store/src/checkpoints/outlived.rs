//! Checkpoints of entries that a purge has removed: they bear nothing out any more.

use model::{Fault, Timestamp};

use super::{Checkpoint, Word, beside};
use crate::database::Connection;
use crate::limits;
use crate::store::Store;
use crate::writer::{Write, WriteError};

impl Store {
    /// Removes what was said before this purge, in the database and beside it. The purge must be signed
    /// here, and all it speaks of gone: it alone says then where the chain begins.
    ///
    /// What fails is tried again by the next purge.
    pub(crate) async fn forget_outlived(&self, purge: &Checkpoint) {
        if let Err(fault) = self.forget_before(purge.seq).await {
            let detail = fault.log.as_deref().unwrap_or_default();
            tracing::warn!(%fault, detail, "checkpoints of removed entries stay until the next purge");
        }
    }

    async fn forget_before(&self, seq: i64) -> Result<(), Fault> {
        for kind in [Word::Checkpoint, Word::Purge] {
            let mut removed = limits::PURGE_ROWS;
            while removed == limits::PURGE_ROWS {
                removed = self.write(Outlived { kind, before: seq }).await?;
            }
        }
        let dir = self.dir().to_owned();
        let trimmed = tokio::task::spawn_blocking(move || beside::trim(&dir, seq)).await;
        let trimmed = trimmed.map_err(|error| Fault::internal(error.to_string()))?;
        trimmed.map_err(|error| Fault::internal(error.to_string()))
    }
}

struct Outlived {
    kind: Word,
    before: i64,
}

impl Write for Outlived {
    type Done = i64;
    const UNWRITTEN: &'static str = "old checkpoints could not be removed";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<i64, WriteError> {
        let delete = sqlx::query(
            "DELETE FROM checkpoints WHERE kind = $1 AND seq IN (SELECT seq FROM checkpoints \
             WHERE kind = $1 AND seq < $2 ORDER BY seq LIMIT $3)",
        );
        let delete = delete.bind(crate::word::write(&self.kind)).bind(self.before);
        let removed = delete.bind(limits::PURGE_ROWS).execute(connection).await?.rows_affected();
        Ok(i64::try_from(removed).unwrap_or(i64::MAX))
    }
}
