//! Names a client can send: letters, digits, `_` and `-`, at most 64 of them, no two the same.

use std::collections::BTreeSet;

use crate::limits::NAME_CHARS_MAX;

/// The legal form of `text`; empty if nothing of it can stay.
pub(crate) fn legal(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '-' || (c == '_' && !name.is_empty()) {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    name.truncate(NAME_CHARS_MAX);
    name.trim_end_matches('_').to_owned()
}

/// The name itself, or with the first free suffix `_2`, `_3`, … It is then taken.
pub(crate) fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut number = 1_usize;
    while taken.contains(&candidate) {
        number += 1;
        let suffix = format!("_{number}");
        let kept = NAME_CHARS_MAX.saturating_sub(suffix.len());
        candidate = name.chars().take(kept).chain(suffix.chars()).collect();
    }
    taken.insert(candidate.clone());
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_made_legal() {
        let check = |text: &str, expected: &str| assert_eq!(legal(text), expected);
        check("listPets", "listPets");
        check("get_/pets/{petId}", "get_pets_petId");
        check("Zażółć gęś", "Za_g");
        check("repos/list-for-org", "repos_list-for-org");
        check("filter[status]", "filter_status");
        check("__x__", "x");
        check("日本", "");
    }

    proptest! {
        #[test]
        fn names_are_legal_and_differ(texts in proptest::collection::vec(".{0,80}", 0..40)) {
            let mut taken = BTreeSet::new();
            for text in &texts {
                let name = unique(&legal(text), &mut taken);
                prop_assert!(name.len() <= NAME_CHARS_MAX);
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)));
            }
            prop_assert_eq!(taken.len(), texts.len());
        }
    }
}
