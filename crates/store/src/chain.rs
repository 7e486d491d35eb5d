//! The chain of entries: each carries the hash of the one before it.
//!
//! The hash is over the body as it is stored, not over its canonical form: RFC 8785 rounds integers
//! beyond 2^53, and a changed account number must not pass. Who walks the chain stands elsewhere.

use std::sync::{Arc, LazyLock};

use futures_util::TryStreamExt as _;
use model::canonical;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Encode, Executor as _, SqliteConnection, Type};

use crate::database::Connection;
use crate::entry::{Columns, Draft};
use crate::limits;
use crate::text::Text;

const COLUMNS: usize = 12;

/// A place in the chain.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Link {
    pub(crate) seq: i64,
    pub(crate) hash: String,
}

impl Link {
    /// Before the first entry.
    pub(crate) fn genesis() -> Self {
        Self { seq: 0, hash: "0".repeat(64) }
    }

    pub(crate) fn next(&self, body: &str) -> Self {
        Self { seq: self.seq + 1, hash: hash(&self.hash, body) }
    }
}

pub(crate) fn hash(previous: &str, body: &str) -> String {
    canonical::hash_parts(&[previous.as_bytes(), body.as_bytes()])
}

pub(crate) async fn head(connection: &mut Connection) -> Result<Link, sqlx::Error> {
    let head = sqlx::query_as("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1");
    Ok(head.fetch_optional(connection).await?.unwrap_or_else(Link::genesis))
}

/// Adds the drafts after `head`, many by one statement, and returns the new head.
pub(crate) async fn append(
    connection: &mut Connection,
    places: Places,
    mut head: Link,
    drafts: &[&Draft],
) -> Result<Link, sqlx::Error> {
    for rows in drafts.chunks(limits::ROWS_MAX) {
        if let Some(insert) = bound::<sqlx::Any>(places, &mut head, rows) {
            insert.execute(&mut *connection).await?;
        }
    }
    Ok(head)
}

/// Adds the drafts after `head` by one statement, which is a transaction by itself.
pub(crate) async fn append_alone(
    connection: &mut SqliteConnection,
    mut head: Link,
    drafts: &[&Draft],
) -> Result<Link, sqlx::Error> {
    if let Some(insert) = bound::<sqlx::Sqlite>(Places::Bare, &mut head, drafts) {
        // SQLite speaks up once it has committed; that it tidies up then need not be waited for.
        let committed = connection.fetch_many(insert).try_next().await?;
        committed.ok_or(sqlx::Error::WorkerCrashed)?;
    }
    Ok(head)
}

/// The statement for these rows, with their values; `head` is then the last of them.
fn bound<DB: sqlx::Database>(
    places: Places,
    head: &mut Link,
    rows: &[&Draft],
) -> Option<Query<'static, DB, DB::Arguments>>
where
    Text: Encode<'static, DB> + Type<DB>,
    i64: Encode<'static, DB> + Type<DB>,
{
    let texts = match places {
        Places::Bare => &BARE,
        Places::Numbered => &NUMBERED,
    };
    let text = texts.get(rows.len()).filter(|_| !rows.is_empty())?;
    let mut insert = sqlx::query(AssertSqlSafe(Arc::clone(text)));
    let mut last = Text::from(head.hash.as_str());
    for draft in rows {
        let Draft { columns, body, form: _ } = draft;
        let Columns { record_id, call_id, phase, at, tool, status, principal, run_id } =
            columns.clone();
        *head = head.next(body.as_str());
        let hash = Text::from(head.hash.as_str());
        insert = insert.bind(head.seq).bind(record_id).bind(call_id).bind(phase).bind(at);
        insert = insert.bind(tool).bind(status).bind(principal).bind(run_id);
        insert = insert.bind(body.clone()).bind(last).bind(hash.clone());
        last = hash;
    }
    Some(insert)
}

/// Whether the insertion failed because the chain has gone on without us.
pub(crate) fn is_stale(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// Whether this very entry is in the chain.
pub(crate) async fn has(connection: &mut Connection, draft: &Draft) -> Result<bool, sqlx::Error> {
    let found: Option<i64> = sqlx::query_scalar(
        "SELECT seq FROM entries WHERE record_id = $1 AND phase = $2 AND body = $3",
    )
    .bind(draft.columns.record_id.as_str())
    .bind(draft.columns.phase.as_str())
    .bind(draft.body.as_str())
    .fetch_optional(connection)
    .await?;
    Ok(found.is_some())
}

/// How the places of a statement's values are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// `?`, which SQLite need not look up by name, one among hundreds, for each value.
    Bare,
    /// `$1`, all that PostgreSQL understands.
    Numbered,
}

/// The statement for each number of rows, so that the database meets the same texts again.
static BARE: LazyLock<Vec<Arc<str>>> = LazyLock::new(|| inserts(Places::Bare));
static NUMBERED: LazyLock<Vec<Arc<str>>> = LazyLock::new(|| inserts(Places::Numbered));

fn inserts(places: Places) -> Vec<Arc<str>> {
    (0..=limits::ROWS_MAX).map(|rows| insert(rows, places).into()).collect()
}

fn insert(rows: usize, places: Places) -> String {
    let mut text = "INSERT INTO entries (seq, record_id, call_id, phase, at, tool, status, \
                    principal, run_id, body, prev_hash, hash) VALUES "
        .to_owned();
    for place in 0..rows * COLUMNS {
        let before = match place {
            0 => "(",
            place if place % COLUMNS == 0 => "), (",
            _ => ", ",
        };
        text.push_str(before);
        match places {
            Places::Bare => text.push('?'),
            Places::Numbered => text.extend(["$", &(place + 1).to_string()]),
        }
    }
    text.push(')');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rows_have_twenty_four_places() {
        let text = insert(2, Places::Numbered);
        assert!(text.contains("VALUES ($1, $2,"), "{text}");
        assert!(text.contains(", $12), ($13, "), "{text}");
        assert!(text.ends_with(", $24)"), "{text}");
        assert_eq!(insert(2, Places::Bare).matches('?').count(), 24);
    }

    #[test]
    fn a_link_depends_on_all_before_it() {
        let first = Link::genesis().next("a");
        assert_eq!(first.seq, 1);
        assert_ne!(first.next("b").hash, Link::genesis().next("x").next("b").hash);
    }
}
