//! Opening and closing the data folder. What can be done with an open store stands in the topics.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Clock, Fault, Timestamp};
use object_store::local::LocalFileSystem;
use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, SqlitePool};

use crate::database;
use crate::folder::{self, FolderError};
use crate::writer::{Write, Writer};

#[derive(Clone, Debug)]
pub struct Config {
    /// Where everything lies; created if need be.
    pub dir: PathBuf,
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
        "`{}` was written by a newer Toolgate (schema {found}, this one knows {known}); upgrade \
         Toolgate",
        path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("cannot open `{}`: {cause}", path.display())]
    Unusable { path: PathBuf, cause: String },
}

/// An open data folder. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    readers: SqlitePool,
    writer: Writer,
    artifacts: LocalFileSystem,
    clock: Clock,
}

impl Store {
    /// Opens the folder, and brings an older database up to date.
    pub async fn open(config: &Config, clock: Clock) -> Result<Self, OpenError> {
        folder::prepare(&config.dir)?;
        let setup = take_setup_lock(&config.dir).await?;
        let artifacts = open_artifacts(&config.dir.join(folder::ARTIFACTS))?;
        let path = config.dir.join(folder::DATABASE);
        folder::private_database(&path)?;
        let connection = database::connect(&path).await?;
        drop(setup);
        let writer = Writer::start(connection, path.clone(), clock.clone());
        let readers = database::readers(&path);
        Ok(Self { inner: Arc::new(Inner { readers, writer, artifacts, clock }) })
    }

    /// Finishes what is queued, folds the log into the database and closes both.
    ///
    /// Later writes are refused. Closing twice is harmless.
    pub async fn close(&self) {
        self.inner.writer.refuse_further();
        self.inner.readers.close().await;
        self.inner.writer.finished().await;
    }

    /// Durable when it returns. Dropping the future does not take the write back.
    pub(crate) async fn write<W: Write>(&self, work: W) -> Result<W::Done, Fault> {
        self.inner.writer.write(work).await
    }

    pub(crate) async fn reader(&self) -> Result<PoolConnection<Sqlite>, Fault> {
        self.inner.readers.acquire().await.map_err(database::broken)
    }

    pub(crate) fn objects(&self) -> &LocalFileSystem {
        &self.inner.artifacts
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }
}

async fn take_setup_lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.to_owned();
    match tokio::task::spawn_blocking(move || folder::setup_lock(&path)).await {
        Ok(locked) => Ok(locked?),
        Err(error) => Err(OpenError::Unusable { path: dir.to_owned(), cause: error.to_string() }),
    }
}

fn open_artifacts(path: &Path) -> Result<LocalFileSystem, OpenError> {
    folder::private_dir(path)?;
    LocalFileSystem::new_with_prefix(path)
        .map(|objects| objects.with_fsync(true))
        .map_err(|error| OpenError::Unusable { path: path.to_owned(), cause: error.to_string() })
}
