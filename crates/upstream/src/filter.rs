//! Which of an upstream's tools are let in, by the upstream's own names.

use model::glob;
use serde_json::Value;

/// Exact names, or patterns with `*` and `?`. Leaving out always wins.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only these; absent means all.
    pub include: Option<Vec<String>>,
    pub exclude: Vec<String>,
}

impl Filter {
    pub fn admits(&self, definition: &Value) -> bool {
        let name = definition.get("name").and_then(Value::as_str).unwrap_or_default();
        let named =
            |patterns: &[String]| patterns.iter().any(|pattern| glob::matches(pattern, name));
        self.include.as_deref().is_none_or(named) && !named(&self.exclude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn leaving_out_wins_over_letting_in() {
        let check = |include: Option<&[&str]>, exclude: &[&str], admitted: bool| {
            let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let filter = Filter { include: include.map(own), exclude: own(exclude) };
            assert_eq!(filter.admits(&json!({"name": "read_file"})), admitted, "{filter:?}");
        };
        check(None, &[], true);
        check(Some(&[]), &[], false);
        check(Some(&["read_file"]), &[], true);
        check(Some(&["read_*"]), &[], true);
        check(Some(&["read"]), &[], false);
        check(None, &["*_file"], false);
        check(Some(&["read_file"]), &["read_file"], false);
    }
}
