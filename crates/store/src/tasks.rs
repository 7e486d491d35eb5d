//! Whose a task is and where it came from, known to every gate on the same database. The task itself
//! is its upstream's.

use std::time::Duration;

use model::{Fault, Timestamp};

use crate::database::{Connection, broken};
use crate::store::Store;
use crate::writer::{Write, WriteError};

/// One task, in the words of whoever began it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    pub task_id: String,
    pub principal: String,
    pub body: String,
}

impl Store {
    /// Remembers a task in the place of an older one of the same name, and forgets those begun longer
    /// ago than `kept`.
    pub async fn keep_task(&self, row: TaskRow, kept: Duration) -> Result<(), Fault> {
        self.write(Begun { row, kept }).await
    }

    /// What was remembered of this principal's task, and how it ended, if it has.
    pub async fn task(
        &self,
        id: &str,
        principal: &str,
    ) -> Result<Option<(String, Option<String>)>, Fault> {
        let mut reader = self.reader().await?;
        let found: Option<(String, String)> =
            sqlx::query_as("SELECT body, ended FROM tasks WHERE task_id = $1 AND principal = $2")
                .bind(id)
                .bind(principal)
                .fetch_optional(&mut *reader)
                .await
                .map_err(broken)?;
        Ok(found.map(|(body, ended)| (body, Some(ended).filter(|ended| !ended.is_empty()))))
    }

    /// Notes how a task has ended, unless it has ended before; how it has ended then.
    pub async fn end_task(
        &self,
        id: &str,
        principal: &str,
        ended: &str,
    ) -> Result<Option<String>, Fault> {
        let [id, principal, ended] = [id, principal, ended].map(str::to_owned);
        self.write(Ended { id, principal, how: ended }).await
    }

    /// Names of this principal's tasks, newest first.
    pub async fn tasks_of(&self, principal: &str, most: u32) -> Result<Vec<String>, Fault> {
        let mut reader = self.reader().await?;
        sqlx::query_scalar(
            "SELECT task_id FROM tasks WHERE principal = $1 ORDER BY begun_at DESC, task_id LIMIT $2",
        )
        .bind(principal)
        .bind(i64::from(most))
        .fetch_all(&mut *reader)
        .await
        .map_err(broken)
    }
}

struct Begun {
    row: TaskRow,
    kept: Duration,
}

impl Write for Begun {
    type Done = ();
    const UNWRITTEN: &'static str = "the task could not be stored";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        let kept_ms = i64::try_from(self.kept.as_millis()).unwrap_or(i64::MAX);
        sqlx::query("DELETE FROM tasks WHERE begun_at < $1 OR (task_id = $2 AND principal = $3)")
            .bind(now.as_millis().saturating_sub(kept_ms))
            .bind(&self.row.task_id)
            .bind(&self.row.principal)
            .execute(&mut *connection)
            .await?;
        sqlx::query(
            "INSERT INTO tasks (principal, task_id, body, ended, begun_at) \
             VALUES ($1, $2, $3, '', $4)",
        )
        .bind(&self.row.principal)
        .bind(&self.row.task_id)
        .bind(&self.row.body)
        .bind(now.as_millis())
        .execute(connection)
        .await?;
        Ok(())
    }
}

struct Ended {
    id: String,
    principal: String,
    how: String,
}

impl Write for Ended {
    type Done = Option<String>;
    const UNWRITTEN: &'static str = "the end of a task could not be stored";
    const REFUSES_FIRST: bool = true;

    async fn write(
        &self,
        connection: &mut Connection,
        _now: Timestamp,
    ) -> Result<Option<String>, WriteError> {
        sqlx::query(
            "UPDATE tasks SET ended = $1 WHERE task_id = $2 AND principal = $3 AND ended = ''",
        )
        .bind(&self.how)
        .bind(&self.id)
        .bind(&self.principal)
        .execute(&mut *connection)
        .await?;
        let ended =
            sqlx::query_scalar("SELECT ended FROM tasks WHERE task_id = $1 AND principal = $2")
                .bind(&self.id)
                .bind(&self.principal)
                .fetch_optional(connection)
                .await?;
        Ok(ended)
    }
}
