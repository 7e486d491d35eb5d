//! Who removes entries: one process at a time, so that each export is whole.

use std::fs::{File, TryLockError};

use model::Fault;

use crate::database::{Connection, broken};
use crate::folder;
use crate::store::Store;

const LOCK: &str = "prune.lock";
/// "prun", and the schema: whoever uses it is meant, and nobody beside it.
const SHARED_LOCK: &str =
    "SELECT pg_try_advisory_lock(1886549358, hashtext(current_schema()::text))";
const SHARED_UNLOCK: &str =
    "SELECT pg_advisory_unlock(1886549358, hashtext(current_schema()::text))";

/// The right to export and remove entries. It ends with [`Turn::end`], and with its process.
#[derive(Debug)]
pub struct Turn(Held);

#[derive(Debug)]
enum Held {
    File(#[expect(dead_code, reason = "locked as long as it is open")] File),
    /// The server takes it back with the connection.
    Session(Connection),
}

impl Store {
    /// The right to export and remove entries; none while another process has it.
    pub async fn turn_to_prune(&self) -> Result<Option<Turn>, Fault> {
        if !self.is_shared() {
            return self.lock_folder();
        }
        let mut session = self.reader_of_ones_own().await?;
        let taken: bool =
            sqlx::query_scalar(SHARED_LOCK).fetch_one(&mut session).await.map_err(broken)?;
        if taken {
            return Ok(Some(Turn(Held::Session(session))));
        }
        session.close().await;
        Ok(None)
    }

    fn lock_folder(&self) -> Result<Option<Turn>, Fault> {
        let unlocked = |cause: String| Fault::internal(format!("`{LOCK}`: {cause}"));
        let file = folder::private_file(&self.dir().join(LOCK));
        let file = file.map_err(|error| unlocked(error.to_string()))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Turn(Held::File(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unlocked(error.to_string())),
        }
    }
}

impl Turn {
    /// The next may begin when this returns.
    pub async fn end(self) {
        if let Held::Session(mut session) = self.0 {
            if let Err(error) = sqlx::query(SHARED_UNLOCK).execute(&mut session).await {
                tracing::debug!(%error, "the lock on old entries goes with its connection");
            }
            session.close().await;
        }
    }
}
