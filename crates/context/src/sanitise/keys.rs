//! Cleans the keys of one object without losing an entry.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::Cleaner;

/// Keys that become equal keep both values: the later one gets `~2`, `~3`.
pub(super) fn clean_keys(fields: &mut Map<String, Value>, cleaner: &Cleaner<'_>) -> u64 {
    let is_dirty = |key: &str| matches!(cleaner.text(key), Cow::Owned(_));
    let dirty = fields.keys().filter(|key| is_dirty(key)).count();
    if dirty > 0 {
        let mut taken = fields.keys().filter(|key| !is_dirty(key)).cloned().collect();
        let mut counts = BTreeMap::new();
        let entries = std::mem::take(fields).into_iter();
        *fields = entries
            .map(|(key, value)| match cleaner.text(&key) {
                Cow::Borrowed(_) => (key, value),
                Cow::Owned(cleaned) => (free_key(cleaned, &mut taken, &mut counts), value),
            })
            .collect();
    }
    dirty as u64
}

/// The key itself, or with `~2`, `~3` when another entry has it. The counts keep this linear.
fn free_key(
    clean: String,
    taken: &mut BTreeSet<String>,
    counts: &mut BTreeMap<String, u64>,
) -> String {
    if taken.insert(clean.clone()) {
        return clean;
    }
    let count = counts.entry(clean.clone()).or_insert(1);
    loop {
        *count += 1;
        let key = format!("{clean}~{count}");
        if taken.insert(key.clone()) {
            return key;
        }
    }
}
