//! Handing entries out as they are stored, hashes included, so that a copy can be checked, too.

use model::{Fault, Record, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::database::broken;
use crate::entry::Entry;
use crate::forms::Shelf;
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
    /// The form that the entry names, letter by letter: its hash is the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Box<RawValue>>,
}

impl Exported {
    /// When it was written, and what it says.
    pub fn read(&self) -> Result<(Timestamp, Record), Fault> {
        let Entry { at, record, .. } =
            Entry::from_body(self.entry.get(), self.form.as_ref().map(|form| form.get()))?;
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
        let mut reader = self.reader_of_entries().await?;
        let rows: Vec<(i64, String, String, String)> =
            sql.rows().fetch_all(&mut *reader).await.map_err(broken)?;
        let mut shelf = Shelf::default();
        let mut entries = Vec::with_capacity(rows.len());
        for row in rows {
            let form = shelf.form_of(&row.3, &mut reader).await?;
            entries.push(exported(row, form.as_deref())?);
        }
        Ok(entries)
    }
}

fn exported(
    (seq, prev_hash, hash, body): (i64, String, String, String),
    form: Option<&str>,
) -> Result<Exported, Fault> {
    let raw = |text: String| {
        RawValue::from_string(text)
            .map_err(|error| Fault::internal(format!("entry {seq} is no JSON: {error}")))
    };
    let form = form.map(|form| raw(form.to_owned())).transpose()?;
    Ok(Exported { seq, prev_hash, hash, entry: raw(body)?, form })
}
