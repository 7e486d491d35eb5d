//! A server that several gates may share. One of them writes at a time, under an advisory lock.

use std::str::FromStr as _;

use model::Secret;
use sqlx::any::AnyConnectOptions;
use sqlx::migrate::Migrator;
use sqlx::{ConnectOptions as _, Connection as _};
use url::Url;

use super::{Connection, Database, Migrated, is_ours, migrate};
use crate::limits;
use crate::store::OpenError;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations/postgres");

/// Two numbers nobody else is likely to lock by: "tool", "gate".
const LOCK: &str = "SELECT pg_advisory_xact_lock(1953460076, 1734440037)";

pub(super) fn locate(url: &Secret) -> Result<Database, OpenError> {
    let parsed = Url::parse(url.reveal()).ok();
    let parsed = parsed.filter(|url| matches!(url.scheme(), "postgres" | "postgresql"));
    let Some(mut shown) = parsed else { return Err(OpenError::NoAddress) };
    if shown.password().is_some() && shown.set_password(Some("***")).is_err() {
        return Err(OpenError::NoAddress);
    }
    // Parameters may hold a password, too.
    shown.set_query(None);
    Ok(Database::Postgres { url: url.clone(), shown: shown.to_string() })
}

pub(super) async fn open(url: &Secret, shown: &str) -> Result<Connection, OpenError> {
    let broken = |error: sqlx::Error| explain(shown, &error);
    let mut connection = connect(url).await.map_err(broken)?;
    let mut transaction = begin(&mut connection).await.map_err(broken)?;
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
    transaction.commit().await.map_err(broken)?;
    Ok(connection)
}

pub(super) async fn connect(url: &Secret) -> Result<Connection, sqlx::Error> {
    let options = options(url)?;
    let connecting = tokio::time::timeout(limits::CONNECT_WAIT, options.connect());
    connecting.await.unwrap_or_else(|_elapsed| Err(sqlx::Error::PoolTimedOut))
}

pub(super) fn options(url: &Secret) -> Result<AnyConnectOptions, sqlx::Error> {
    AnyConnectOptions::from_str(url.reveal())
}

pub(super) async fn begin(
    connection: &mut Connection,
) -> Result<sqlx::Transaction<'_, sqlx::Any>, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    sqlx::query(LOCK).execute(&mut *transaction).await?;
    Ok(transaction)
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
