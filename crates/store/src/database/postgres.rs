//! A server that several gates may share. One of them writes at a time, under an advisory lock.

use std::str::FromStr as _;
use std::time::Duration;

use model::Secret;
use sqlx::any::AnyConnectOptions;
use sqlx::migrate::Migrator;
use sqlx::{AnyConnection, ConnectOptions as _, Connection as _};
use url::Url;

use super::{Database, Migrated, is_ours, migrate};
use crate::limits;
use crate::store::OpenError;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations/postgres");

/// Two numbers nobody else is likely to lock by: "tool", "gate".
///
/// A gate that has gone silent keeps nobody out for longer than a statement is waited for. A commit is
/// on the server's disk before its answer comes, whatever the server was told; one that waits for
/// standbys, too, goes on doing so.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(1953460076, 1734440037), \
     set_config('idle_in_transaction_session_timeout', '10s', true), \
     set_config('synchronous_commit', COALESCE(NULLIF(current_setting('synchronous_commit'), 'off'), \
     'on'), true)";

pub(super) fn locate(url: &Secret, patience: Duration) -> Result<Database, OpenError> {
    let parsed = Url::parse(url.reveal()).ok();
    let parsed = parsed.filter(|url| matches!(url.scheme(), "postgres" | "postgresql"));
    let Some(mut shown) = parsed else { return Err(OpenError::NoAddress) };
    if shown.password().is_some() && shown.set_password(Some("***")).is_err() {
        return Err(OpenError::NoAddress);
    }
    // Parameters may hold a password, too.
    shown.set_query(None);
    Ok(Database::Postgres { url: url.clone(), shown: shown.to_string(), patience })
}

pub(super) async fn open(
    url: &Secret,
    shown: &str,
    patience: Duration,
) -> Result<AnyConnection, OpenError> {
    let connecting = connect(url, patience).await;
    let mut connection = connecting.map_err(|error| explain(shown, &error))?;
    // Bringing a large database up to date takes its time.
    let prepared = tokio::time::timeout(limits::MIGRATE_WAIT, prepare(&mut connection, shown));
    let silent = |_elapsed| explain(shown, &sqlx::Error::PoolTimedOut);
    prepared.await.map_err(silent)??;
    Ok(connection)
}

async fn prepare(connection: &mut AnyConnection, shown: &str) -> Result<(), OpenError> {
    let broken = |error: sqlx::Error| explain(shown, &error);
    let mut transaction = connection.begin().await.map_err(broken)?;
    sqlx::query(LOCK).execute(&mut *transaction).await.map_err(broken)?;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = current_schema()",
    )
    .fetch_all(&mut *transaction)
    .await
    .map_err(broken)?;
    if !is_ours(&MIGRATIONS, &tables) {
        return Err(OpenError::ForeignSchema { place: shown.to_owned() });
    }
    let migrated = migrate(&MIGRATIONS, &mut transaction).await;
    migrated.map_err(|error| explain_migration(shown, error))?;
    transaction.commit().await.map_err(broken)
}

pub(super) async fn connect(
    url: &Secret,
    patience: Duration,
) -> Result<AnyConnection, sqlx::Error> {
    let options = AnyConnectOptions::from_str(url.reveal())?;
    let connecting = tokio::time::timeout(patience.min(limits::CONNECT_WAIT), options.connect());
    connecting.await.unwrap_or_else(|_elapsed| Err(sqlx::Error::PoolTimedOut))
}

pub(super) fn explain(shown: &str, error: &sqlx::Error) -> OpenError {
    OpenError::Unreachable { place: shown.to_owned(), cause: error.to_string() }
}

fn explain_migration(shown: &str, error: Migrated) -> OpenError {
    let place = shown.to_owned();
    match error {
        Migrated::Failed(error) => explain(shown, &error),
        Migrated::Newer { found, known } => OpenError::Newer { place, found, known },
        Migrated::Foreign => OpenError::ForeignSchema { place },
        Migrated::Other(cause) => OpenError::Unreachable { place, cause },
    }
}
