//! Claims of gates that have died: what was never sent is free, what was sent is in doubt.

use model::{Fault, Timestamp};

use crate::database::Connection;
use crate::limits;
use crate::store::Store;
use crate::writer::{Write, WriteError};

impl Store {
    /// Says that this gate is alive, and takes over what dead ones have left. Says how many calls
    /// are in doubt for it.
    ///
    /// On a file, everybody but the holder of the [`crate::InstanceLock`] is dead, so nobody else
    /// may call this. On a server, a gate that has not been heard of for half a minute is.
    pub async fn adopt_unfinished(&self) -> Result<u64, Fault> {
        self.serve();
        self.write(Adoption { owner: self.owner().to_owned(), shared: self.is_shared() }).await
    }

    /// Says that this gate is gone, so that nobody waits for its lease to end.
    pub async fn sign_off(&self) -> Result<(), Fault> {
        self.write(SignOff(self.owner().to_owned())).await
    }
}

struct Adoption {
    owner: String,
    shared: bool,
}

impl Write for Adoption {
    type Done = u64;
    const UNWRITTEN: &'static str = "unfinished calls of an earlier run could not be marked";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<u64, WriteError> {
        let lease_ms = i64::try_from(limits::LEASE.as_millis()).unwrap_or(i64::MAX);
        let dead = if self.shared { now.as_millis().saturating_sub(lease_ms) } else { i64::MAX };
        sqlx::query("DELETE FROM instances WHERE owner = $1 OR seen_at <= $2")
            .bind(&self.owner)
            .bind(dead)
            .execute(&mut *connection)
            .await?;
        sqlx::query("INSERT INTO instances (owner, seen_at) VALUES ($1, $2)")
            .bind(&self.owner)
            .bind(now.as_millis())
            .execute(&mut *connection)
            .await?;
        sqlx::query(
            "DELETE FROM claims \
             WHERE state = 'claimed' AND owner NOT IN (SELECT owner FROM instances)",
        )
        .execute(&mut *connection)
        .await?;
        let adopted = sqlx::query(
            "UPDATE claims SET state = 'unknown' \
             WHERE state = 'dispatched' AND owner NOT IN (SELECT owner FROM instances)",
        );
        Ok(adopted.execute(connection).await?.rows_affected())
    }
}

struct SignOff(String);

impl Write for SignOff {
    type Done = ();
    const UNWRITTEN: &'static str = "the gate could not sign off";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        sqlx::query("DELETE FROM instances WHERE owner = $1")
            .bind(&self.0)
            .execute(connection)
            .await?;
        Ok(())
    }
}
