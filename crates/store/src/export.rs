//! Handing entries out as they are stored, hashes included, so that a copy can be checked, too.

use model::{Fault, Record, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::database::broken;
use crate::entry::Entry;
use crate::history::{RecordFilter, push_wanted};
use crate::limits;
use crate::sql::Sql;
use crate::store::Store;

/// One entry of the chain.
#[derive(Debug, Serialize)]
pub struct Exported {
    pub seq: i64,
    pub prev_hash: String,
    pub hash: String,
    /// The body, letter by letter: its hash is over just this text.
    pub entry: Box<RawValue>,
}

impl Exported {
    /// When it was written, and what it says.
    pub fn read(&self) -> Result<(Timestamp, Record), Fault> {
        let Entry { at, record, .. } = Entry::from_body(self.entry.get())?;
        Ok((at, record))
    }
}

impl Store {
    /// The next entries after `after_seq` that the filter wants, oldest first; nothing at the end.
    ///
    /// Limit and page of the filter do not count.
    pub async fn export(
        &self,
        filter: &RecordFilter,
        after_seq: i64,
    ) -> Result<Vec<Exported>, Fault> {
        let mut sql = Sql::new("SELECT seq, prev_hash, hash, body FROM entries WHERE seq > ");
        sql.bind(after_seq);
        push_wanted(&mut sql, filter);
        sql.push(" ORDER BY seq LIMIT ").bind(limits::EXPORT_PAGE);
        let mut reader = self.reader().await?;
        let rows: Vec<(i64, String, String, String)> =
            sql.rows().fetch_all(&mut *reader).await.map_err(broken)?;
        rows.into_iter().map(exported).collect()
    }
}

fn exported(
    (seq, prev_hash, hash, body): (i64, String, String, String),
) -> Result<Exported, Fault> {
    let entry = RawValue::from_string(body)
        .map_err(|error| Fault::internal(format!("entry {seq} is no JSON: {error}")))?;
    Ok(Exported { seq, prev_hash, hash, entry })
}
