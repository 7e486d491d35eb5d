//! Opening and closing the data folder. What can be done with an open store stands in the topics.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use model::{Clock, Fault, Secret, SessionId, Timestamp};
use tokio::sync::RwLock;

use crate::artifacts::Quotas;
use crate::database::{self, Connection, Database, Lent, Readers};
use crate::folder::{self, FolderError};
use crate::forms::Forms;
use crate::limits;
use crate::objects::{Objects, Place};
use crate::records::Late;
use crate::writer::{self, Unwritten, Write, WriteError, Writer};

#[derive(Clone, Debug)]
pub struct Config {
    /// Where everything lies; created if need be.
    pub dir: PathBuf,
    /// A PostgreSQL server to use in place of a file in the folder.
    pub url: Option<Secret>,
    /// How long that server may be silent before a statement is given up.
    pub patience: Duration,
    /// Where the bytes of artifacts are kept.
    pub place: Place,
    pub quotas: Quotas,
}

impl Config {
    /// Everything in this folder, within the usual quotas.
    pub fn folder(dir: impl Into<PathBuf>) -> Self {
        let patience = limits::ANSWER_WAIT;
        let (place, quotas) = (Place::default(), Quotas::default());
        Self { dir: dir.into(), url: None, patience, place, quotas }
    }
}

/// Why the store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(
        "`{}` is damaged or no database; restore it from a backup, or choose another folder with \
         --data",
        path.display()
    )]
    Corrupt { path: PathBuf },
    #[error(
        "`{}` is not a database of this Toolgate; choose another folder with --data",
        path.display()
    )]
    Foreign { path: PathBuf },
    #[error(
        "`{place}` was written by a newer Toolgate (schema {found}, this one knows {known}); upgrade \
         Toolgate"
    )]
    Newer { place: String, found: i64, known: i64 },
    #[error("cannot open `{}`: {cause}", path.display())]
    Unusable { path: PathBuf, cause: String },
    #[error("`store` is no address of a PostgreSQL database, such as `postgres://user@host/name`")]
    NoAddress,
    #[error(
        "the database `{place}` holds tables of another program; give Toolgate a database or a \
         schema of its own"
    )]
    ForeignSchema { place: String },
    #[error("cannot use the database `{place}`: {cause}")]
    Unreachable { place: String, cause: String },
    #[error("cannot keep artifacts in `{url}`: {cause}; see `artifacts` in the configuration")]
    Bucket { url: String, cause: String },
}

/// An open data folder. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    readers: Readers,
    writer: Writer,
    objects: Objects,
    quotas: Quotas,
    /// Held while objects are removed, shared while one is written.
    sweeping: RwLock<()>,
    clock: Clock,
    dir: PathBuf,
    owner: String,
    shared: bool,
    late: Late,
    forms: Forms,
    /// The last purge that has left nothing in our journal.
    purged: AtomicI64,
    /// This process makes calls, and does not only look.
    serving: AtomicBool,
}

impl Store {
    /// Opens the folder, and brings an older database up to date.
    pub async fn open(config: &Config, clock: Clock) -> Result<Self, OpenError> {
        folder::prepare(&config.dir)?;
        let setup = take_setup_lock(&config.dir).await?;
        let objects = Objects::open(&config.place, &config.dir.join(folder::ARTIFACTS))?;
        let mut database =
            Database::locate(&config.dir, config.url.as_ref().map(|url| (url, config.patience)))?;
        let mut connection = database.open().await?;
        if database.is_embedded() {
            writer::look(&config.dir, &database, &mut connection).await;
        }
        drop(setup);
        let readers = Readers::new(database.clone());
        let (dir, owner) = (config.dir.clone(), SessionId::random().to_string());
        let (shared, late) = (!database.is_embedded(), Late::default());
        let serving = AtomicBool::new(false);
        let writer = Writer::start(&config.dir, connection, database, clock.clone());
        let inner = Inner {
            readers,
            writer,
            objects,
            quotas: config.quotas.clone(),
            sweeping: RwLock::default(),
            clock,
            dir,
            owner,
            shared,
            late,
            forms: Forms::default(),
            purged: AtomicI64::default(),
            serving,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Finishes what is queued, folds the log into the database and closes both.
    ///
    /// Later writes are refused. Closing twice is harmless.
    pub async fn close(&self) {
        self.catch_up().await;
        if self.inner.serving.swap(false, Ordering::SeqCst) {
            self.take_leave().await;
        }
        self.inner.writer.refuse_further();
        self.inner.late.end();
        self.inner.readers.close().await;
        self.inner.writer.finished().await;
    }

    /// What a gate does last: nothing stays unsigned or claimed that need not.
    async fn take_leave(&self) {
        let signed = self.checkpoint().await.map(|_| ());
        if let Err(fault) = signed.and(self.sign_off().await) {
            let detail = fault.log.as_deref().unwrap_or_default();
            tracing::warn!(%fault, detail, "the store was not left in order");
        }
    }

    pub(crate) fn serve(&self) {
        self.inner.serving.store(true, Ordering::SeqCst);
    }

    pub(crate) fn late(&self) -> &Late {
        &self.inner.late
    }

    pub(crate) fn purged(&self) -> &AtomicI64 {
        &self.inner.purged
    }

    pub(crate) fn forms(&self) -> &Forms {
        &self.inner.forms
    }

    /// As [`Store::write`], but what could not be written comes back.
    pub(crate) async fn write_or_return<W: Write>(&self, work: W) -> Result<W::Done, Unwritten<W>> {
        self.inner.writer.write(work).await
    }

    /// Durable when it returns. Dropping the future does not take the write back.
    pub(crate) async fn write<W: Write>(&self, work: W) -> Result<W::Done, Fault> {
        self.write_or_return(work).await.map_err(|unwritten| unwritten.fault)
    }

    pub(crate) async fn reader(&self) -> Result<Lent<'_>, Fault> {
        self.inner.readers.lend().await.map_err(database::broken)
    }

    /// A reader beside the others, which goes when this is dropped.
    pub(crate) async fn reader_of_ones_own(&self) -> Result<Connection, Fault> {
        self.inner.readers.apart().await.map_err(database::broken)
    }

    /// For reading entries: whatever was acknowledged is there, too.
    ///
    /// If the database will take nothing now, the latest entries are missing, and the log says why.
    pub(crate) async fn reader_of_entries(&self) -> Result<Lent<'_>, Fault> {
        if self.inner.writer.has_unfiled()
            && let Err(fault) = self.write(Settled).await
        {
            let detail = fault.log.as_deref().unwrap_or_default();
            tracing::warn!(%fault, detail, "entries are read without the latest");
        }
        self.reader().await
    }

    /// The same for whoever looks at all of them, which may take a server longer than a call waits.
    pub(crate) async fn surveyor(&self) -> Result<Connection, Fault> {
        drop(self.reader_of_entries().await?);
        Ok(self.reader_of_ones_own().await?.patient(limits::SURVEY_WAIT))
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.inner.objects
    }

    pub(crate) fn quotas(&self) -> &Quotas {
        &self.inner.quotas
    }

    pub(crate) fn sweeping(&self) -> &RwLock<()> {
        &self.inner.sweeping
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// This process, as others know it.
    pub(crate) fn owner(&self) -> &str {
        &self.inner.owner
    }

    /// How often this process has made something durable: what is written together counts once.
    pub fn commits(&self) -> u64 {
        self.inner.writer.commits()
    }

    /// Whether other gates may be using the same database.
    pub fn is_shared(&self) -> bool {
        self.inner.shared
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }
}

/// Nothing to write; what is in the journal goes before it.
struct Settled;

impl Write for Settled {
    type Done = ();
    const UNWRITTEN: &'static str = "the latest entries could not be filed";

    async fn write(&self, _connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        Ok(())
    }
}

async fn take_setup_lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.to_owned();
    match tokio::task::spawn_blocking(move || folder::setup_lock(&path)).await {
        Ok(locked) => Ok(locked?),
        Err(error) => Err(OpenError::Unusable { path: dir.to_owned(), cause: error.to_string() }),
    }
}
