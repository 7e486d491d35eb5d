//! What was seen, over all rounds.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub struct Score {
    pub acknowledged: u64,
    pub effects: u64,
    pub unheard: u64,
    /// Calls that were made again after the gate they were made at had died.
    pub again: u64,
    /// Calls that somebody had said yes to, and that were made.
    pub allowed: u64,
    pub faults: BTreeMap<String, u64>,
    pub deaths: u64,
    /// Places where a gate has died, or one of its writes failed.
    pub places: BTreeSet<&'static str>,
}

impl Score {
    pub(super) fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.effects += other.effects;
        self.unheard += other.unheard;
        self.again += other.again;
        self.allowed += other.allowed;
        self.deaths += other.deaths;
        self.places.extend(&other.places);
        for (code, count) in &other.faults {
            *self.faults.entry(code.clone()).or_default() += count;
        }
    }
}
