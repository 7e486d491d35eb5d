//! How many of the tools that upstreams list can be used, and why the others cannot.

use model::{Finding, Severity};
use serde::Serialize;

use crate::generation::Catalogue;

/// Rules of findings each of which cost a tool its place in the catalogue.
const LEFT_OUT: [&str; 2] = ["definition_invalid", "tool_repeated"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub usable: usize,
    /// In the catalogue, with a reason not to be used.
    pub held: usize,
    /// Listed, and not in the catalogue.
    pub left_out: usize,
}

impl Catalogue {
    pub fn tally(&self) -> Tally {
        let usable = self.usable().iter().filter(|usable| **usable).count();
        let left_out = |finding: &&Finding| LEFT_OUT.contains(&finding.rule.as_str());
        Tally {
            usable,
            held: self.entries().len() - usable,
            left_out: self.findings().iter().filter(left_out).count(),
        }
    }

    /// What an operator should know of: all that was found but mere remarks.
    pub fn concerns(&self) -> impl Iterator<Item = &Finding> {
        self.findings().iter().filter(|finding| finding.severity != Severity::Info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generation::Source;
    use crate::shown::Naming;
    use model::{Generation, UpstreamName};
    use serde_json::json;

    #[test]
    fn every_listed_tool_is_counted_once() {
        let schema = json!({"type": "object"});
        let source = Source {
            upstream: UpstreamName::from_string("u"),
            protocol: "mcp",
            namespace: None,
            definitions: vec![
                json!({"name": "a", "description": "A.", "inputSchema": schema}),
                json!({"name": "a", "description": "A again.", "inputSchema": schema}),
                json!({"name": "b", "description": "B.", "inputSchema": {"type": "nonsense"}}),
                json!({"description": "Nameless.", "inputSchema": schema}),
                json!(7),
            ],
            manifest: None,
            extras: crate::Extras::default(),
        };
        let catalogue = Catalogue::build(Generation(1), vec![source], Naming::Auto);
        assert_eq!(catalogue.tally(), Tally { usable: 1, held: 1, left_out: 3 });
        let mut rules: Vec<&str> = catalogue.concerns().map(|one| one.rule.as_str()).collect();
        rules.sort_unstable();
        let expected =
            ["definition_invalid", "definition_invalid", "schema_invalid", "tool_repeated"];
        assert_eq!(rules, expected);
    }
}
