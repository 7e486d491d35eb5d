//! A connection that waits for no server for ever, and knows whether it can be used again.
//!
//! A network that goes silent closes nothing: whoever waits on it waits for as long as the system
//! sends again, a quarter of an hour and more. So each statement has its time. A statement that was
//! given up, by us or by whoever asked for it, leaves its connection in doubt, and it is dropped.

use std::io;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use sqlx::any::{AnyQueryResult, AnyRow, AnyStatement, AnyTypeInfo};
use sqlx::{Any, AnyConnection, Connection as _, Describe, Either, Execute, Executor, SqlStr};

/// A connection to either database.
#[derive(Debug)]
pub(crate) struct Connection {
    inner: AnyConnection,
    /// How long the other side may say nothing. A file is not waited for.
    patience: Option<Duration>,
    /// What was last asked has not been answered.
    unanswered: bool,
    /// There is a transaction that nobody has ended; the next one undoes it.
    abandoned: bool,
}

impl Connection {
    pub(super) fn new(inner: AnyConnection, patience: Option<Duration>) -> Self {
        Self { inner, patience, unanswered: false, abandoned: false }
    }

    /// Where anybody is waited for, so long.
    pub(crate) fn patient(self, patience: Duration) -> Self {
        Self { patience: self.patience.map(|known| known.max(patience)), ..self }
    }

    /// Whether it is SQLite's, and no server's.
    pub(super) fn is_embedded(&self) -> bool {
        self.inner.backend_name() == "SQLite"
    }

    /// Whether the next to use it would hear what is meant for them.
    pub(super) fn is_sound(&self) -> bool {
        !self.unanswered
    }

    /// Whether there is anybody at the other end.
    pub(super) async fn is_alive(&mut self) -> bool {
        if self.patience.is_none() {
            return true;
        }
        self.unanswered = true;
        let answered = within(self.patience, self.inner.ping()).await.is_ok();
        self.unanswered = !answered;
        answered
    }

    /// Takes leave, where somebody may hear it.
    pub(crate) async fn close(self) {
        if !self.is_sound() {
            return;
        }
        let Self { inner, patience, .. } = self;
        if let Err(error) = within(patience, inner.close()).await {
            tracing::warn!(%error, "the database did not close cleanly");
        }
    }

    async fn say(&mut self, statement: &'static str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(statement).execute(self).await?;
        Ok(())
    }
}

/// Whether the server went silent, and did not just say no.
pub(crate) fn is_silent(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut)
}

async fn within<T>(
    patience: Option<Duration>,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match patience {
        None => answer.await,
        Some(patience) => {
            tokio::time::timeout(patience, answer).await.unwrap_or_else(|_elapsed| Err(silence()))
        }
    }
}

fn silence() -> sqlx::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the database server does not answer").into()
}

/// A refusal of the database is one.
fn is_answer<T>(answer: &Result<T, sqlx::Error>) -> bool {
    answer.as_ref().err().is_none_or(|error| error.as_database_error().is_some())
}

type Step = Either<AnyQueryResult, AnyRow>;

impl<'c> Executor<'c> for &'c mut Connection {
    type Database = Any;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Step, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Any>,
    {
        let Connection { inner, patience, unanswered, .. } = self;
        let steps = inner.fetch_many(query);
        let Some(patience) = *patience else { return steps };
        *unanswered = true;
        let patiently = stream::unfold(Some((steps, unanswered)), move |going| async move {
            let (mut steps, unanswered) = going?;
            let Ok(step) = tokio::time::timeout(patience, steps.next()).await else {
                return Some((Err(silence()), None));
            };
            *unanswered = step.as_ref().is_some_and(|step| step.is_ok() || !is_answer(step));
            step.map(|step| (step, Some((steps, unanswered))))
        });
        patiently.boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxFuture<'e, Result<Option<AnyRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Any>,
    {
        let Connection { inner, patience, unanswered, .. } = self;
        let row = inner.fetch_optional(query);
        let Some(patience) = *patience else { return row };
        *unanswered = true;
        Box::pin(async move {
            let row = within(Some(patience), row).await;
            *unanswered = !is_answer(&row);
            row
        })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [AnyTypeInfo],
    ) -> BoxFuture<'e, Result<AnyStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        let patience = self.patience;
        let prepared = self.inner.prepare_with(sql, parameters);
        Box::pin(within(patience, prepared))
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Any>, sqlx::Error>>
    where
        'c: 'e,
    {
        let patience = self.patience;
        let described = self.inner.describe(sql);
        Box::pin(within(patience, described))
    }
}

/// What is undone unless it is committed.
#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    connection: &'c mut Connection,
    words: Words,
    /// It is a part of another one.
    within: bool,
}

/// What begins it, ends it, and undoes it.
#[derive(Debug)]
struct Words(&'static str, &'static str, &'static str);

impl<'c> Transaction<'c> {
    pub(crate) async fn begin(
        connection: &'c mut Connection,
        statement: &'static str,
    ) -> Result<Self, sqlx::Error> {
        if std::mem::take(&mut connection.abandoned) {
            connection.say("ROLLBACK").await?;
        }
        Self::new(connection, Words(statement, "COMMIT", "ROLLBACK")).await
    }

    /// A part of this one that can be undone by itself.
    pub(crate) async fn part(connection: &'c mut Connection) -> Result<Self, sqlx::Error> {
        let words = Words("SAVEPOINT part", "RELEASE SAVEPOINT part", "ROLLBACK TO SAVEPOINT part");
        Self::new(connection, words).await
    }

    async fn new(connection: &'c mut Connection, words: Words) -> Result<Self, sqlx::Error> {
        connection.say(words.0).await?;
        let within = std::mem::replace(&mut connection.abandoned, true);
        Ok(Self { connection, words, within })
    }

    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        self.connection.say(self.words.1).await?;
        self.connection.abandoned = self.within;
        Ok(())
    }

    pub(crate) async fn rollback(self) -> Result<(), sqlx::Error> {
        self.connection.say(self.words.2).await?;
        self.connection.abandoned = self.within;
        Ok(())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
    }
}
