//! Walking the chain: is every entry as it was written, where it was written, and is none missing?

mod said;
mod walk;

use std::path::Path;

use model::Fault;
use serde::Serialize;

use crate::chain::Link;
use crate::checkpoints::{self, Checkpoint};
use crate::database::{Connection, broken};
use crate::forms::Shelf;
use crate::seal::PublicKey;
use crate::store::Store;
use said::Said;
use walk::Walk;

/// What a walk along the chain found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// Entries that are as they were written, counted from the first that is kept.
    pub entries: u64,
    /// Entries that were removed for their age before those.
    pub purged: u64,
    /// The hash of the last sound entry. Noted elsewhere, it proves that nothing was cut off.
    pub head: String,
    /// Checkpoints that a known key has signed and the chain bears out.
    pub checkpoints: u64,
    /// Checkpoints of keys that were not at hand.
    pub unknown_keys: u64,
    /// The first entry that was changed, moved, removed or cut off.
    pub first_bad: Option<i64>,
    /// What was done to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
}

/// What can be done to the history behind the database's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// Its body, its hash, a column or the form it names is not what was written.
    Changed,
    /// It is not there, and later ones are.
    Deleted,
    /// It is whole, and stands where another was written.
    Moved,
    /// A checkpoint knows of it, and the chain ends before it.
    Truncated,
    /// A checkpoint about it bears a signature its key did not make, or it is gone and no key at hand
    /// has signed it away.
    Forged,
}

/// What to hold the chain against, beside itself.
#[derive(Clone, Debug, Default)]
pub struct Witnesses {
    pub keys: Vec<PublicKey>,
    /// Checkpoints kept outside the database.
    pub checkpoints: Vec<Checkpoint>,
}

impl Witnesses {
    /// The key and the checkpoints in the data folder.
    pub fn beside(dir: &Path) -> Self {
        let file = std::fs::read_to_string(dir.join(checkpoints::FILE)).unwrap_or_default();
        Self { keys: PublicKey::of(dir).into_iter().collect(), checkpoints: read(&file) }
    }

    /// Adds the lines of a copy of `checkpoints.jsonl`.
    pub fn add(&mut self, copy: &str) {
        self.checkpoints.extend(read(copy));
    }
}

/// A line that was torn by a crash says nothing.
fn read(lines: &str) -> Vec<Checkpoint> {
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

impl Store {
    /// Checks the chain with what lies in the data folder.
    pub async fn verify_chain(&self) -> Result<ChainReport, Fault> {
        self.verify_against(&Witnesses::beside(self.dir())).await
    }

    /// Reads every entry and checks its hash, its place, its columns, and every checkpoint.
    pub async fn verify_against(&self, witnesses: &Witnesses) -> Result<ChainReport, Fault> {
        let mut reader = self.reader_of_entries().await?;
        let mut first = before_first(&mut reader).await?;
        loop {
            let report = look(&mut reader, first.as_ref(), witnesses).await?;
            let now = before_first(&mut reader).await?;
            let moved = now.as_ref().map(|link| link.seq) > first.as_ref().map(|link| link.seq);
            // What a purge has taken from under our feet is no damage.
            if report.damage.is_none() || !moved {
                return Ok(report);
            }
            first = now;
        }
    }
}

async fn look(
    reader: &mut Connection,
    first: Option<&Link>,
    witnesses: &Witnesses,
) -> Result<ChainReport, Fault> {
    let mut all = checkpoints::all(reader).await?;
    all.extend(witnesses.checkpoints.iter().cloned());
    let mut walk = Walk::begin(Said::of(all, &witnesses.keys), first);
    let mut shelf = Shelf::default();
    loop {
        let page = walk::page_after(reader, walk.place()).await?;
        if page.is_empty() {
            return Ok(walk.end());
        }
        for row in page {
            let form = shelf.form_of(&row.body, reader).await?;
            if let Err(damage) = walk.step(&row, form.as_deref()) {
                return Ok(walk.report(Some(damage)));
            }
        }
    }
}

/// The place before the first entry, as that entry has it.
async fn before_first(connection: &mut Connection) -> Result<Option<Link>, Fault> {
    sqlx::query_as("SELECT seq - 1 AS seq, prev_hash AS hash FROM entries ORDER BY seq LIMIT 1")
        .fetch_optional(connection)
        .await
        .map_err(broken)
}
