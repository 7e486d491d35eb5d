//! Every name a caller may use, and the one entry it means. A name two entries share means none.

use std::collections::HashMap;

/// Built in tiers: a name settled in one tier is out of reach for the later ones, so that an
/// upstream cannot blur the name of another's tool by calling its own the same.
#[derive(Debug, Default)]
pub(crate) struct Aliases(HashMap<String, Option<usize>>);

impl Aliases {
    /// Adds names of equal rank.
    pub(crate) fn add_tier<'a>(&mut self, names: impl Iterator<Item = (&'a str, usize)>) {
        let mut tier: HashMap<String, Option<usize>> = HashMap::new();
        for (name, entry) in names.filter(|(name, _)| !self.0.contains_key(*name)) {
            let meaning = tier.entry(name.to_owned()).or_insert(Some(entry));
            if *meaning != Some(entry) {
                *meaning = None;
            }
        }
        self.0.extend(tier);
    }

    pub(crate) fn resolve(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_name_means_nothing_and_an_earlier_tier_wins() {
        let mut aliases = Aliases::default();
        aliases.add_tier([("shown", 0), ("other", 1)].into_iter());
        aliases.add_tier(
            [("shown", 1), ("both", 0), ("both", 1), ("same", 1), ("same", 1)].into_iter(),
        );
        aliases.add_tier([("both", 0)].into_iter());
        let check = |name: &str, expected| assert_eq!(aliases.resolve(name), expected, "{name}");
        check("shown", Some(0));
        check("other", Some(1));
        check("both", None);
        check("same", Some(1));
        check("absent", None);
    }
}
