//! For tests on a PostgreSQL server: a schema of their own.

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
