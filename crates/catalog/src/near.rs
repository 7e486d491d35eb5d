//! Which tools somebody may have meant by a name that means none.

use std::sync::Arc;

use crate::browse::near_names;
use crate::entry::Entry;
use crate::generation::Catalogue;
use crate::limits;

impl Catalogue {
    /// Shown names of tools among those seen: the ones called so by their upstreams, else those that
    /// differ in case alone, else those that read like it. Nothing is chosen.
    ///
    /// `seen` tells of each entry whether it may be named.
    pub fn near(&self, name: &str, seen: &[bool]) -> Vec<String> {
        let entries = self.entries().iter().zip(seen);
        let seen: Vec<&Arc<Entry>> =
            entries.filter_map(|(entry, seen)| seen.then_some(entry)).collect();
        let own = shown(&seen, |entry| entry.item.name == name);
        if !own.is_empty() {
            return own;
        }
        let folded = name.to_lowercase();
        let same = |other: &str| other.to_lowercase() == folded;
        let alike = shown(&seen, |entry| same(&entry.item.name) || same(&entry.shown_name));
        if alike.is_empty() { near_names(name, &seen) } else { alike }
    }
}

fn shown(seen: &[&Arc<Entry>], is_meant: impl Fn(&Entry) -> bool) -> Vec<String> {
    let meant = seen.iter().filter(|entry| is_meant(entry));
    meant.take(limits::NEAR_MAX).map(|entry| entry.shown_name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generation::Source;
    use crate::shown::Naming;
    use model::{Generation, UpstreamName};
    use serde_json::json;

    fn source(upstream: &str, tools: &[&str]) -> Source {
        let definition = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
        Source {
            upstream: UpstreamName::from_string(upstream),
            protocol: "mcp",
            namespace: None,
            definitions: tools.iter().map(definition).collect(),
            manifest: None,
            extras: crate::Extras::default(),
        }
    }

    #[test]
    fn candidates_are_named_and_hidden_ones_are_not() {
        let sources = vec![source("one", &["a", "create_issue"]), source("two", &["a"])];
        let catalogue = Catalogue::build(Generation(1), sources, Naming::Wire);
        let check = |name: &str, seen: [bool; 3], expected: &[&str]| {
            assert_eq!(catalogue.near(name, &seen), expected, "{name}");
        };
        check("a", [true; 3], &["mcp__one__a", "mcp__two__a"]);
        check("a", [true, true, false], &["mcp__one__a"]);
        check("Create_Issue", [true; 3], &["mcp__one__create_issue"]);
        check("create_isue", [true; 3], &["mcp__one__create_issue"]);
        check("create_isue", [true, false, true], &[]);
        check("zebra", [true; 3], &[]);
    }
}
