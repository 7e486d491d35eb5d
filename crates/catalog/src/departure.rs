//! What an upstream is or lists otherwise than its manifest pins: the revision it is spoken to in,
//! and the schemas of its tools. What follows is the operator's word on drift, not decided here.

use std::collections::BTreeMap;

use manifest::{AdapterManifest, SchemaSide};
use model::fault::one_line;
use model::{Finding, ItemKey, ItemKind, Severity};
use serde_json::Value;

use crate::drift::{DRIFT_RULE, items};
use crate::generation::Source;

/// The rule of findings about another revision than the manifest pins.
pub const REVISION_RULE: &str = "revision_differs";
/// The rule of findings about other schemas than the manifest pins.
pub const SCHEMA_RULE: &str = "schema_differs";

/// One way in which an upstream departs from its manifest, and all that cannot be relied on for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Departure {
    pub finding: Finding,
    pub items: Vec<ItemKey>,
}

/// What to hold back, each for its reason, and what else to tell of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    pub items: BTreeMap<ItemKey, Finding>,
    pub told: Vec<Finding>,
}

impl Held {
    /// Tells of a departure, and holds nothing back for it.
    pub fn tell(&mut self, departure: Departure) {
        self.told.push(Finding { severity: Severity::Warning, ..departure.finding });
    }

    /// Tells of it, and holds back what is concerned, unless that is held for another reason.
    pub fn hold(&mut self, departure: Departure) {
        for key in departure.items {
            self.items.entry(key).or_insert_with(|| departure.finding.clone());
        }
        self.told.push(departure.finding);
    }
}

impl From<BTreeMap<ItemKey, Finding>> for Held {
    fn from(items: BTreeMap<ItemKey, Finding>) -> Self {
        Self { items, told: Vec::new() }
    }
}

/// Whether something is held back until upstream and operator agree again.
pub fn is_drift(finding: &Finding) -> bool {
    [DRIFT_RULE, REVISION_RULE, SCHEMA_RULE].contains(&finding.rule.as_str())
}

/// Every departure of one upstream, in the order of its manifest.
pub fn departures(source: &Source) -> Vec<Departure> {
    let Some(manifest) = source.manifest.as_deref() else { return Vec::new() };
    let mut found: Vec<Departure> = revision(source, manifest).into_iter().collect();
    let pinned = manifest.capabilities.iter().filter(|one| !one.schema_pins.is_empty());
    for capability in pinned {
        let own = |definition: &&Value| definition["name"] == capability.tool.as_str();
        for definition in source.definitions.iter().filter(own) {
            for side in capability.departing(definition) {
                found.push(schema(source, &capability.tool, side));
            }
        }
    }
    found
}

/// What is not stated pins nothing, and what speaks no MCP has no revision (CO-61).
fn revision(source: &Source, manifest: &AdapterManifest) -> Option<Departure> {
    let pin = manifest.protocol_version.as_deref()?;
    let spoken = source.extras.speaks.as_deref().filter(|spoken| *spoken != pin)?;
    let upstream = &source.upstream;
    let message = format!(
        "the manifest of `{upstream}` pins MCP {}, and it is spoken to in {spoken}; change the \
         server or `protocol_version`, and start the gate again",
        one_line(pin, 40)
    );
    let listed = items(&source.definitions, &source.extras).into_iter();
    let items = listed.map(|item| key(source, item.kind(), item.name())).collect();
    Some(Departure { finding: Finding::new(Severity::Error, REVISION_RULE, message), items })
}

fn schema(source: &Source, tool: &str, side: SchemaSide) -> Departure {
    let message = format!(
        "the {} schema of `{}` is not the one its manifest pins by `{}`; mend the tool, or review \
         it and change the file",
        side.as_str(),
        one_line(tool, 100),
        side.key()
    );
    let items = vec![key(source, ItemKind::Tool, tool)];
    Departure { finding: Finding::new(Severity::Error, SCHEMA_RULE, message), items }
}

fn key(source: &Source, kind: ItemKind, name: &str) -> ItemKey {
    ItemKey { upstream: source.upstream.clone(), name: name.to_owned(), kind }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::{UpstreamName, canonical};
    use serde_json::json;

    use super::*;
    use crate::Extras;

    fn source(change: impl FnOnce(&mut AdapterManifest), speaks: Option<&str>) -> Source {
        let manifest = manifest::from_value(json!({
            "adapter_id": "a", "name": "a", "owner_role": "ops", "protocol": "mcp",
            "capabilities": [{
                "capability_id": "a.look", "tool": "look", "class": "observe",
                "approval_mode": "read_only",
            }],
        }));
        let mut manifest = manifest.unwrap();
        change(&mut manifest);
        Source {
            upstream: UpstreamName::from_string("u"),
            protocol: "mcp",
            namespace: None,
            definitions: vec![json!({"name": "look", "inputSchema": {"type": "object"}})],
            manifest: Some(Arc::new(manifest)),
            extras: Extras {
                prompts: vec![json!({"name": "greet"})],
                speaks: speaks.map(str::to_owned),
                ..Extras::default()
            },
        }
    }

    /// CO-61: the negotiated version must equal the pin; all the upstream offers hangs on it.
    #[test]
    fn another_revision_than_the_pinned_one_is_found() {
        let check = |pin: Option<&str>, speaks: Option<&str>, expected: usize| {
            let pin = pin.map(str::to_owned);
            let found = departures(&source(|manifest| manifest.protocol_version = pin, speaks));
            let concerned: usize = found.iter().map(|departure| departure.items.len()).sum();
            assert_eq!(concerned, expected, "{found:?}");
            assert!(found.iter().all(|departure| departure.finding.rule == REVISION_RULE));
        };
        check(Some("2025-11-25"), Some("2025-11-25"), 0);
        check(Some("2025-11-25"), Some("2026-07-28"), 2);
        check(Some("2025-11-25"), Some("2025-06-18"), 2);
        check(Some("2025-11-25"), None, 0);
        check(None, Some("2026-07-28"), 0);
    }

    /// CO-80, CO-81: a schema with another hash than the pinned one is found, on either side.
    #[test]
    fn another_schema_than_the_pinned_one_is_found() {
        let check = |input: Option<Value>, output: Option<Value>, expected: &[&str]| {
            let found = departures(&source(
                |manifest| {
                    let pins = &mut manifest.capabilities[0].schema_pins;
                    pins.input = input.as_ref().map(canonical::hash);
                    pins.output = output.as_ref().map(canonical::hash);
                },
                None,
            ));
            let told: Vec<&str> = found
                .iter()
                .map(|departure| departure.finding.message.split(" of ").next().unwrap())
                .collect();
            assert_eq!(told, expected, "{input:?} {output:?}");
        };
        let (same, other) = (json!({"type": "object"}), json!({"type": "array"}));
        check(None, None, &[]);
        check(Some(same.clone()), None, &[]);
        check(Some(other.clone()), None, &["the input schema"]);
        check(Some(same), Some(other.clone()), &["the output schema"]);
        check(Some(other.clone()), Some(other), &["the input schema", "the output schema"]);
    }
}
