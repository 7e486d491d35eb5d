//! What runs have used up, counted by every gate on the same database together.
//!
//! What is too much is decided by whoever asks, within the write: two gates cannot both spend the
//! last of a budget.

use model::run::Spending;
use model::{Fault, Timestamp};

use crate::database::{Connection, broken};
use crate::limits;
use crate::store::Store;
use crate::writer::{Write, WriteError};

/// A run as it stands, and one call of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub spending: Spending,
    /// How often the run has made this call, and whether it failed last.
    pub made: (u64, bool),
}

impl Store {
    /// Changes what a run has used up, or refuses and leaves it as it was.
    ///
    /// The change may be tried more than once; only the last try counts.
    pub async fn spend(
        &self,
        run: &str,
        call: Option<&str>,
        change: impl Fn(&mut Turn) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Result<(), Fault> {
        self.write(Spend { run: run.to_owned(), call: call.map(str::to_owned), change }).await
    }

    /// A run and one call of it as they stand.
    pub async fn turn(&self, run: &str, call: Option<&str>) -> Result<Turn, Fault> {
        let mut reader = self.reader().await?;
        stand(&mut reader, run, call, self.now()).await.map(|(turn, _)| turn).map_err(broken)
    }

    /// What a run has used up so far; nothing for one that nobody has seen.
    pub async fn spending(&self, run: &str) -> Result<Option<Spending>, Fault> {
        let mut reader = self.reader().await?;
        find(&mut reader, run).await.map_err(broken)
    }
}

struct Spend<F> {
    run: String,
    call: Option<String>,
    change: F,
}

impl<F: Fn(&mut Turn) -> Result<(), Fault> + Send + Sync + 'static> Write for Spend<F> {
    type Done = ();
    const UNWRITTEN: &'static str = "what the run uses could not be counted, so nothing was done";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        let call = self.call.as_deref();
        let (mut turn, is_new) = stand(connection, &self.run, call, now).await?;
        let made = turn.made;
        (self.change)(&mut turn)?;
        if is_new {
            forget(connection, now).await?;
        }
        keep(connection, &self.run, &turn.spending, now).await?;
        if let Some(call) = call.filter(|_| turn.made != made) {
            keep_made(connection, &self.run, call, turn.made).await?;
        }
        Ok(())
    }
}

/// As things stand at this moment, and whether nobody has heard of the run before.
async fn stand(
    connection: &mut Connection,
    run: &str,
    call: Option<&str>,
    now: Timestamp,
) -> Result<(Turn, bool), sqlx::Error> {
    let known = find(connection, run).await?;
    let is_new = known.is_none();
    let spending = known.unwrap_or_else(|| Spending::begun(now));
    let made = match call {
        Some(call) => made(connection, run, call).await?,
        None => (0, false),
    };
    Ok((Turn { spending, made }, is_new))
}

async fn find(connection: &mut Connection, run: &str) -> Result<Option<Spending>, sqlx::Error> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT began_at, calls, writes, tokens, cost, retries, iterations, result_bytes, \
         elicitations, samples FROM runs WHERE run = $1",
    )
    .bind(run)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(Row::spending))
}

async fn made(
    connection: &mut Connection,
    run: &str,
    call: &str,
) -> Result<(u64, bool), sqlx::Error> {
    let row: Option<(i64, i64)> =
        sqlx::query_as("SELECT times, failed FROM run_calls WHERE run = $1 AND call = $2")
            .bind(run)
            .bind(call)
            .fetch_optional(connection)
            .await?;
    Ok(row.map(|(times, failed)| (count(times), failed != 0)).unwrap_or_default())
}

async fn keep(
    connection: &mut Connection,
    run: &str,
    spending: &Spending,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO runs (run, began_at, seen_at, calls, writes, tokens, cost, retries, \
         iterations, result_bytes, elicitations, samples) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (run) DO UPDATE SET seen_at = excluded.seen_at, calls = excluded.calls, \
         writes = excluded.writes, tokens = excluded.tokens, cost = excluded.cost, \
         retries = excluded.retries, iterations = excluded.iterations, \
         result_bytes = excluded.result_bytes, elicitations = excluded.elicitations, \
         samples = excluded.samples",
    )
    .bind(run)
    .bind(spending.began.as_millis())
    .bind(now.as_millis())
    .bind(long(spending.calls))
    .bind(long(spending.writes))
    .bind(long(spending.tokens))
    .bind(long(spending.cost))
    .bind(long(spending.retries))
    .bind(long(spending.iterations))
    .bind(long(spending.result_bytes))
    .bind(long(spending.elicitations))
    .bind(long(spending.samples))
    .execute(connection)
    .await?;
    Ok(())
}

async fn keep_made(
    connection: &mut Connection,
    run: &str,
    call: &str,
    (times, failed): (u64, bool),
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO run_calls (run, call, times, failed) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (run, call) DO UPDATE SET times = excluded.times, failed = excluded.failed",
    )
    .bind(run)
    .bind(call)
    .bind(long(times))
    .bind(i64::from(failed))
    .execute(connection)
    .await?;
    Ok(())
}

/// Runs that nothing was heard of for long make room when another begins.
async fn forget(connection: &mut Connection, now: Timestamp) -> Result<(), sqlx::Error> {
    let kept = i64::try_from(limits::RUN_KEPT.as_millis()).unwrap_or(i64::MAX);
    let before = now.as_millis().saturating_sub(kept);
    let calls = "DELETE FROM run_calls WHERE run IN (SELECT run FROM runs WHERE seen_at < $1)";
    for statement in [calls, "DELETE FROM runs WHERE seen_at < $1"] {
        sqlx::query(statement).bind(before).execute(&mut *connection).await?;
    }
    Ok(())
}

#[derive(sqlx::FromRow)]
struct Row {
    began_at: i64,
    calls: i64,
    writes: i64,
    tokens: i64,
    cost: i64,
    retries: i64,
    iterations: i64,
    result_bytes: i64,
    elicitations: i64,
    samples: i64,
}

impl Row {
    fn spending(self) -> Spending {
        Spending {
            began: Timestamp::from_millis(self.began_at),
            calls: count(self.calls),
            writes: count(self.writes),
            tokens: count(self.tokens),
            cost: count(self.cost),
            retries: count(self.retries),
            iterations: count(self.iterations),
            result_bytes: count(self.result_bytes),
            elicitations: count(self.elicitations),
            samples: count(self.samples),
        }
    }
}

fn long(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(long: i64) -> u64 {
    u64::try_from(long).unwrap_or_default()
}
