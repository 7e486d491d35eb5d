//! The chain of entries: each carries the hash of the one before it.
//!
//! The hash is over the body as it is stored, not over its canonical form: RFC 8785 rounds integers
//! beyond 2^53, and a changed account number must not pass. Who walks the chain stands elsewhere.

use std::sync::{Arc, LazyLock};

use model::canonical;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection as _, Encode, SqliteConnection, Type};

use crate::database::Connection;
use crate::entry::Columns;
use crate::text::Text;
use crate::{failpoint, limits};

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

/// An entry that has its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) seq: i64,
    pub(crate) columns: Columns<Text>,
    pub(crate) body: Text,
    pub(crate) prev_hash: Text,
    pub(crate) hash: Text,
}

/// Gives these their places after `head`, which is then the last of them.
pub(crate) fn place<'d>(
    head: &mut Link,
    drafts: impl IntoIterator<Item = (&'d Columns<Text>, &'d Text)>,
) -> Vec<Placed> {
    let mut last = Text::from(head.hash.as_str());
    let mut placed = Vec::new();
    for (columns, body) in drafts {
        *head = head.next(body.as_str());
        let hash = Text::from(head.hash.as_str());
        let prev_hash = std::mem::replace(&mut last, hash.clone());
        let (columns, body) = (columns.clone(), body.clone());
        placed.push(Placed { seq: head.seq, columns, body, prev_hash, hash });
    }
    placed
}

/// Puts the entries into the database, many by one statement.
pub(crate) async fn append(
    connection: &mut Connection,
    places: Places,
    entries: &[Placed],
) -> Result<(), sqlx::Error> {
    for rows in entries.chunks(limits::ROWS_MAX) {
        if let Some(insert) = bound::<sqlx::Any>(places, rows.iter().cloned()) {
            insert.execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// Puts the entries into SQLite, all or none.
pub(crate) async fn file(
    connection: &mut SqliteConnection,
    entries: Vec<Placed>,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let mut entries = entries.into_iter();
    while let Some(insert) =
        bound::<sqlx::Sqlite>(Places::Bare, entries.by_ref().take(limits::ROWS_MAX))
    {
        insert.execute(&mut *transaction).await?;
    }
    failpoint::write("filing.written")?;
    transaction.commit().await
}

/// The statement for these rows, with their values.
fn bound<DB: sqlx::Database>(
    places: Places,
    rows: impl ExactSizeIterator<Item = Placed>,
) -> Option<Query<'static, DB, DB::Arguments>>
where
    Text: Encode<'static, DB> + Type<DB>,
    i64: Encode<'static, DB> + Type<DB>,
{
    let texts = match places {
        Places::Bare => &BARE,
        Places::Numbered => &NUMBERED,
    };
    let text = texts.get(rows.len()).filter(|_| rows.len() > 0)?;
    let mut insert = sqlx::query(AssertSqlSafe(Arc::clone(text)));
    for Placed { seq, columns, body, prev_hash, hash } in rows {
        let Columns { record_id, call_id, phase, at, tool, status, principal, run_id } = columns;
        insert = insert.bind(seq).bind(record_id).bind(call_id).bind(phase).bind(at);
        insert = insert.bind(tool).bind(status).bind(principal).bind(run_id);
        insert = insert.bind(body).bind(prev_hash).bind(hash);
    }
    Some(insert)
}

/// Whether the insertion failed because the chain has gone on without us.
pub(crate) fn is_stale(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// Whether an entry with just this body is in the chain.
pub(crate) async fn has(
    connection: &mut Connection,
    columns: &Columns<Text>,
    body: &Text,
) -> Result<bool, sqlx::Error> {
    let found: Option<i64> = sqlx::query_scalar(
        "SELECT seq FROM entries WHERE record_id = $1 AND phase = $2 AND body = $3",
    )
    .bind(columns.record_id.as_str())
    .bind(columns.phase.as_str())
    .bind(body.as_str())
    .fetch_optional(connection)
    .await?;
    Ok(found.is_some())
}

/// Whether the opening of this record is in the database.
pub(crate) async fn is_opened(
    connection: &mut Connection,
    record_id: &str,
) -> Result<bool, sqlx::Error> {
    let found: Option<i64> =
        sqlx::query_scalar("SELECT seq FROM entries WHERE record_id = $1 AND phase = 'open'")
            .bind(record_id)
            .fetch_optional(connection)
            .await?;
    Ok(found.is_some())
}

/// What stands at this place of the chain, by its hash.
pub(crate) async fn hash_at(
    connection: &mut Connection,
    seq: i64,
) -> Result<Option<String>, sqlx::Error> {
    let hash = sqlx::query_scalar("SELECT hash FROM entries WHERE seq = $1");
    hash.bind(seq).fetch_optional(connection).await
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
