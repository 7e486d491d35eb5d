//! Clients that have introduced themselves, known to every gate on the same database.
//!
//! A session is no proof of identity: it is found only by the principal that opened it.

use std::time::Duration;

use model::{Fault, SessionId, Timestamp};

use crate::database::{Connection, broken};
use crate::store::Store;
use crate::writer::{Write, WriteError};

/// One client, in the words of whoever serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub session_id: SessionId,
    pub principal: String,
    pub body: String,
}

impl Store {
    /// Remembers a session, and forgets those not seen for `idle`. Of its principal's only the `most`
    /// seen last are kept: whoever opens more than that leaves the others behind.
    pub async fn keep_session(
        &self,
        row: SessionRow,
        idle: Duration,
        most: usize,
    ) -> Result<(), Fault> {
        self.write(Begun { row, idle, most }).await
    }

    /// What was remembered of this session, for the principal that opened it, if it was seen within
    /// `idle`.
    pub async fn session(
        &self,
        id: &str,
        principal: &str,
        idle: Duration,
    ) -> Result<Option<String>, Fault> {
        let mut reader = self.reader().await?;
        sqlx::query_scalar(
            "SELECT body FROM sessions WHERE session_id = $1 AND principal = $2 AND seen_at >= $3",
        )
        .bind(id)
        .bind(principal)
        .bind(before(self.now(), idle))
        .fetch_optional(&mut *reader)
        .await
        .map_err(broken)
    }

    /// Notes that a session is in use, so that others take it for alive; false if it has ended.
    pub async fn touch_session(&self, id: &str, principal: &str) -> Result<bool, Fault> {
        self.write(Seen { id: id.to_owned(), principal: principal.to_owned() }).await
    }

    pub async fn end_session(&self, id: &str, principal: &str) -> Result<(), Fault> {
        self.write(Ended { id: id.to_owned(), principal: principal.to_owned() }).await
    }
}

struct Begun {
    row: SessionRow,
    idle: Duration,
    most: usize,
}

impl Write for Begun {
    type Done = ();
    const UNWRITTEN: &'static str = "the session could not be stored";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        sqlx::query("DELETE FROM sessions WHERE seen_at < $1 OR session_id = $2")
            .bind(before(now, self.idle))
            .bind(self.row.session_id.as_str())
            .execute(&mut *connection)
            .await?;
        let others = i64::try_from(self.most).unwrap_or(i64::MAX).saturating_sub(1);
        sqlx::query(
            "DELETE FROM sessions WHERE session_id IN (SELECT session_id FROM sessions \
             WHERE principal = $1 ORDER BY seen_at DESC LIMIT $2 OFFSET $3)",
        )
        .bind(&self.row.principal)
        .bind(i64::MAX)
        .bind(others)
        .execute(&mut *connection)
        .await?;
        sqlx::query(
            "INSERT INTO sessions (session_id, principal, body, seen_at) VALUES ($1, $2, $3, $4)",
        )
        .bind(self.row.session_id.as_str())
        .bind(&self.row.principal)
        .bind(&self.row.body)
        .bind(now.as_millis())
        .execute(connection)
        .await?;
        Ok(())
    }
}

struct Seen {
    id: String,
    principal: String,
}

impl Write for Seen {
    type Done = bool;
    const UNWRITTEN: &'static str = "the session could not be kept alive";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<bool, WriteError> {
        let query = "UPDATE sessions SET seen_at = $1 WHERE session_id = $2 AND principal = $3";
        let seen = sqlx::query(query)
            .bind(now.as_millis())
            .bind(&self.id)
            .bind(&self.principal)
            .execute(connection)
            .await?;
        Ok(seen.rows_affected() > 0)
    }
}

struct Ended {
    id: String,
    principal: String,
}

impl Write for Ended {
    type Done = ();
    const UNWRITTEN: &'static str = "the session could not be ended";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        sqlx::query("DELETE FROM sessions WHERE session_id = $1 AND principal = $2")
            .bind(&self.id)
            .bind(&self.principal)
            .execute(connection)
            .await?;
        Ok(())
    }
}

fn before(now: Timestamp, idle: Duration) -> i64 {
    now.as_millis().saturating_sub(i64::try_from(idle.as_millis()).unwrap_or(i64::MAX))
}
