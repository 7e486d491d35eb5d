//! What is said about the chain, in the database and beside it, and who has signed it.

use std::collections::BTreeMap;

use crate::chain::Link;
use crate::checkpoints::{Checkpoint, Word};
use crate::seal::PublicKey;

/// By the entry it is about, each with whether a key at hand has signed it; of a key that is not at hand
/// nobody can tell.
pub(super) struct Said(BTreeMap<i64, Vec<(Checkpoint, Option<bool>)>>);

impl Said {
    pub(super) fn of(all: Vec<Checkpoint>, keys: &[PublicKey]) -> Self {
        let mut said: BTreeMap<i64, Vec<_>> = BTreeMap::new();
        for checkpoint in all {
            let signed = keys.iter().find_map(|key| checkpoint.is_signed_by(key));
            let about = said.entry(checkpoint.seq).or_default();
            if !about.iter().any(|(known, _)| *known == checkpoint) {
                about.push((checkpoint, signed));
            }
        }
        Self(said)
    }

    /// Where the last purge ended that a key at hand has signed.
    ///
    /// Whoever can write the database can write a purge into it; only a signature tells.
    pub(super) fn last_purge(&self) -> Option<Link> {
        let mut said = self.0.values().rev().flatten();
        said.find(|(said, signed)| said.kind == Word::Purge && *signed == Some(true)).map(link)
    }

    /// What a key at hand has signed of this entry.
    pub(super) fn signed(&self, seq: i64) -> Option<Link> {
        self.about(seq).find(|(_, signed)| *signed == Some(true)).map(link)
    }

    pub(super) fn about(&self, seq: i64) -> impl Iterator<Item = &(Checkpoint, Option<bool>)> {
        self.0.get(&seq).into_iter().flatten()
    }

    pub(super) fn says_anything_after(&self, seq: i64) -> bool {
        self.0.range(seq + 1..).next().is_some()
    }

    /// Purges of later entries that no key at hand has signed, each with whether one should have.
    pub(super) fn strange_purges_after(&self, seq: i64) -> impl Iterator<Item = Option<bool>> {
        let said = self.0.range(seq + 1..).flat_map(|(_, said)| said);
        said.filter(|(said, signed)| said.kind == Word::Purge && *signed != Some(true))
            .map(|(_, signed)| *signed)
    }
}

fn link((said, _): &(Checkpoint, Option<bool>)) -> Link {
    Link { seq: said.seq, hash: said.hash.clone() }
}
