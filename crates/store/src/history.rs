//! Looking into the past: one record, or a list of them.

use model::{Code, Fault, Record, RecordId, RecordStatus, Timestamp};
use serde::Serialize;

use crate::database::{Connection, broken};
use crate::entry::{self, Entry};
use crate::forms::Shelf;
use crate::sql::Sql;
use crate::store::Store;
use crate::{limits, prefix};

/// Which records to list; what is absent is not asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFilter {
    /// At most 1000, whatever is asked for.
    pub limit: u32,
    /// `upstream/name`, or the caller's words if there was no such tool.
    pub tool: Option<String>,
    pub status: Option<RecordStatus>,
    /// As `user:alice`.
    pub principal: Option<String>,
    pub run_id: Option<String>,
    /// Only what was written at this time or later.
    pub since: Option<Timestamp>,
    /// Only what was written before this time.
    pub until: Option<Timestamp>,
    /// Only what came before the line with this number: how to ask for the next page.
    pub before_seq: Option<i64>,
}

impl Default for RecordFilter {
    fn default() -> Self {
        Self {
            limit: limits::LINES_DEFAULT,
            tool: None,
            status: None,
            principal: None,
            run_id: None,
            since: None,
            until: None,
            before_seq: None,
        }
    }
}

/// A record on one line, as its latest entry has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordLine {
    pub seq: i64,
    pub record_id: RecordId,
    pub at: Timestamp,
    pub tool: String,
    pub status: RecordStatus,
    pub principal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Code>,
}

impl Store {
    /// The record with this id, or with a call of this id; the beginning of either is enough.
    pub async fn record(&self, id: &str) -> Result<Option<Record>, Fault> {
        let mut reader = self.reader_of_entries().await?;
        let Some(record_id) = resolve(&mut reader, id).await? else { return Ok(None) };
        let body: Option<String> = sqlx::query_scalar(
            "SELECT body FROM entries WHERE record_id = $1 ORDER BY seq DESC LIMIT 1",
        )
        .bind(record_id)
        .fetch_optional(&mut *reader)
        .await
        .map_err(broken)?;
        let Some(body) = body else { return Ok(None) };
        let form = Shelf::default().form_of(&body, &mut reader).await?;
        Ok(Some(Entry::from_body(&body, form.as_deref())?.record))
    }

    /// Newest first, each record once.
    pub async fn records(&self, filter: &RecordFilter) -> Result<Vec<RecordLine>, Fault> {
        let mut reader = self.reader_of_entries().await?;
        let rows: Vec<(i64, String)> =
            query(filter).rows().fetch_all(&mut *reader).await.map_err(broken)?;
        let mut shelf = Shelf::default();
        let mut lines = Vec::with_capacity(rows.len());
        for (seq, body) in rows {
            let form = shelf.form_of(&body, &mut reader).await?;
            lines.push(line(seq, Entry::from_body(&body, form.as_deref())?));
        }
        Ok(lines)
    }
}

async fn resolve(connection: &mut Connection, id: &str) -> Result<Option<String>, Fault> {
    if id.is_empty() {
        return Ok(None);
    }
    let exact = between(connection, id, None).await.map_err(broken)?;
    if !exact.is_empty() {
        return prefix::only(id, exact);
    }
    let begun = between(connection, id, Some(prefix::end(id))).await.map_err(broken)?;
    prefix::only(id, begun)
}

/// Up to two records whose id or call id lies from `first` to before `end`, or is `first`.
async fn between(
    connection: &mut Connection,
    first: &str,
    end: Option<String>,
) -> Result<Vec<String>, sqlx::Error> {
    let query = match end {
        None => sqlx::query_scalar(
            "SELECT record_id FROM entries WHERE record_id = $1 \
             UNION SELECT record_id FROM entries WHERE record_id = $3 \
             UNION SELECT record_id FROM entries WHERE call_id = $1 \
             AND substr(call_id, 6) <> substr(record_id, 5) LIMIT 2",
        ),
        Some(_) => sqlx::query_scalar(
            "SELECT record_id FROM entries WHERE record_id >= $1 AND record_id < $2 \
             UNION SELECT record_id FROM entries WHERE record_id >= $3 AND record_id < $4 \
             UNION SELECT record_id FROM entries WHERE call_id >= $1 AND call_id < $2 \
             AND substr(call_id, 6) <> substr(record_id, 5) LIMIT 2",
        ),
    };
    let its_record = record_of(first);
    let its_end = end.as_ref().map(|_| prefix::end(&its_record));
    query.bind(first).bind(end).bind(its_record).bind(its_end).fetch_all(connection).await
}

/// The id, or its beginning, of the record that belongs to a call.
fn record_of(id: &str) -> String {
    match id.strip_prefix("call_") {
        Some(number) => ["rec_", number].concat(),
        None if "call_".starts_with(id) => "rec_".to_owned(),
        None => id.to_owned(),
    }
}

fn query(filter: &RecordFilter) -> Sql {
    let mut sql = Sql::new(
        "SELECT seq, body FROM entries WHERE NOT EXISTS (SELECT 1 FROM entries AS later \
         WHERE later.record_id = entries.record_id AND later.seq > entries.seq)",
    );
    push_wanted(&mut sql, filter);
    if let Some(seq) = filter.before_seq {
        sql.push(" AND seq < ").bind(seq);
    }
    let limit = i64::from(filter.limit.min(limits::LINES_MAX));
    sql.push(" ORDER BY seq DESC LIMIT ").bind(limit);
    sql
}

/// What the filter asks of an entry, each beginning with ` AND `.
pub(crate) fn push_wanted(sql: &mut Sql, filter: &RecordFilter) {
    if let Some(tool) = &filter.tool {
        wanted_tool(sql, tool);
    }
    if let Some(run) = &filter.run_id {
        wanted_run(sql, run);
    }
    let status = filter.status.map(|status| status.as_str().to_owned());
    let wanted = [(" AND status = ", status), (" AND principal = ", filter.principal.clone())];
    for (column, value) in wanted {
        if let Some(value) = value {
            sql.push(column).bind(value);
        }
    }
    let times = [(" AND at >= ", filter.since), (" AND at < ", filter.until)];
    for (column, at) in times {
        if let Some(at) = at {
            sql.push(column).bind(at.as_millis());
        }
    }
}

/// A name without its upstream stands for that tool of every upstream, and of none.
fn wanted_tool(sql: &mut Sql, tool: &str) {
    sql.push(" AND (tool = ").bind(tool);
    if !tool.contains('/') {
        sql.push(" OR substr(tool, length(tool) - length(").bind(tool);
        sql.push(")) = ").bind(format!("/{tool}"));
    }
    sql.push(")");
}

/// A run that was named by its caller has an index; one that is a single call is found as its record.
fn wanted_run(sql: &mut Sql, run: &str) {
    let alone = ["rec_", run.get(4..).unwrap_or_default()].concat();
    sql.push(" AND ((run_id = ").bind(run);
    sql.push(" AND substr(run_id, 5) <> substr(record_id, 5)) OR (run_id = ").bind(run);
    sql.push(" AND record_id = ").bind(alone).push("))");
}

fn line(seq: i64, entry: Entry) -> RecordLine {
    let Entry { at, record, .. } = entry;
    let (tool, principal) = (entry::tool(&record), entry::principal(&record));
    let (summary, error) = match record.result {
        Some(result) => (Some(result.summary), result.error.map(|fault| fault.code)),
        None => (None, None),
    };
    let summary = summary.filter(|summary| !summary.is_empty());
    let Record { record_id, status, .. } = record;
    RecordLine { seq, record_id, at, tool, status, principal, summary, error }
}
