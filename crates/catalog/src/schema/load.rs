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
    /// Patterns that a text is matched with by trying.
    tried: u64,
    /// Whether some of them may be for keys.
    tries_keys: bool,
    /// Subschemas that one member of an object meets.
    members: u64,
    /// Subschemas that one element of an array meets.
    elements: u64,
}

impl Spread {
    fn add(&mut self, part: Self, times: u64) {
        let sum = |a: u64, b: u64| a.saturating_add(b.saturating_mul(times));
        self.here = sum(self.here, part.here);
        self.tried = sum(self.tried, part.tried);
        self.tries_keys |= part.tries_keys;
        self.members = sum(self.members, part.members);
        self.elements = sum(self.elements, part.elements);
    }

    fn or(self, other: Self) -> Self {
        Self {
            here: self.here.max(other.here),
            tried: self.tried.max(other.tried),
            tries_keys: self.tries_keys || other.tries_keys,
            members: self.members.max(other.members),
            elements: self.elements.max(other.elements),
        }
    }
}

/// What a schema as a whole can do to a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    here: u64,
    tried: u64,
    tries_keys: bool,
    fan: u64,
    unfolded: u64,
    cyclic: bool,
}

impl Load {
    pub(super) fn new(widest: Spread, unfolded: u64, cyclic: bool) -> Self {
        let fan = widest.members.max(widest.elements).max(1);
        let Spread { here, tried, tries_keys, .. } = widest;
        Self { here: here.max(1), tried, tries_keys, fan, unfolded, cyclic }
    }

    /// Whether saying yes or no to this value stays within bounds.
    pub(super) fn can_judge(&self, value: &Size) -> bool {
        let ways = self.ways(value).min(self.unfolded);
        let texts = if self.tries_keys { value.texts + value.keys } else { value.texts };
        let tried = texts.saturating_mul(self.tried).saturating_mul(ways);
        tried <= limits::TRIED_MATCHES_MAX
            && self.work(value.units, ways) <= limits::VERDICT_CHECKS_MAX
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
    /// Texts, and keys, that can keep a matcher busy which tries.
    texts: u64,
    keys: u64,
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
            Value::String(text) => self.texts += self.read(text),
            Value::Array(items) => items.iter().for_each(|item| self.take(item, depth + 1)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.keys += self.read(key);
                    self.take(value, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// One, if it is long enough to keep such a matcher busy.
    fn read(&mut self, text: &str) -> u64 {
        self.units += (text.len() / limits::TEXT_BYTES_PER_CHECK) as u64;
        u64::from(text.len() > limits::TRIED_TEXT_BYTES_MIN)
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
    let own = fields.get("pattern").and_then(Value::as_str).is_some_and(is_tried);
    let named = fields.get("patternProperties").and_then(Value::as_object);
    let named = named.into_iter().flatten().filter(|(pattern, _)| is_tried(pattern)).count();
    Spread {
        tried: u64::from(own) + named as u64,
        tries_keys: named > 0 || fields.contains_key("propertyNames"),
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

/// Whether a pattern looks around or back, which the linear matcher cannot.
fn is_tried(pattern: &str) -> bool {
    let looks_around =
        ["(?=", "(?!", "(?<", "(?>", "\\k"].iter().any(|sign| pattern.contains(sign));
    let pairs = pattern.bytes().zip(pattern.bytes().skip(1));
    looks_around || pairs.into_iter().any(|pair| pair.0 == b'\\' && matches!(pair.1, b'1'..=b'9'))
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
