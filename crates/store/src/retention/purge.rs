//! Removing entries, a part at a time: whoever has something to write waits for one part at the most.
//!
//! Where it breaks off, the first of them are gone and the others are as they were; the next purge takes
//! them, too.

use std::sync::atomic::Ordering;

use model::{Fault, Timestamp};

use super::Purgeable;
use crate::checkpoints::{self, Checkpoint, Word};
use crate::database::{self, Connection, broken};
use crate::limits;
use crate::store::Store;
use crate::writer::{Write, WriteError};

impl Store {
    /// Removes the entries for ever. Export them first.
    pub async fn purge(&self, purgeable: Purgeable) -> Result<Checkpoint, Fault> {
        let signed = self.sign(Word::Purge, purgeable.upto_seq, purgeable.hash)?;
        // The word lies beside the database before anything goes.
        self.note(&signed)?;
        self.write(Announced(signed.clone())).await?;
        let (mut after, upto) = (i64::MIN, signed.seq);
        while let Some(end) = self.write(Part { after, upto }).await? {
            after = end;
        }
        self.forget_in_journal(upto).await?;
        self.forget_outlived(&signed).await;
        Ok(signed)
    }

    /// Leaves nothing in the journal of what others have removed, as `toolgate records prune` does
    /// beside a gate: only who writes the journal can empty it.
    pub async fn follow_purges(&self) -> Result<(), Fault> {
        let mut reader = self.reader().await?;
        let last: Option<i64> =
            sqlx::query_scalar("SELECT MAX(seq) FROM checkpoints WHERE kind = 'purge'")
                .fetch_one(&mut *reader)
                .await
                .map_err(broken)?;
        drop(reader);
        match last {
            Some(last) if last > self.purged().load(Ordering::Relaxed) => {
                self.forget_in_journal(last).await
            }
            _ => Ok(()),
        }
    }

    /// Whatever stands in the journal is in the database, or removed from there.
    async fn forget_in_journal(&self, upto: i64) -> Result<(), Fault> {
        if !self.is_shared() {
            self.write(Forgotten).await?;
        }
        self.purged().fetch_max(upto, Ordering::Relaxed);
        Ok(())
    }
}

/// From here on the database lets go of what is signed away.
struct Announced(Checkpoint);

impl Write for Announced {
    type Done = ();
    const UNWRITTEN: &'static str = UNREMOVED;
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        Ok(checkpoints::insert(connection, &self.0).await?)
    }
}

const UNREMOVED: &str = "old entries could not be removed";

/// The first entries between these two, as many as go at once; says where they end.
struct Part {
    after: i64,
    upto: i64,
}

impl Write for Part {
    type Done = Option<i64>;
    const UNWRITTEN: &'static str = UNREMOVED;
    const REFUSES_FIRST: bool = true;

    async fn write(
        &self,
        connection: &mut Connection,
        _now: Timestamp,
    ) -> Result<Option<i64>, WriteError> {
        let first: Option<i64> =
            sqlx::query_scalar("SELECT MIN(seq) FROM entries WHERE seq > $1 AND seq <= $2")
                .bind(self.after)
                .bind(self.upto)
                .fetch_one(&mut *connection)
                .await?;
        let Some(first) = first else { return Ok(None) };
        let end = first.saturating_add(limits::PURGE_ROWS - 1).min(self.upto);
        let delete = sqlx::query("DELETE FROM entries WHERE seq >= $1 AND seq <= $2");
        database::erase(connection, delete.bind(first).bind(end)).await?;
        Ok(Some(end))
    }
}

/// Nothing to write; the journal is emptied behind it.
struct Forgotten;

impl Write for Forgotten {
    type Done = ();
    const UNWRITTEN: &'static str = "the journal still has a copy of old entries";
    const REFUSES_FIRST: bool = true;
    const FORGETS: bool = true;

    async fn write(&self, _connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        Ok(())
    }
}
