//! The one task that writes: it gathers what is queued, makes it durable once, then answers everybody.
//!
//! Entries are chained from the head that the task remembers. A batch of nothing but entries goes into
//! the journal, and from there to the database beside the writing; everything else is a transaction,
//! which takes along what the journal holds. If either fails within a batch, connection and journal
//! are given up, and each item is tried once more by itself, unless its entry turns out to be there
//! already: a commit whose answer was lost may have happened, or may just be happening.

mod batch;
mod filing;
mod fold;
mod inbox;
mod item;
mod recover;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Clock, Fault, Timestamp};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::chain::{self, Link};
use crate::database::{Connection, Database};
use crate::entry::Draft;
use crate::forms::Noted;
use crate::limits;

use batch::{Failure, Try};
use filing::Filing;
use fold::Fold;
use inbox::{Attended, Inbox};
use item::{Item, Waiting};

pub(crate) use item::Unwritten;
pub(crate) use recover::look;

/// Something to be written, in the topic's own words.
pub(crate) trait Write: Send + Sync + 'static {
    type Done: Send + 'static;

    /// What the client is told if this could not be made durable.
    const UNWRITTEN: &'static str;

    /// A refusal comes before the first change, so that there is never anything to undo.
    const REFUSES_FIRST: bool = false;

    /// Nothing of what it removes may be left anywhere.
    const FORGETS: bool = false;

    /// The entry that this adds to the chain if it is not refused.
    fn draft(&self) -> Option<&Draft> {
        None
    }

    /// What comes of it, where the entry is all there is to write.
    fn appended(&self) -> Option<Self::Done> {
        None
    }

    /// What is said where its entry turns out to be in the chain already; none if nobody tried before.
    fn found(&self) -> Option<Self::Done> {
        None
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
    inbox: Arc<Inbox>,
    task: Mutex<Option<JoinHandle<()>>>,
    commits: Arc<AtomicU64>,
    unfiled: Arc<AtomicBool>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

impl Writer {
    pub(crate) fn start(
        dir: &Path,
        connection: Connection,
        database: Database,
        clock: Clock,
    ) -> Self {
        let inbox = Arc::<Inbox>::default();
        let (commits, unfiled) = (Arc::default(), Arc::default());
        let desk = Desk {
            dir: dir.to_owned(),
            connection: Some(connection),
            filing: None,
            database,
            head: None,
            noted: Noted::default(),
            clock,
            logged: 0,
            commits: Arc::clone(&commits),
            unfiled: Arc::clone(&unfiled),
        };
        let attended = Attended(Arc::clone(&inbox));
        let task = tokio::spawn(async move { desk.work(&attended).await });
        Self { inbox, task: Mutex::new(Some(task)), commits, unfiled }
    }

    /// Whether there are acknowledged entries that the database has not heard of.
    pub(crate) fn has_unfiled(&self) -> bool {
        self.unfiled.load(Ordering::SeqCst)
    }

    /// Commits so far.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(crate) async fn write<W: Write>(&self, work: W) -> Result<W::Done, Unwritten<W>> {
        const CLOSED: &str = "the store is closed";
        let (reply, answer) = oneshot::channel();
        let item: Box<dyn Item> = Box::new(Waiting::new(work, reply));
        // What is not queued comes back as what could not be written does.
        if let Err(unsent) = self.inbox.put(item).await {
            unsent.fail(CLOSED);
        }
        answer.await.unwrap_or_else(|_gone| Err(Unwritten::new(CLOSED)))
    }

    pub(crate) fn refuse_further(&self) {
        self.inbox.close();
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
    dir: PathBuf,
    /// Absent after a failure, until the next write.
    connection: Option<Connection>,
    /// The journal and what is to be filed from it; absent after a failure, and where another process
    /// has the journal.
    filing: Option<Filing>,
    database: Database,
    /// The end of the chain as we left it; another process may have gone on from there.
    head: Option<Link>,
    noted: Noted,
    clock: Clock,
    /// About what SQLite's log has grown by.
    logged: u64,
    commits: Arc<AtomicU64>,
    unfiled: Arc<AtomicBool>,
}

impl Desk {
    /// Ends when nobody is left who could send.
    async fn work(mut self, Attended(inbox): &Attended) {
        let mut batch = Vec::with_capacity(limits::BATCH_MAX);
        let mut fold = Fold::default();
        let mut expected = 0;
        while inbox.gather(expected, self.filing.as_ref().and_then(Filing::due)).await {
            inbox.take(&mut batch);
            if !batch.is_empty() {
                expected = batch.len();
                let tried = self.commit_fresh(&mut batch).await;
                // Those who came meanwhile will come back, too; those who are not answered yet cannot
                // be among them.
                expected += inbox.len();
                self.answer(tried, &mut batch).await;
            }
            self.file().await;
            if self.database.is_embedded() {
                let added = std::mem::take(&mut self.logged);
                let alone = !self.filing.as_ref().is_some_and(Filing::is_under_way);
                let connection = self.connection.as_mut().filter(|_| alone);
                fold.go_on(added, &self.database, connection).await;
            }
        }
        let journal = match self.filing.take() {
            Some(filing) => filing.finish().await,
            None => None,
        };
        fold.finish().await;
        let Some(connection) = self.connection.take() else { return };
        // Only what is folded in for good, and into our own file, is needed in the journal no more.
        if self.database.retire(connection).await
            && self.database.check_place().is_ok()
            && let Some(Err(error)) = journal.map(|journal| journal.empty())
        {
            tracing::debug!(%error, "the journal was left as it is");
        }
    }

    /// Sends on what stands in the journal, if it should go.
    async fn file(&mut self) {
        let Some(filing) = &mut self.filing else { return };
        match filing.go_on().await {
            Ok(bytes) => self.logged += bytes,
            Err(error) => {
                if !chain::is_stale(&error) {
                    tracing::warn!(%error, "entries could not be filed; they stay in the journal");
                }
                self.give_up().await;
                self.recover().await;
            }
        }
    }

    /// After a failure nobody knows what is where.
    async fn give_up(&mut self) {
        self.head = None;
        self.noted.forget();
        if let Some(filing) = self.filing.take() {
            filing.give_up().await;
        }
    }

    /// Once more where another process came first.
    async fn commit_fresh(&mut self, batch: &mut [Box<dyn Item>]) -> Result<(), Failure> {
        match self.commit(batch, Try::First).await {
            Err(Failure::Stale) => self.commit(batch, Try::First).await,
            tried => tried,
        }
    }

    async fn answer(&mut self, tried: Result<(), Failure>, batch: &mut Vec<Box<dyn Item>>) {
        match tried {
            Ok(()) => batch.drain(..).for_each(Item::acknowledge),
            Err(Failure::Unreachable(cause)) => batch.drain(..).for_each(|item| item.fail(&cause)),
            Err(Failure::Stale | Failure::Silent(_) | Failure::Broken(_)) => {
                self.one_by_one(batch).await;
            }
        }
    }

    /// After a failure: what is not there is tried again. While nothing answers, nothing is tried.
    async fn one_by_one(&mut self, batch: &mut Vec<Box<dyn Item>>) {
        let mut unreachable = None;
        for mut item in batch.drain(..) {
            let tried = match &unreachable {
                Some(cause) => Err(Failure::Unreachable(String::clone(cause))),
                None => self.commit(std::slice::from_mut(&mut item), Try::Again).await,
            };
            match tried {
                Ok(()) => item.acknowledge(),
                Err(Failure::Unreachable(cause) | Failure::Silent(cause)) => {
                    item.fail(&cause);
                    unreachable = Some(cause);
                }
                Err(Failure::Broken(cause)) => item.fail(&cause),
                Err(Failure::Stale) => item.fail("others write faster than this gate"),
            }
        }
    }
}

#[cfg(test)]
mod tests;
