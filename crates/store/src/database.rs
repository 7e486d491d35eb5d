//! The database file: connecting, telling ours from others', migrating.

use std::path::Path;

use model::Fault;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection, SqlitePool};

use crate::limits;
use crate::store::OpenError;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

const NOT_A_DATABASE: i32 = 26;
const CORRUPT: i32 = 11;

/// The one connection that writes. A file that is not ours is left as it was.
pub(crate) async fn connect(path: &Path) -> Result<SqliteConnection, OpenError> {
    let broken = |error: sqlx::Error| explain(path, &error);
    let mut connection = options(path).connect().await.map_err(broken)?;
    migrate(path, &mut connection).await?;
    let to_wal = sqlx::query("PRAGMA journal_mode = WAL").execute(&mut connection).await;
    to_wal.map_err(broken)?;
    Ok(connection)
}

/// A new connection to a database that [`connect`] has opened before.
pub(crate) async fn reconnect(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    options(path).connect().await
}

/// Connections that cannot write, opened as they are needed.
pub(crate) fn readers(path: &Path) -> SqlitePool {
    let options = options(path).pragma("query_only", "ON");
    SqlitePoolOptions::new().max_connections(limits::READERS_MAX).connect_lazy_with(options)
}

/// A read that the database refused.
#[expect(clippy::needless_pass_by_value, reason = "stands in `map_err`")]
pub(crate) fn broken(error: sqlx::Error) -> Fault {
    Fault::internal(format!("database: {error}"))
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(limits::BUSY_WAIT)
        .foreign_keys(true)
}

/// One transaction around the look and all migrations, so that two processes may start at once.
async fn migrate(path: &Path, connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let broken = |error: sqlx::Error| explain(path, &error);
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(broken)?;
    if !is_empty_or_migrated(&mut transaction).await.map_err(broken)? {
        return Err(OpenError::Foreign { path: path.to_owned() });
    }
    let migrated = MIGRATIONS.run_direct(None, &mut *transaction, false).await;
    migrated.map_err(|error| explain_migration(path, &error))?;
    transaction.commit().await.map_err(broken)
}

async fn is_empty_or_migrated(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_master").fetch_all(connection).await?;
    Ok(tables.is_empty() || tables.iter().any(|table| table == MIGRATIONS.table_name.as_ref()))
}

fn explain(path: &Path, error: &sqlx::Error) -> OpenError {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    let path = path.to_owned();
    // The low byte is the plain code; the others say more about it.
    match code.map(|code| code & 0xff) {
        Some(NOT_A_DATABASE | CORRUPT) => OpenError::Corrupt { path },
        _ => OpenError::Unusable { path, cause: error.to_string() },
    }
}

fn explain_migration(path: &Path, error: &MigrateError) -> OpenError {
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default();
    match error {
        MigrateError::Execute(error) => explain(path, error),
        MigrateError::VersionMissing(found) if *found > known => {
            OpenError::Newer { path: path.to_owned(), found: *found, known }
        }
        MigrateError::VersionMissing(_) | MigrateError::VersionMismatch(_) => {
            OpenError::Foreign { path: path.to_owned() }
        }
        _ => OpenError::Unusable { path: path.to_owned(), cause: error.to_string() },
    }
}
