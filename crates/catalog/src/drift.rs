//! What an upstream lists now against what was accepted: which tools, prompts and resources changed,
//! came, went or came back. What follows from a change is the operator's word, not decided here.

mod diff;

use std::collections::{BTreeMap, BTreeSet};

use model::{Finding, ItemKind, Listed, Pin, Severity, UpstreamName, canonical};
use serde_json::{Map, Value};

pub use diff::{Change, Grade, diff};

use crate::shelf::{Extras, PROMPT_ID, RESOURCE_ID, TEMPLATE_ID};

/// What a pin is known by within its upstream.
pub type Name = (ItemKind, String);

/// How something departs from its pin.
#[derive(Clone, Debug, PartialEq)]
pub enum Drift {
    /// Listed for the first time, after the upstream was first seen; with all it consists of.
    Added(Vec<Change>),
    Changed(Vec<Change>),
    Removed,
    /// Gone before and listed again, with what changed meanwhile.
    Returned(Vec<Change>),
}

impl Drift {
    pub fn grade(&self) -> Grade {
        match self {
            Self::Removed => Grade::Contract,
            Self::Added(_) => Grade::Possible,
            Self::Returned(_) => self
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
            Self::Added(changes) | Self::Changed(changes) | Self::Returned(changes) => changes,
            Self::Removed => &[],
        }
    }

    /// The one word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Added(_) => "added",
            Self::Changed(_) => "changed",
            Self::Removed => "removed",
            Self::Returned(_) => "returned",
        }
    }

    /// Why something is held back.
    pub fn finding(&self, name: &str) -> Finding {
        let name = model::fault::one_line(name, 128);
        let message = format!(
            "`{name}` was {} since its upstream was accepted ({}); an operator must run `toolgate \
             tools accept`",
            self.as_str(),
            self.grade()
        );
        Finding::new(Severity::Error, DRIFT_RULE, message)
    }
}

/// The rule of findings that hold something back for drift.
pub const DRIFT_RULE: &str = "drift";

/// One upstream's list held against its pins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Review {
    /// Empty when the upstream is seen for the first time.
    pub drifts: BTreeMap<Name, Drift>,
    /// What to keep from now on: the baseline of a new upstream, and what went.
    pub keep: Vec<Pin>,
}

impl Review {
    /// The same where some lists were not given: what is missing from these has not gone.
    #[must_use]
    pub fn without_word_of(mut self, unheard: &BTreeSet<Listed>) -> Self {
        let untold = |kind: ItemKind| match kind {
            ItemKind::Prompt => unheard.contains(&Listed::Prompts),
            ItemKind::Resource => {
                unheard.contains(&Listed::Resources) || unheard.contains(&Listed::Templates)
            }
            ItemKind::Tool | ItemKind::Skill | ItemKind::Internal => false,
        };
        self.drifts.retain(|(kind, _), drift| *drift != Drift::Removed || !untold(*kind));
        self.keep.retain(|pin| !pin.gone || !untold(pin.kind));
        self
    }
}

/// Compares. `pins` are those of this upstream; none means it was never seen, and what it lists
/// becomes the baseline.
pub fn review(upstream: &UpstreamName, pins: &[Pin], items: &[Pinnable<'_>]) -> Review {
    let listed = pins_of(upstream, items);
    if pins.is_empty() {
        return Review { keep: listed.into_values().collect(), drifts: BTreeMap::new() };
    }
    let mut review = Review::default();
    let real = pins.iter().filter(|pin| pin.kind != ItemKind::Internal);
    let known: BTreeMap<Name, &Pin> = real.map(|pin| (name_of(pin), pin)).collect();
    for (name, now) in &listed {
        let drift = match known.get(name) {
            None => Drift::Added(whole(&now.definition)),
            Some(pin) if pin.gone => Drift::Returned(diff(&pin.definition, &now.definition)),
            Some(pin) if pin.hash == now.hash => continue,
            Some(pin) => Drift::Changed(diff(&pin.definition, &now.definition)),
        };
        review.drifts.insert(name.clone(), drift);
    }
    for (name, pin) in known.into_iter().filter(|(name, _)| !listed.contains_key(name)) {
        review.drifts.insert(name, Drift::Removed);
        if !pin.gone {
            review.keep.push(Pin { gone: true, ..pin.clone() });
        }
    }
    review
}

/// Stands for an upstream of which nothing is left that could be pinned: it was seen, and what it
/// lists one day is no baseline.
pub fn seen(upstream: &UpstreamName) -> Pin {
    Pin {
        upstream: upstream.clone(),
        kind: ItemKind::Internal,
        name: String::new(),
        hash: String::new(),
        definition: Value::Null,
        gone: true,
    }
}

/// Everything a new definition consists of. Nobody can have relied on any of it.
fn whole(definition: &Value) -> Vec<Change> {
    let changes = diff(&Value::Object(Map::new()), definition).into_iter();
    changes.map(|change| Change { grade: change.grade.min(Grade::Possible), ..change }).collect()
}

/// The list as pins, for a baseline or an acceptance. Of two definitions with one name, the one
/// with the smaller hash stands, as in the catalogue.
pub fn pins_of(upstream: &UpstreamName, items: &[Pinnable<'_>]) -> BTreeMap<Name, Pin> {
    let mut pins: BTreeMap<Name, Pin> = BTreeMap::new();
    for Pinnable { kind, name, definition } in items.iter().copied() {
        let pin = Pin {
            upstream: upstream.clone(),
            kind,
            name: name.to_owned(),
            hash: canonical::hash(definition),
            definition: definition.clone(),
            gone: false,
        };
        let name = name_of(&pin);
        match pins.get(&name) {
            Some(other) if other.hash <= pin.hash => {}
            _ => drop(pins.insert(name, pin)),
        }
    }
    pins
}

/// One entry of a list, by the name the catalogue knows it by.
#[derive(Clone, Copy, Debug)]
pub struct Pinnable<'a> {
    kind: ItemKind,
    name: &'a str,
    definition: &'a Value,
}

impl<'a> Pinnable<'a> {
    pub fn kind(&self) -> ItemKind {
        self.kind
    }

    pub fn name(&self) -> &'a str {
        self.name
    }
}

/// All that an upstream lists and the catalogue has, as it can be pinned. Each list says by which
/// of its keys an entry goes: one that carries the key of another list, too, is known by its own.
pub fn items<'a>(tools: &'a [Value], extras: &'a Extras) -> Vec<Pinnable<'a>> {
    let read = |list: &'a [Value], kind, id: &'static str| {
        let named = move |definition: &'a Value| {
            let name = definition.get(id).and_then(Value::as_str)?;
            Some(Pinnable { kind, name, definition })
        };
        list.iter().filter_map(named)
    };
    let resources: Vec<_> = read(&extras.resources, ItemKind::Resource, RESOURCE_ID).collect();
    let uris: BTreeSet<&str> = resources.iter().map(|resource| resource.name).collect();
    read(tools, ItemKind::Tool, "name")
        .chain(read(&extras.prompts, ItemKind::Prompt, PROMPT_ID))
        .chain(resources.iter().copied())
        .chain(
            read(&extras.templates, ItemKind::Resource, TEMPLATE_ID)
                .filter(|template| !uris.contains(template.name)),
        )
        .collect()
}

fn name_of(pin: &Pin) -> Name {
    (pin.kind, pin.name.clone())
}

#[cfg(test)]
mod tests;
