//! The one task that writes: it gathers what is queued, commits once, then answers everybody.
//!
//! The entries of a batch go in by one statement, chained from the head that the task remembers; a
//! batch of nothing else needs no transaction around it. If the database fails within a batch, the
//! connection is given up, and each item is tried once more by itself on a new one, unless its
//! entry turns out to be there already.

mod batch;
mod fold;
mod item;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Clock, Fault, Timestamp};
use sqlx::SqliteConnection;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::chain::Link;
use crate::database::{self, Connection, Database};
use crate::entry::Draft;
use crate::forms::Noted;
use crate::limits;

use batch::Failure;
use fold::Fold;
use item::{Item, Waiting};

pub(crate) use item::Unwritten;

/// Something to be written, in the topic's own words.
pub(crate) trait Write: Send + Sync + 'static {
    type Done: Send + 'static;

    /// What the client is told if this could not be made durable.
    const UNWRITTEN: &'static str;

    /// A refusal comes before the first change, so that there is never anything to undo.
    const REFUSES_FIRST: bool = false;

    /// The entry that this adds to the chain if it is not refused.
    fn draft(&self) -> Option<&Draft> {
        None
    }

    /// Whether the entry is all there is to write.
    fn only_appends(&self) -> bool {
        false
    }

    /// May run more than once; only the last run counts.
    fn write(
        &self,
        connection: &mut Connection,
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
    commits: Arc<AtomicU64>,
}

impl Writer {
    pub(crate) fn start(connection: Connection, database: Database, clock: Clock) -> Self {
        let (queue, items) = mpsc::channel(limits::QUEUE_MAX);
        let commits = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&commits);
        let desk = Desk {
            connection: Some(connection),
            appender: None,
            database,
            head: None,
            noted: Noted::default(),
            clock,
            commits: counted,
        };
        let task = tokio::spawn(desk.work(items));
        Self { queue: Mutex::new(Some(queue)), task: Mutex::new(Some(task)), commits }
    }

    /// Commits so far.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(crate) async fn write<W: Write>(&self, work: W) -> Result<W::Done, Unwritten<W>> {
        let closed = || Unwritten::new("the store is closed");
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (reply, answer) = oneshot::channel();
        let item: Box<dyn Item> = Box::new(Waiting::new(work, reply));
        let queued = queue.ok_or_else(closed)?.send(item).await;
        queued.map_err(|_gone| closed())?;
        answer.await.unwrap_or_else(|_gone| Err(closed()))
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

/// Whoever was answered with the last batch often comes back soon, and the first of them must not
/// take a commit for itself: as many as are `expected` are waited for a moment, and as long as they
/// keep coming a few moments. A lone caller never waits.
async fn gather(
    batch: &mut Vec<Box<dyn Item>>,
    items: &mut mpsc::Receiver<Box<dyn Item>>,
    expected: usize,
) {
    let wanted = expected.min(limits::GATHER_MAX);
    if batch.len() >= wanted {
        return;
    }
    let patience = tokio::time::sleep(limits::GATHER_WAIT);
    let mut patience = std::pin::pin!(patience);
    let (mut before, mut waits) = (batch.len(), 1);
    while batch.len() < wanted {
        let room = wanted - batch.len();
        // Neither arm loses anything: what was received is in the batch.
        tokio::select! {
            biased;
            received = items.recv_many(batch, room) => {
                if received == 0 {
                    return;
                }
            }
            () = &mut patience => {
                if batch.len() == before || waits == limits::GATHER_WAITS_MAX {
                    return;
                }
                (before, waits) = (batch.len(), waits + 1);
                patience.as_mut().reset(Instant::now() + limits::GATHER_WAIT);
            }
        }
    }
}

/// What the writing task has before it.
struct Desk {
    /// Absent after a failure, until the next write.
    connection: Option<Connection>,
    /// Only adds to the chain; opened when there is nothing else to write.
    appender: Option<SqliteConnection>,
    database: Database,
    /// The end of the chain as we left it; another process may have gone on from there.
    head: Option<Link>,
    noted: Noted,
    clock: Clock,
    commits: Arc<AtomicU64>,
}

impl Desk {
    /// Ends when nobody is left who could send.
    async fn work(mut self, mut items: mpsc::Receiver<Box<dyn Item>>) {
        let mut batch = Vec::with_capacity(limits::BATCH_MAX);
        let mut expected = 0;
        let mut fold = Fold::default();
        while items.recv_many(&mut batch, limits::BATCH_MAX).await > 0 {
            gather(&mut batch, &mut items, expected).await;
            expected = batch.len();
            let added = Fold::weigh(&batch);
            let tried = self.commit_fresh(&mut batch).await;
            // Those who came meanwhile will come back, too; those who are not answered yet cannot
            // be among them.
            expected += items.len();
            self.answer(tried, &mut batch).await;
            if self.database.is_embedded() {
                fold.go_on(added, &self.database, self.connection.as_mut()).await;
            }
        }
        fold.finish().await;
        if let Some(appender) = self.appender.take() {
            database::close(appender).await;
        }
        if let Some(connection) = self.connection.take() {
            self.database.retire(connection).await;
        }
    }

    /// Once more where another process came first.
    async fn commit_fresh(&mut self, batch: &mut [Box<dyn Item>]) -> Result<(), Failure> {
        match self.commit(batch).await {
            Err(Failure::Stale) => self.commit(batch).await,
            tried => tried,
        }
    }

    async fn answer(&mut self, tried: Result<(), Failure>, batch: &mut Vec<Box<dyn Item>>) {
        match tried {
            Ok(()) => batch.drain(..).for_each(Item::acknowledge),
            Err(Failure::Unreachable(cause)) => batch.drain(..).for_each(|item| item.fail(&cause)),
            Err(Failure::Stale | Failure::Broken(_)) => self.one_by_one(batch).await,
        }
    }

    /// After a failure: what is not there is tried again. While nothing answers, nothing is tried.
    async fn one_by_one(&mut self, batch: &mut Vec<Box<dyn Item>>) {
        let mut unreachable = None;
        for mut item in batch.drain(..) {
            let tried = match &unreachable {
                Some(cause) => Err(Failure::Unreachable(String::clone(cause))),
                None => self.once_more(&mut item).await,
            };
            match tried {
                Ok(()) => item.acknowledge(),
                Err(Failure::Unreachable(cause)) => {
                    item.fail(&cause);
                    unreachable = Some(cause);
                }
                Err(Failure::Broken(cause)) => item.fail(&cause),
                Err(Failure::Stale) => item.fail("others write faster than this gate"),
            }
        }
    }

    /// A commit whose answer was lost may have happened: then the entry is there.
    async fn once_more(&mut self, item: &mut Box<dyn Item>) -> Result<(), Failure> {
        if let Some(draft) = item.draft()
            && item.has_run()
            && self.has(draft).await?
        {
            return Ok(());
        }
        self.commit(std::slice::from_mut(item)).await
    }
}

#[cfg(test)]
mod tests;
