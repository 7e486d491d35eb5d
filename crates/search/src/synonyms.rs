//! Words of tools that people use for one another. Written for this project; English only.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::words::stem;

/// Other folded words for a folded word, in the order of the list.
pub(crate) fn synonyms(stem: &str) -> &'static [Box<str>] {
    GROUPS.get(stem).map(Vec::as_slice).unwrap_or_default()
}

static GROUPS: LazyLock<HashMap<Box<str>, Vec<Box<str>>>> = LazyLock::new(|| {
    let mut groups: HashMap<Box<str>, Vec<Box<str>>> = HashMap::new();
    for line in include_str!("../data/synonyms.txt").lines() {
        let stems: Vec<Box<str>> =
            line.split_whitespace().map(|word| stem(word).into_owned().into()).collect();
        for one in &stems {
            let others = groups.entry(one.clone()).or_default();
            for other in stems.iter().filter(|other| *other != one) {
                if !others.contains(other) {
                    others.push(other.clone());
                }
            }
        }
    }
    groups
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_say_it_in_other_words() {
        let check = |word: &str, other: &str| {
            let found = synonyms(&stem(word)).iter().any(|one| **one == *stem(other));
            assert!(found, "{word} {other}");
        };
        check("remove", "delete");
        check("folders", "directory");
        check("film", "movies");
        assert_eq!(synonyms("zebra"), &[] as &[Box<str>]);
    }
}
