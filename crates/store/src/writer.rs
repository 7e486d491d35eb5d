//! The one task that writes: it gathers what is queued, commits once, then answers everybody.
//!
//! A refused item is undone alone. If the database itself fails within a batch, SQLite may have
//! dropped the whole transaction behind our back: the connection is given up, and each item of
//! that batch is tried again by itself on a new one.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use model::{Clock, Code, Fault, Timestamp};
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::{database, folder, limits};

/// Something to be written, in the topic's own words.
pub(crate) trait Write: Send + Sync + 'static {
    type Done: Send + 'static;

    /// What the client is told if this could not be made durable.
    const UNWRITTEN: &'static str;

    /// May run more than once; only the last run counts.
    fn write(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> impl Future<Output = Result<Self::Done, WriteError>> + Send;
}

#[derive(Debug)]
pub(crate) enum WriteError {
    /// The data says no; what this item wrote is undone.
    Refused(Box<Fault>),
    Database(sqlx::Error),
}

impl From<Fault> for WriteError {
    fn from(fault: Fault) -> Self {
        Self::Refused(Box::new(fault))
    }
}

impl From<sqlx::Error> for WriteError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

#[derive(Debug)]
pub(crate) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Box<dyn Item>>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(connection: SqliteConnection, path: PathBuf, clock: Clock) -> Self {
        let (queue, items) = mpsc::channel(limits::QUEUE_MAX);
        let identity = folder::identity(&path);
        let desk = Desk { connection: Some(connection), path, identity, clock };
        let task = tokio::spawn(desk.work(items));
        Self { queue: Mutex::new(Some(queue)), task: Mutex::new(Some(task)) }
    }

    pub(crate) async fn write<W: Write>(&self, work: W) -> Result<W::Done, Fault> {
        let unwritten = || unwritten(W::UNWRITTEN, "the store is closed");
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (reply, answer) = oneshot::channel();
        let item: Box<dyn Item> = Box::new(Waiting { work, reply, result: None });
        let queued = queue.ok_or_else(unwritten)?.send(item).await;
        queued.map_err(|_gone| unwritten())?;
        answer.await.unwrap_or_else(|_gone| Err(unwritten()))
    }

    pub(crate) fn refuse_further(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits for the end of the task; call [`Writer::refuse_further`] first.
    pub(crate) async fn finished(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the writer of the store broke off");
        }
    }
}

/// What the writing task has before it.
struct Desk {
    /// Absent after a failure, until the next write.
    connection: Option<SqliteConnection>,
    path: PathBuf,
    identity: Option<(u64, u64)>,
    clock: Clock,
}

impl Desk {
    /// Ends when nobody is left who could send.
    async fn work(mut self, mut items: mpsc::Receiver<Box<dyn Item>>) {
        let mut batch = Vec::with_capacity(limits::BATCH_MAX);
        while items.recv_many(&mut batch, limits::BATCH_MAX).await > 0 {
            self.settle(&mut batch).await;
        }
        self.close().await;
    }

    async fn settle(&mut self, batch: &mut Vec<Box<dyn Item>>) {
        let Err(error) = self.commit(batch).await else {
            return batch.drain(..).for_each(Item::acknowledge);
        };
        if batch.len() == 1 {
            return batch.drain(..).for_each(|item| item.fail(&error));
        }
        for mut item in batch.drain(..) {
            match self.commit(std::slice::from_mut(&mut item)).await {
                Ok(()) => item.acknowledge(),
                Err(error) => item.fail(&error),
            }
        }
    }

    /// All items in one transaction, each undone alone if it was refused.
    async fn commit(&mut self, items: &mut [Box<dyn Item>]) -> Result<(), String> {
        // SQLite writes on happily into a file that was deleted; a record there is lost.
        if folder::identity(&self.path) != self.identity {
            return Err(format!("`{}` was removed or replaced", self.path.display()));
        }
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => database::reconnect(&self.path).await.map_err(|error| error.to_string())?,
        };
        match commit(&mut connection, items, self.clock.now()).await {
            Ok(()) => self.connection = Some(connection),
            Err(error) => {
                close(connection).await;
                return Err(error.to_string());
            }
        }
        Ok(())
    }

    async fn close(self) {
        let Some(mut connection) = self.connection else { return };
        let checkpoint = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
        if let Err(error) = checkpoint.execute(&mut connection).await {
            tracing::warn!(%error, "the database log could not be folded in; the next start will");
        }
        close(connection).await;
    }
}

async fn close(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the database did not close cleanly");
    }
}

async fn commit(
    connection: &mut SqliteConnection,
    items: &mut [Box<dyn Item>],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for item in items {
        let mut savepoint = transaction.begin().await?;
        match item.run(&mut savepoint, now).await? {
            Fate::Keep => savepoint.commit().await?,
            Fate::Undo => savepoint.rollback().await?,
        }
    }
    transaction.commit().await
}

enum Fate {
    Keep,
    Undo,
}

/// A [`Write`] of any kind, with the one who waits for it.
trait Item: Send {
    fn run<'a>(
        &'a mut self,
        connection: &'a mut SqliteConnection,
        now: Timestamp,
    ) -> Pin<Box<dyn Future<Output = Result<Fate, sqlx::Error>> + Send + 'a>>;

    /// Hands over the result of the last run.
    fn acknowledge(self: Box<Self>);

    fn fail(self: Box<Self>, cause: &str);
}

struct Waiting<W: Write> {
    work: W,
    reply: oneshot::Sender<Result<W::Done, Fault>>,
    result: Option<Result<W::Done, Fault>>,
}

impl<W: Write> Item for Waiting<W> {
    fn run<'a>(
        &'a mut self,
        connection: &'a mut SqliteConnection,
        now: Timestamp,
    ) -> Pin<Box<dyn Future<Output = Result<Fate, sqlx::Error>> + Send + 'a>> {
        Box::pin(async move {
            let (fate, result) = match self.work.write(connection, now).await {
                Ok(done) => (Fate::Keep, Ok(done)),
                Err(WriteError::Refused(fault)) => (Fate::Undo, Err(*fault)),
                Err(WriteError::Database(error)) => return Err(error),
            };
            self.result = Some(result);
            Ok(fate)
        })
    }

    fn acknowledge(self: Box<Self>) {
        let Self { reply, result, .. } = *self;
        // INVARIANT: an item is acknowledged after a run, so there is a result.
        let result = result.unwrap_or_else(|| Err(unwritten(W::UNWRITTEN, "it never ran")));
        // Whoever asked may have left; what is written stays written.
        drop(reply.send(result));
    }

    fn fail(self: Box<Self>, cause: &str) {
        drop(self.reply.send(Err(unwritten(W::UNWRITTEN, cause))));
    }
}

fn unwritten(message: &str, cause: &str) -> Fault {
    Fault::new(Code::Internal, message).logging(format!("not written: {cause}"))
}

#[cfg(test)]
mod tests;
