//! How often one caller used each tool of late, so that search can tell equals apart for that
//! caller alone.

use std::collections::BTreeMap;

use model::Fault;

use crate::database::broken;
use crate::limits;
use crate::store::Store;

impl Store {
    /// Calls of this principal that went well, by `upstream/name`, among the latest entries of the
    /// history. Nothing another principal did is counted.
    pub async fn uses(&self, principal: &str) -> Result<BTreeMap<String, u32>, Fault> {
        let mut reader = self.reader_of_entries().await?;
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT tool, COUNT(*) FROM entries WHERE principal = $1 AND phase = 'close' \
             AND status = 'completed' AND seq > (SELECT COALESCE(MAX(seq), 0) FROM entries) - $2 \
             GROUP BY tool ORDER BY tool",
        )
        .bind(principal)
        .bind(limits::USES_ENTRIES)
        .fetch_all(&mut *reader)
        .await
        .map_err(broken)?;
        let count = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(rows.into_iter().map(|(tool, uses)| (tool, count(uses))).collect())
    }
}
