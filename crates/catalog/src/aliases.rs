//! Every name a caller may use, and the one entry it means. A name two entries share means none.

use std::borrow::Cow;
use std::collections::HashMap;

/// Built in tiers: a name settled in one tier is out of reach for the later ones, so that an
/// upstream cannot blur the name of another's tool by calling its own the same.
#[derive(Debug, Default)]
pub(crate) struct Aliases(HashMap<String, Option<usize>>);

impl Aliases {
    /// Adds names of equal rank.
    pub(crate) fn add_tier<'a>(&mut self, names: impl Iterator<Item = (Cow<'a, str>, usize)>) {
        let mut tier: HashMap<String, Option<usize>> = HashMap::new();
        for (name, entry) in names.filter(|(name, _)| !self.0.contains_key(name.as_ref())) {
            let meaning = tier.entry(name.into_owned()).or_insert(Some(entry));
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
        let mut add = |tier: &[(&'static str, usize)]| {
            aliases.add_tier(tier.iter().map(|(name, entry)| (Cow::Borrowed(*name), *entry)));
        };
        add(&[("shown", 0), ("other", 1)]);
        add(&[("shown", 1), ("both", 0), ("both", 1), ("same", 1), ("same", 1)]);
        add(&[("both", 0)]);
        let check = |name: &str, expected| assert_eq!(aliases.resolve(name), expected, "{name}");
        check("shown", Some(0));
        check("other", Some(1));
        check("both", None);
        check("same", Some(1));
        check("absent", None);
    }
}
