//! Calls whose clients come back with what they were asked, known to every gate on the same database.
//!
//! One is found only by the principal it was begun for, for the same request, and in its time.

use std::time::Duration;

use model::{Fault, Timestamp};

use crate::database::{Connection, broken};
use crate::store::Store;
use crate::writer::{Write, WriteError};

/// One round, in the words of whoever asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRow {
    pub round_id: String,
    pub principal: String,
    /// What was asked for, in a hash.
    pub bound_to: String,
    pub body: String,
}

impl Store {
    /// Remembers a round for `kept`, and forgets those past their time.
    pub async fn keep_round(&self, row: RoundRow, kept: Duration) -> Result<(), Fault> {
        self.write(Begun { row, kept }).await
    }

    /// What was remembered of this round, if it is this principal's and this request's.
    pub async fn round(
        &self,
        id: &str,
        principal: &str,
        bound_to: &str,
    ) -> Result<Option<String>, Fault> {
        let mut reader = self.reader().await?;
        sqlx::query_scalar(
            "SELECT body FROM rounds \
             WHERE round_id = $1 AND principal = $2 AND bound_to = $3 AND expires_at > $4",
        )
        .bind(id)
        .bind(principal)
        .bind(bound_to)
        .bind(self.now().as_millis())
        .fetch_optional(&mut *reader)
        .await
        .map_err(broken)
    }

    /// The same, once: of several who ask at a time, one gets it.
    pub async fn take_round(
        &self,
        id: &str,
        principal: &str,
        bound_to: &str,
    ) -> Result<Option<String>, Fault> {
        let [id, principal, bound_to] = [id, principal, bound_to].map(str::to_owned);
        self.write(Taken { id, principal, bound_to }).await
    }
}

struct Begun {
    row: RoundRow,
    kept: Duration,
}

impl Write for Begun {
    type Done = ();
    const UNWRITTEN: &'static str = "what the client is asked could not be stored";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        sqlx::query("DELETE FROM rounds WHERE expires_at <= $1 OR round_id = $2")
            .bind(now.as_millis())
            .bind(&self.row.round_id)
            .execute(&mut *connection)
            .await?;
        sqlx::query(
            "INSERT INTO rounds (round_id, principal, bound_to, body, expires_at) \
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(&self.row.round_id)
        .bind(&self.row.principal)
        .bind(&self.row.bound_to)
        .bind(&self.row.body)
        .bind(now.after(self.kept).as_millis())
        .execute(connection)
        .await?;
        Ok(())
    }
}

struct Taken {
    id: String,
    principal: String,
    bound_to: String,
}

impl Write for Taken {
    type Done = Option<String>;
    const UNWRITTEN: &'static str = "what the client was asked could not be looked up";
    const REFUSES_FIRST: bool = true;

    async fn write(
        &self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> Result<Option<String>, WriteError> {
        let taken = sqlx::query_scalar(
            "DELETE FROM rounds \
             WHERE round_id = $1 AND principal = $2 AND bound_to = $3 AND expires_at > $4 \
             RETURNING body",
        )
        .bind(&self.id)
        .bind(&self.principal)
        .bind(&self.bound_to)
        .bind(now.as_millis())
        .fetch_optional(connection)
        .await?;
        Ok(taken)
    }
}
