//! Every name a caller may use, and the one entry it means. A name two entries share means none.

use std::hash::{BuildHasher as _, RandomState};

/// Names stand here as hashes under a key of their own: a large catalogue has many names, and each
/// is kept as text at its entry already.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    key: RandomState,
    /// In order of the hashes, each once.
    meanings: Vec<(u64, u32)>,
}

impl Aliases {
    /// Of names in tiers: a name settled in one tier is out of reach for the later ones, so that an
    /// upstream cannot blur the name of another's tool by calling its own the same.
    pub(crate) fn new(names: impl Iterator<Item = (usize, impl AsRef<str>, usize)>) -> Self {
        let key = RandomState::new();
        let number = |entry: usize| u32::try_from(entry).unwrap_or(u32::MAX);
        let mut all: Vec<(u64, usize, u32)> = names
            .map(|(tier, name, entry)| (key.hash_one(name.as_ref()), tier, number(entry)))
            .collect();
        all.sort_unstable();
        all.dedup();
        let groups = all.chunk_by(|one, next| one.0 == next.0).filter_map(meaning);
        Self { meanings: groups.collect(), key }
    }

    /// The entry a name can mean, if any. Warning: whether it goes by that very name is left to the
    /// caller to see.
    pub(crate) fn resolve(&self, name: &str) -> Option<usize> {
        let hash = self.key.hash_one(name);
        let at = self.meanings.binary_search_by_key(&hash, |(other, _)| *other).ok()?;
        self.meanings.get(at).and_then(|(_, entry)| usize::try_from(*entry).ok())
    }
}

/// Of one name's rows, in order of their tiers, each once.
fn meaning(rows: &[(u64, usize, u32)]) -> Option<(u64, u32)> {
    let (hash, tier, entry) = *rows.first()?;
    let is_shared = rows.get(1).is_some_and(|(_, other, _)| *other == tier);
    (!is_shared).then_some((hash, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_name_means_nothing_and_an_earlier_tier_wins() {
        let tiers: [&[(&str, usize)]; 3] = [
            &[("shown", 0), ("other", 1)],
            &[("shown", 1), ("both", 0), ("both", 1), ("same", 1), ("same", 1)],
            &[("both", 0)],
        ];
        let rows = tiers.iter().enumerate();
        let rows = rows.flat_map(|(tier, names)| names.iter().map(move |(n, e)| (tier, *n, *e)));
        let aliases = Aliases::new(rows);
        let check = |name: &str, expected| assert_eq!(aliases.resolve(name), expected, "{name}");
        check("shown", Some(0));
        check("other", Some(1));
        check("both", None);
        check("same", Some(1));
        check("absent", None);
    }
}
