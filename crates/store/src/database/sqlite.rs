//! One file, one writer, a log beside it.

use std::path::Path;
use std::str::FromStr as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use sqlx::any::AnyConnectOptions;
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AnyConnection, ConnectOptions as _, Connection as _, SqliteConnection};

use super::{Migrated, is_ours, migrate};
use crate::limits;
use crate::store::OpenError;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

const NOT_A_DATABASE: i32 = 26;
const CORRUPT: i32 = 11;
/// What may stand in the path of an address as it is.
const IN_PATHS: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

pub(super) async fn open(path: &Path) -> Result<AnyConnection, OpenError> {
    let broken = |error: sqlx::Error| explain(path, &error);
    let mut connection = connect(path).await.map_err(broken)?;
    // One transaction around the look and all migrations, so that two processes may start at once.
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(broken)?;
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_master")
        .fetch_all(&mut *transaction)
        .await
        .map_err(broken)?;
    if !is_ours(&MIGRATIONS, &tables) {
        return Err(OpenError::Foreign { path: path.to_owned() });
    }
    let migrated = migrate(&MIGRATIONS, &mut transaction).await;
    migrated.map_err(|error| explain_migration(path, error))?;
    transaction.commit().await.map_err(broken)?;
    let to_wal = sqlx::query("PRAGMA journal_mode = WAL").execute(&mut connection).await;
    to_wal.map_err(broken)?;
    Ok(connection)
}

pub(super) async fn connect(path: &Path) -> Result<AnyConnection, sqlx::Error> {
    let mut connection = plain(path).await?;
    sqlx::raw_sql(sqlx::AssertSqlSafe(settings())).execute(&mut connection).await?;
    Ok(connection)
}

/// A connection that speaks to SQLite without the go-between.
pub(super) async fn filer(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    let mut connection = SqliteConnectOptions::from_str(&address(path))?.connect().await?;
    sqlx::raw_sql(sqlx::AssertSqlSafe(settings())).execute(&mut connection).await?;
    Ok(connection)
}

fn settings() -> String {
    let busy_ms = limits::BUSY_WAIT.as_millis();
    let (page, log_pages, kept) = (limits::PAGE_BYTES, limits::LOG_PAGES, limits::LOG_KEPT_BYTES);
    format!(
        "PRAGMA page_size = {page}; PRAGMA busy_timeout = {busy_ms}; PRAGMA synchronous = FULL; \
         PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA secure_delete = FAST; \
         PRAGMA wal_autocheckpoint = {log_pages}; PRAGMA journal_size_limit = {kept}"
    )
}

/// As SQLite has it.
pub(super) async fn plain(path: &Path) -> Result<AnyConnection, sqlx::Error> {
    AnyConnectOptions::from_str(&address(path))?.connect().await
}

fn address(path: &Path) -> String {
    let path = percent_encode(path.as_os_str().as_encoded_bytes(), &IN_PATHS);
    format!("sqlite://{path}?mode=rw")
}

pub(super) fn explain(path: &Path, error: &sqlx::Error) -> OpenError {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    let path = path.to_owned();
    // The low byte is the plain code; the others say more about it.
    match code.map(|code| code & 0xff) {
        Some(NOT_A_DATABASE | CORRUPT) => OpenError::Corrupt { path },
        _ => OpenError::Unusable { path, cause: error.to_string() },
    }
}

fn explain_migration(path: &Path, error: Migrated) -> OpenError {
    let path = path.to_owned();
    match error {
        Migrated::Failed(error) => explain(&path, &error),
        Migrated::Newer { found, known } => {
            OpenError::Newer { place: path.display().to_string(), found, known }
        }
        Migrated::Foreign => OpenError::Foreign { path },
        Migrated::Other(cause) => OpenError::Unusable { path, cause },
    }
}
