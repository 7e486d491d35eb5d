//! What one value can cost a schema, told before the validator is asked: it has no bound of its own.
//!
//! A subschema meets a value as often as ways lead to it. Those that stay at the same value are
//! counted, and so are those that lead to one of its members; a value of some depth multiplies the
//! latter. The validator remembers verdicts, so those stay within what the schema unfolds into;
//! errors it does not remember, and gathers all of them before it gives the first.

use serde_json::{Map, Value};

use super::SchemaError;
use super::budget::{REFERENCES, Tally};
use crate::limits;

/// What a subschema does at one value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    /// Checks of the value itself.
    here: u64,
    /// Subschemas that one member of an object meets.
    members: u64,
    /// Subschemas that one element of an array meets.
    elements: u64,
}

impl Spread {
    fn add(&mut self, part: Self, times: u64) {
        let sum = |a: u64, b: u64| a.saturating_add(b.saturating_mul(times));
        self.here = sum(self.here, part.here);
        self.members = sum(self.members, part.members);
        self.elements = sum(self.elements, part.elements);
    }

    fn or(self, other: Self) -> Self {
        Self {
            here: self.here.max(other.here),
            members: self.members.max(other.members),
            elements: self.elements.max(other.elements),
        }
    }
}

/// What a schema as a whole can do to a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    here: u64,
    fan: u64,
    unfolded: u64,
    cyclic: bool,
    /// Whether its patterns are matched by trying.
    pub(super) tries: bool,
}

impl Load {
    pub(super) fn new(widest: Spread, unfolded: u64, cyclic: bool) -> Self {
        let fan = widest.members.max(widest.elements).max(1);
        Self { here: widest.here.max(1), fan, unfolded, cyclic, tries: false }
    }

    /// Whether saying yes or no to this value stays within bounds.
    pub(super) fn can_judge(&self, value: &Size) -> bool {
        let ways = self.ways(value).min(self.unfolded);
        let tried = if self.tries { value.tried } else { 0 };
        self.work(value.units.saturating_add(tried), ways) <= limits::VERDICT_CHECKS_MAX
    }

    /// Whether finding all that is wrong with this value stays within bounds.
    pub(super) fn can_tell(&self, value: &Size) -> bool {
        let ways = self.ways(value);
        let ways = if self.cyclic { ways } else { ways.min(self.unfolded) };
        self.work(value.units, ways) <= limits::ERROR_CHECKS_MAX
    }

    /// How many ways lead to one of the innermost values.
    fn ways(&self, value: &Size) -> u64 {
        self.fan.saturating_pow(value.depth)
    }

    fn work(&self, units: u64, ways: u64) -> u64 {
        units.saturating_mul(self.here).saturating_mul(ways)
    }
}

/// How much of a value there is to look at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Values within it and itself, long texts counted by their length.
    units: u64,
    /// Values within values.
    depth: u32,
    /// What its texts add where patterns are matched by trying.
    tried: u64,
}

impl Size {
    pub(super) fn of(value: &Value) -> Self {
        let mut size = Self::default();
        size.take(value, 0);
        size
    }

    fn take(&mut self, value: &Value, depth: u32) {
        self.units += 1;
        self.depth = self.depth.max(depth);
        match value {
            Value::String(text) => self.read(text),
            Value::Array(items) => items.iter().for_each(|item| self.take(item, depth + 1)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.read(key);
                    self.take(value, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn read(&mut self, text: &str) {
        self.units += (text.len() / limits::TEXT_BYTES_PER_CHECK) as u64;
        if text.len() > limits::TRIED_TEXT_BYTES_MIN {
            self.tried += limits::TRIED_TEXT_CHECKS;
        }
    }
}

impl<'a> Tally<'a> {
    /// The most that any subschema does.
    pub(super) fn widest(&mut self) -> Result<Spread, SchemaError> {
        for (schema, resource) in std::mem::take(&mut self.written) {
            self.spread(schema, resource, 0)?;
        }
        Ok(self.spreads.values().flatten().fold(Spread::default(), |a, b| a.or(*b)))
    }

    /// Follows what stays at the same value. A way back from there to itself has no end, and no
    /// meaning either.
    fn spread(
        &mut self,
        schema: &'a Value,
        resource: &'a Value,
        depth: usize,
    ) -> Result<Spread, SchemaError> {
        let Some(fields) = schema.as_object() else {
            return Ok(Spread { here: 1, ..Spread::default() });
        };
        let address = std::ptr::from_ref(schema).addr();
        if let Some(known) = self.spreads.get(&address) {
            return known.ok_or(SchemaError::Endless);
        }
        if depth > limits::REFERENCES_IN_A_ROW_MAX {
            return Err(SchemaError::TooEntangled);
        }
        self.spreads.insert(address, None);
        let resource = self.resource(schema, resource);
        let mut total = own(fields);
        // To find what is left over, the validator goes through the others once more, twice at worst.
        let leftovers = ["unevaluatedProperties", "unevaluatedItems"];
        let times = if leftovers.iter().any(|key| fields.contains_key(*key)) { 3 } else { 1 };
        for part in in_place(fields) {
            total.add(self.spread(part, resource, depth + 1)?, times);
        }
        for key in REFERENCES {
            if let Some(reference) = fields.get(key).and_then(Value::as_str) {
                let (target, home) = self.follow(reference, resource)?;
                total.add(self.spread(target, home, depth + 1)?, times);
            }
        }
        self.spreads.insert(address, Some(total));
        Ok(total)
    }
}

/// What one subschema does by itself. Long lists are gone through name by name.
fn own(fields: &Map<String, Value>) -> Spread {
    let count = |key: &str| match fields.get(key) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    };
    let has =
        |key: &str| u64::from(matches!(fields.get(key), Some(Value::Object(_) | Value::Array(_))));
    let listed = count("enum") + count("required") + count("properties");
    Spread {
        here: 1 + (listed / limits::NAMES_PER_CHECK) as u64,
        members: has("properties").max(has("additionalProperties"))
            + count("patternProperties") as u64
            + has("propertyNames")
            + has("unevaluatedProperties"),
        elements: has("items").max(has("prefixItems")).max(has("additionalItems"))
            + has("contains")
            + has("unevaluatedItems"),
    }
}

/// The subschemas that the same value must fit.
fn in_place(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    const ALONE: [&str; 4] = ["not", "if", "then", "else"];
    const MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
    let lists = LISTS.iter().filter_map(|key| fields.get(*key)?.as_array()).flatten();
    let alone = ALONE.iter().filter_map(|key| fields.get(*key));
    let maps = MAPS.iter().filter_map(|key| fields.get(*key)?.as_object()).flat_map(Map::values);
    lists.chain(alone).chain(maps)
}
