//! One walk along the chain, entry by entry.

use model::Fault;

use super::{ChainReport, Damage, Said};
use crate::chain::{Link, hash};
use crate::database::{Connection, broken};
use crate::entry::{self, Columns};
use crate::limits;

/// How far the walk has come.
pub(super) struct Walk {
    last: Link,
    purged: i64,
    said: Said,
    checkpoints: u64,
    unknown_keys: u64,
}

impl Walk {
    /// From the last purge that a key at hand has signed, or from the first entry there ever was.
    ///
    /// What is signed away and still there is walked, too, from whatever the first of it says was before:
    /// it must lead to what was signed.
    pub(super) fn begin(said: Said, first: Option<&Link>) -> Self {
        let last = match (said.last_purge(), first) {
            (Some(purge), Some(first)) if first.seq < purge.seq => match first.seq {
                0 => Link::genesis(),
                seq => said.signed(seq).unwrap_or_else(|| first.clone()),
            },
            (Some(purge), _) => purge,
            (None, _) => Link::genesis(),
        };
        Self { purged: last.seq, last, said, checkpoints: 0, unknown_keys: 0 }
    }

    pub(super) fn place(&self) -> i64 {
        self.last.seq
    }

    pub(super) fn step(&mut self, row: &Row, form: Option<&str>) -> Result<(), Damage> {
        let next = row.check(&self.last, form).map_err(|damage| self.gone(damage))?;
        for (checkpoint, signed) in self.said.about(next.seq) {
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
        let strangers: Vec<_> = self.said.strange_purges_after(self.last.seq).collect();
        self.unknown_keys += strangers.iter().filter(|signed| signed.is_none()).count() as u64;
        if strangers.is_empty() { damage } else { Damage::Forged }
    }

    /// Whatever is said about entries beyond the last one says that they were there.
    pub(super) fn end(mut self) -> ChainReport {
        let cut = self.said.says_anything_after(self.last.seq);
        let damage = cut.then(|| self.gone(Damage::Truncated));
        self.report(damage)
    }

    pub(super) fn report(&self, damage: Option<Damage>) -> ChainReport {
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
pub(super) struct Row {
    seq: i64,
    #[sqlx(flatten)]
    columns: Columns<String>,
    pub(super) body: String,
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

pub(super) async fn page_after(connection: &mut Connection, seq: i64) -> Result<Vec<Row>, Fault> {
    sqlx::query_as("SELECT * FROM entries WHERE seq > $1 ORDER BY seq LIMIT $2")
        .bind(seq)
        .bind(limits::CHAIN_PAGE)
        .fetch_all(connection)
        .await
        .map_err(broken)
}
