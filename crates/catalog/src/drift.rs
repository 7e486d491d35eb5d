//! What an upstream lists now against what was accepted: which tools changed, came, went or came
//! back. What follows from a change is the operator's word, not decided here.

mod diff;

use std::collections::BTreeMap;

use model::{Finding, Pin, Severity, UpstreamName, canonical};
use serde_json::Value;

pub use diff::{Change, Grade, diff};

/// How a tool departs from its pin.
#[derive(Clone, Debug, PartialEq)]
pub enum Drift {
    /// Listed for the first time, after the upstream was first seen.
    Added,
    Changed(Vec<Change>),
    Removed,
    /// Gone before and listed again, with what changed meanwhile.
    Returned(Vec<Change>),
}

impl Drift {
    pub fn grade(&self) -> Grade {
        match self {
            Self::Removed => Grade::Contract,
            Self::Added | Self::Returned(_) => self
                .changes()
                .iter()
                .map(|change| change.grade)
                .max()
                .unwrap_or_default()
                .max(Grade::Possible),
            Self::Changed(changes) => {
                changes.iter().map(|change| change.grade).max().unwrap_or_default()
            }
        }
    }

    pub fn changes(&self) -> &[Change] {
        match self {
            Self::Changed(changes) | Self::Returned(changes) => changes,
            Self::Added | Self::Removed => &[],
        }
    }

    /// The one word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed(_) => "changed",
            Self::Removed => "removed",
            Self::Returned(_) => "returned",
        }
    }

    /// Why a tool is held back.
    pub fn finding(&self, tool: &str) -> Finding {
        let tool = model::fault::one_line(tool, 128);
        let message = format!(
            "`{tool}` was {} since its upstream was accepted ({}); an operator must run `toolgate \
             tools accept`",
            self.as_str(),
            self.grade()
        );
        Finding::new(Severity::Error, DRIFT_RULE, message)
    }
}

/// The rule of findings that hold a tool back for drift.
pub const DRIFT_RULE: &str = "drift";

/// One upstream's list held against its pins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Review {
    /// By tool name. Empty when the upstream is seen for the first time.
    pub drifts: BTreeMap<String, Drift>,
    /// What to keep from now on: the baseline of a new upstream, tools that went.
    pub keep: Vec<Pin>,
}

/// Compares. `pins` are those of this upstream; none means it was never seen, and what it lists
/// becomes the baseline.
pub fn review(upstream: &UpstreamName, pins: &[Pin], definitions: &[Value]) -> Review {
    let listed = pins_of(upstream, definitions);
    if pins.is_empty() {
        return Review { keep: listed.into_values().collect(), drifts: BTreeMap::new() };
    }
    let mut review = Review::default();
    let known: BTreeMap<&str, &Pin> = pins.iter().map(|pin| (pin.tool.as_str(), pin)).collect();
    for (tool, now) in &listed {
        let drift = match known.get(tool.as_str()) {
            None => Drift::Added,
            Some(pin) if pin.gone => Drift::Returned(diff(&pin.definition, &now.definition)),
            Some(pin) if pin.hash == now.hash => continue,
            Some(pin) => Drift::Changed(diff(&pin.definition, &now.definition)),
        };
        review.drifts.insert(tool.clone(), drift);
    }
    for pin in pins.iter().filter(|pin| !listed.contains_key(&pin.tool)) {
        review.drifts.insert(pin.tool.clone(), Drift::Removed);
        if !pin.gone {
            review.keep.push(Pin { gone: true, ..pin.clone() });
        }
    }
    review
}

/// The list as pins, for a baseline or an acceptance. Of two definitions with one name, the one
/// with the smaller hash stands, as in the catalogue.
pub fn pins_of(upstream: &UpstreamName, definitions: &[Value]) -> BTreeMap<String, Pin> {
    let mut pins: BTreeMap<String, Pin> = BTreeMap::new();
    for definition in definitions {
        let Some(tool) = definition.get("name").and_then(Value::as_str) else { continue };
        let pin = Pin {
            upstream: upstream.clone(),
            tool: tool.to_owned(),
            hash: canonical::hash(definition),
            definition: definition.clone(),
            gone: false,
        };
        match pins.get(tool) {
            Some(other) if other.hash <= pin.hash => {}
            _ => drop(pins.insert(tool.to_owned(), pin)),
        }
    }
    pins
}

#[cfg(test)]
mod tests;
