//! Walking the chain: is every entry as it was written, where it was written, and is none missing?

use std::collections::BTreeMap;
use std::path::Path;

use model::Fault;
use serde::Serialize;

use crate::chain::{Link, hash};
use crate::checkpoints::{self, Checkpoint, Word};
use crate::database::{Connection, broken};
use crate::entry::{self, Columns};
use crate::forms::Shelf;
use crate::limits;
use crate::seal::PublicKey;
use crate::store::Store;

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
        let mut said = checkpoints::all(&mut reader).await?;
        said.extend(witnesses.checkpoints.iter().cloned());
        let mut walk = Walk::begin(said, &witnesses.keys);
        let mut shelf = Shelf::default();
        loop {
            let page = page_after(&mut reader, walk.last.seq).await?;
            if page.is_empty() {
                return Ok(walk.end());
            }
            for row in page {
                let form = shelf.form_of(&row.body, &mut reader).await?;
                if let Err(damage) = walk.step(&row, form.as_deref()) {
                    return Ok(walk.report(Some(damage)));
                }
            }
        }
    }
}

/// How far the walk has come.
struct Walk {
    last: Link,
    purged: i64,
    /// What is said about entries, and whether a key at hand has said it.
    said: BTreeMap<i64, Vec<(Checkpoint, Option<bool>)>>,
    checkpoints: u64,
    unknown_keys: u64,
}

impl Walk {
    /// From the last purge that a key at hand has signed, or from the first entry there ever was.
    ///
    /// Whoever can write the database can write a purge into it; only a signature tells.
    fn begin(all: Vec<Checkpoint>, keys: &[PublicKey]) -> Self {
        let mut said: BTreeMap<i64, Vec<_>> = BTreeMap::new();
        for checkpoint in all {
            let signed = keys.iter().find_map(|key| checkpoint.is_signed_by(key));
            let about = said.entry(checkpoint.seq).or_default();
            if !about.iter().any(|(known, _)| *known == checkpoint) {
                about.push((checkpoint, signed));
            }
        }
        let purge = said
            .values()
            .flatten()
            .rev()
            .find(|(said, signed)| said.kind == Word::Purge && *signed == Some(true));
        let last = purge.map_or_else(Link::genesis, |(purge, _)| Link {
            seq: purge.seq,
            hash: purge.hash.clone(),
        });
        Self { purged: last.seq, last, said, checkpoints: 0, unknown_keys: 0 }
    }

    fn step(&mut self, row: &Row, form: Option<&str>) -> Result<(), Damage> {
        let next = row.check(&self.last, form).map_err(|damage| self.gone(damage))?;
        for (checkpoint, signed) in self.said.get(&next.seq).into_iter().flatten() {
            match signed {
                Some(false) => return Err(Damage::Forged),
                _ if checkpoint.hash != next.hash => return Err(Damage::Changed),
                Some(true) => self.checkpoints += 1,
                None => self.unknown_keys += 1,
            }
        }
        self.last = next;
        Ok(())
    }

    /// Entries that are not there may have been signed away, by somebody nobody here knows.
    fn gone(&mut self, damage: Damage) -> Damage {
        if damage != Damage::Deleted && damage != Damage::Truncated {
            return damage;
        }
        let beyond = self.said.range(self.last.seq + 1..).flat_map(|(_, said)| said);
        let purges: Vec<_> = beyond.filter(|(said, _)| said.kind == Word::Purge).collect();
        self.unknown_keys += purges.iter().filter(|(_, signed)| signed.is_none()).count() as u64;
        if purges.is_empty() { damage } else { Damage::Forged }
    }

    /// Whatever is said about entries beyond the last one says that they were there.
    fn end(mut self) -> ChainReport {
        let cut = self.said.range(self.last.seq + 1..).next().is_some();
        let damage = cut.then(|| self.gone(Damage::Truncated));
        self.report(damage)
    }

    fn report(&self, damage: Option<Damage>) -> ChainReport {
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        ChainReport {
            entries: count(self.last.seq - self.purged),
            purged: count(self.purged),
            head: self.last.hash.clone(),
            checkpoints: self.checkpoints,
            unknown_keys: self.unknown_keys,
            first_bad: damage.map(|_| self.last.seq + 1),
            damage,
        }
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    seq: i64,
    #[sqlx(flatten)]
    columns: Columns<String>,
    body: String,
    prev_hash: String,
    hash: String,
}

impl Row {
    /// This entry's place, if it is as it was written after `last`.
    fn check(&self, last: &Link, form: Option<&str>) -> Result<Link, Damage> {
        let next = last.next(&self.body);
        if self.seq != next.seq {
            return Err(Damage::Deleted);
        }
        if self.prev_hash != last.hash && self.hash == hash(&self.prev_hash, &self.body) {
            return Err(Damage::Moved);
        }
        let linked = self.prev_hash == last.hash && self.hash == next.hash;
        let told = entry::told(&self.body, form).as_ref() == Some(&self.columns);
        if linked && told { Ok(next) } else { Err(Damage::Changed) }
    }
}

async fn page_after(connection: &mut Connection, seq: i64) -> Result<Vec<Row>, Fault> {
    sqlx::query_as("SELECT * FROM entries WHERE seq > $1 ORDER BY seq LIMIT $2")
        .bind(seq)
        .bind(limits::CHAIN_PAGE)
        .fetch_all(connection)
        .await
        .map_err(broken)
}
