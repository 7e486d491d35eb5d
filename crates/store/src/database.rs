//! The database behind the store: SQLite in the data folder, or PostgreSQL by its address.
//!
//! The topics speak one SQL to both through sqlx's `Any`; what differs stands in the two files
//! below: connecting, telling ours from others', locking, migrating.

mod connection;
mod postgres;
mod readers;
mod sqlite;

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Code, Fault, Secret};
use sqlx::any::AnyArguments;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, SqliteConnection};

use crate::chain::Places;
use crate::folder;
use crate::store::OpenError;

pub(crate) use connection::{Connection, Transaction, is_silent};
pub(crate) use readers::{Lent, Readers};

/// What a call is told while the database cannot be reached or written.
pub(crate) const UNAVAILABLE: &str = "the gate's database cannot be used now; nothing was done";

/// Where the database is. Prints no password.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    Sqlite { path: PathBuf, identity: Option<(u64, u64)> },
    Postgres { url: Secret, shown: String, patience: Duration },
}

impl Database {
    /// The database at this address, which may be silent for so long; or the one in this folder.
    pub(crate) fn locate(
        dir: &Path,
        server: Option<(&Secret, Duration)>,
    ) -> Result<Self, OpenError> {
        match server {
            None => Ok(Self::Sqlite { path: dir.join(folder::DATABASE), identity: None }),
            Some((url, patience)) => postgres::locate(url, patience),
        }
    }

    /// The first connection: brings an older database up to date, and leaves a foreign one alone.
    pub(crate) async fn open(&mut self) -> Result<Connection, OpenError> {
        sqlx::any::install_default_drivers();
        match self {
            Self::Sqlite { path, identity } => {
                folder::private_database(path)?;
                let connection = sqlite::open(path).await?;
                *identity = folder::identity(path);
                Ok(Connection::new(connection, None))
            }
            Self::Postgres { url, shown, patience } => {
                let connection = postgres::open(url, shown, *patience).await?;
                Ok(Connection::new(connection, Some(*patience)))
            }
        }
    }

    /// A new connection to a database that [`Database::open`] has opened before.
    pub(crate) async fn reconnect(&self) -> Result<Connection, sqlx::Error> {
        Ok(match self {
            Self::Sqlite { path, .. } => Connection::new(sqlite::connect(path).await?, None),
            Self::Postgres { url, patience, .. } => {
                Connection::new(postgres::connect(url, *patience).await?, Some(*patience))
            }
        })
    }

    /// The same for one that cannot write.
    async fn reader(&self) -> Result<Connection, sqlx::Error> {
        let (mut connection, only_read) = match self {
            Self::Sqlite { path, .. } => {
                (Connection::new(sqlite::plain(path).await?, None), "PRAGMA query_only = ON")
            }
            Self::Postgres { .. } => {
                (self.reconnect().await?, "SET default_transaction_read_only = on")
            }
        };
        sqlx::query(only_read).execute(&mut connection).await?;
        Ok(connection)
    }

    /// A second connection that only files what is in the journal; a server has no journal.
    pub(crate) async fn filer(&self) -> Result<SqliteConnection, sqlx::Error> {
        match self {
            Self::Sqlite { path, .. } => sqlite::filer(path).await,
            Self::Postgres { .. } => Err(sqlx::Error::WorkerCrashed),
        }
    }

    /// Begins a transaction that keeps every other writer out until it ends.
    pub(crate) async fn begin<'a>(
        &self,
        connection: &'a mut Connection,
    ) -> Result<Transaction<'a>, sqlx::Error> {
        match self {
            Self::Sqlite { .. } => Transaction::begin(connection, "BEGIN IMMEDIATE").await,
            Self::Postgres { .. } => {
                let mut transaction = Transaction::begin(connection, "BEGIN").await?;
                sqlx::query(postgres::LOCK).execute(&mut *transaction).await?;
                Ok(transaction)
            }
        }
    }

    /// Whether nobody else can have written since the last commit of ours without our noticing.
    pub(crate) const fn is_embedded(&self) -> bool {
        matches!(self, Self::Sqlite { .. })
    }

    /// How it wants the places of values marked.
    pub(crate) const fn places(&self) -> Places {
        match self {
            Self::Sqlite { .. } => Places::Bare,
            Self::Postgres { .. } => Places::Numbered,
        }
    }

    /// SQLite writes on happily into a file that was deleted; a record there is lost.
    pub(crate) fn check_place(&self) -> Result<(), String> {
        match self {
            Self::Sqlite { path, identity } if folder::identity(path) != *identity => {
                Err(format!("`{}` was removed or replaced", path.display()))
            }
            Self::Sqlite { .. } | Self::Postgres { .. } => Ok(()),
        }
    }

    /// Folds into the database file what of SQLite's log can be without keeping anybody waiting.
    pub(crate) async fn fold(&self, connection: &mut Connection) -> Result<(), sqlx::Error> {
        if self.is_embedded() {
            sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(connection).await?;
        }
        Ok(())
    }

    /// Folds the log into the database file before the connection goes; says whether it could.
    pub(crate) async fn retire(&self, mut connection: Connection) -> bool {
        let mut folded = true;
        if self.is_embedded()
            && let Err(error) =
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await
        {
            tracing::warn!(%error, "the database log could not be folded in; the next start will");
            folded = false;
        }
        connection.close().await;
        folded
    }
}

/// Deletes rows so that nobody finds them in SQLite's file any more; says how many. A server looks after
/// its own files.
pub(crate) async fn erase(
    connection: &mut Connection,
    delete: Query<'_, Any, AnyArguments>,
) -> Result<u64, sqlx::Error> {
    let embedded = connection.is_embedded();
    if embedded {
        sqlx::query("PRAGMA secure_delete = ON").execute(&mut *connection).await?;
    }
    let rows = delete.execute(&mut *connection).await?.rows_affected();
    // After a failure nobody uses the connection again.
    if embedded {
        sqlx::query("PRAGMA secure_delete = FAST").execute(connection).await?;
    }
    Ok(rows)
}

/// A read that the database refused.
#[expect(clippy::needless_pass_by_value, reason = "stands in `map_err`")]
pub(crate) fn broken(error: sqlx::Error) -> Fault {
    Fault::new(Code::StoreUnavailable, UNAVAILABLE).logging(format!("database: {error}"))
}

pub(crate) async fn close(filer: SqliteConnection) {
    if let Err(error) = sqlx::Connection::close(filer).await {
        tracing::warn!(%error, "the database did not close cleanly");
    }
}

/// What became of the migrations, in the words that suit the place.
enum Migrated {
    Newer { found: i64, known: i64 },
    Foreign,
    Failed(sqlx::Error),
    Other(String),
}

async fn migrate(migrations: &Migrator, connection: &mut AnyConnection) -> Result<(), Migrated> {
    let known = migrations.iter().map(|migration| migration.version).max().unwrap_or_default();
    migrations.run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::Execute(error) => Migrated::Failed(error),
        MigrateError::VersionMissing(found) if found > known => Migrated::Newer { found, known },
        MigrateError::VersionMissing(_) | MigrateError::VersionMismatch(_) => Migrated::Foreign,
        _ => Migrated::Other(error.to_string()),
    })
}

/// Whether these tables are none at all, or include our own list of migrations.
fn is_ours(migrations: &Migrator, tables: &[String]) -> bool {
    tables.is_empty() || tables.iter().any(|table| table == migrations.table_name.as_ref())
}
