//! For tests and measurements: a schema of one's own on a PostgreSQL server, and a slower disk.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::{Fault, Secret};
use sqlx::{AnyConnection, Connection as _};

use crate::database::broken;

/// Creates the schema that the `search_path` at the end of the address names.
pub async fn create_schema(url: &Secret) -> Result<(), Fault> {
    sqlx::any::install_default_drivers();
    let schema = url.reveal().rsplit('=').next().unwrap_or_default().to_owned();
    if schema.is_empty() || !schema.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Fault::internal("the address names no schema"));
    }
    let mut connection = AnyConnection::connect(url.reveal()).await.map_err(broken)?;
    let create = sqlx::AssertSqlSafe(format!("CREATE SCHEMA IF NOT EXISTS {schema}"));
    sqlx::query(create).execute(&mut connection).await.map_err(broken)?;
    connection.close().await.map_err(broken)
}

/// By how much syncing takes longer than it does, in microseconds.
static SLOWER: AtomicU64 = AtomicU64::new(0);

/// Has the journal's disk take so much longer to sync from here on, for measuring what another disk
/// would make of it.
pub fn slow_down(by: Duration) {
    SLOWER.store(u64::try_from(by.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Waits as a slower disk would have it.
#[expect(clippy::disallowed_methods, reason = "a disk keeps its thread waiting and nobody else")]
pub(crate) fn pause() {
    match SLOWER.load(Ordering::Relaxed) {
        0 => {}
        micros => std::thread::sleep(Duration::from_micros(micros)),
    }
}
