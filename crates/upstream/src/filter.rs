//! Which of an upstream's tools are let in, by the upstream's own names.

use model::glob;
use serde_json::Value;

/// Exact names, or patterns with `*`, `?` and `[a-z]`. Leaving out always wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these; absent or empty means all.
    pub include: Option<Vec<String>>,
    pub exclude: Vec<String>,
}

impl Filter {
    pub fn accepts(&self, name: &str) -> bool {
        let include = self.include.as_deref().filter(|include| !include.is_empty());
        include.is_none_or(|patterns| named(patterns, name)) && !self.excludes(name)
    }

    /// Whether it is left out by name.
    pub fn excludes(&self, name: &str) -> bool {
        named(&self.exclude, name)
    }

    /// Those of the definitions that are accepted, in their order.
    pub fn apply(&self, definitions: Vec<Value>) -> Vec<Value> {
        definitions.into_iter().filter(|definition| self.admits(definition)).collect()
    }

    pub(crate) fn admits(&self, definition: &Value) -> bool {
        self.accepts(definition.get("name").and_then(Value::as_str).unwrap_or_default())
    }
}

fn named(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| glob::matches_sets(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filter(include: Option<&[&str]>, exclude: &[&str]) -> Filter {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Filter { include: include.map(own), exclude: own(exclude) }
    }

    /// OR-3, OR-4, OR-5 and C17: exact names and patterns, leaving out always wins.
    #[test]
    fn leaving_out_wins_over_letting_in() {
        let check = |include: Option<&[&str]>, exclude: &[&str], admitted: bool| {
            let filter = filter(include, exclude);
            assert_eq!(filter.accepts("read_file"), admitted, "{filter:?}");
        };
        check(None, &[], true);
        check(Some(&[]), &[], true);
        check(Some(&["read_file"]), &[], true);
        check(Some(&["read_*"]), &[], true);
        check(Some(&["read"]), &[], false);
        check(None, &["*_file"], false);
        check(Some(&["read_file"]), &["read_file"], false);
        check(Some(&["read_[a-f]ile"]), &[], true);
        check(None, &["[!w]*"], false);
    }

    /// OR-6, OR-7, OR-8: the worked table, and the order is kept.
    #[test]
    fn a_list_keeps_what_is_accepted_in_its_order() {
        let filter = filter(Some(&["search", "read"]), &["read"]);
        let check =
            |name: &str, accepted: bool| assert_eq!(filter.accepts(name), accepted, "{name}");
        check("search", true);
        check("read", false);
        check("write", false);
        let all = ["b", "a", "c", "a2"].map(|name| json!({"name": name})).to_vec();
        let kept = Filter { exclude: vec!["c".to_owned()], ..Filter::default() };
        let names: Vec<Value> = kept.apply(all).iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, ["b", "a", "a2"]);
    }
}
