//! A schema short enough to stand in an error message.
//!
//! What was broken is given in full and what must be given comes before the rest, so that the next
//! try can be right; how much of the rest is told depends on how much room is left.

use std::collections::BTreeSet;

use model::Violation;
use serde_json::{Map, Value};

use crate::limits;

/// The schema itself if it is short; else what matters for these violations.
pub fn outline(schema: &Value, broken: &[Violation]) -> Value {
    if is_short(schema) {
        return schema.clone();
    }
    let places = broken.iter().filter_map(|violation| violation.schema_path.rsplit_once('/'));
    let focus: BTreeSet<&str> = places.map(|(subschema, _)| subschema).collect();
    let many = limits::OUTLINE_PROPERTIES_MAX;
    let ways = [
        (Rest::Bare, usize::MAX),
        (Rest::Required, usize::MAX),
        (Rest::Brief, usize::MAX),
        (Rest::Brief, many),
    ];
    let drawn =
        ways.into_iter().map(|(rest, spare)| Sketch { focus: &focus, rest, spare }.of(schema));
    let least = || cut(Sketch { focus: &focus, rest: Rest::Brief, spare: 0 }.of(schema));
    drawn.into_iter().find(is_short).unwrap_or_else(least)
}

fn is_short(schema: &Value) -> bool {
    schema.to_string().len() <= limits::OUTLINE_BYTES_MAX
}

/// How much is told of what was not broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// All but its words.
    Bare,
    /// The same of what must be given, types of the rest.
    Required,
    /// Types.
    Brief,
}

struct Sketch<'a> {
    /// Pointers to the subschemas that were broken.
    focus: &'a BTreeSet<&'a str>,
    rest: Rest,
    /// Properties that nobody must give, at each place.
    spare: usize,
}

const NAMED: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

impl Sketch<'_> {
    fn of(&self, schema: &Value) -> Value {
        let mut drawn = self.draw(schema, "");
        define(schema, &mut drawn);
        drawn
    }

    fn draw(&self, schema: &Value, at: &str) -> Value {
        let is_broken = self.focus.contains(at);
        if is_broken && !at.is_empty() && schema.to_string().len() <= limits::OUTLINE_PART_BYTES_MAX
        {
            return schema.clone();
        }
        let Some(fields) = schema.as_object() else { return schema.clone() };
        let mut drawn = Map::new();
        for (key, value) in fields.iter().filter(|(key, value)| !is_words(key, value)) {
            let at = below(at, key);
            let part = match value {
                Value::Object(members) if NAMED.contains(&key.as_str()) => {
                    self.members(members, &at, fields, &mut drawn)
                }
                Value::Object(_) => self.part(value, &at, false),
                Value::Array(list) if list.iter().any(Value::is_object) => {
                    let each = list.iter().enumerate();
                    each.map(|(n, one)| self.part(one, &below(&at, &n.to_string()), false))
                        .collect()
                }
                _ => value.clone(),
            };
            drawn.insert(key.clone(), part);
        }
        Value::Object(drawn)
    }

    /// What was broken, then what must be given, then as many others as there may be.
    fn members(
        &self,
        members: &Map<String, Value>,
        at: &str,
        owner: &Map<String, Value>,
        drawn: &mut Map<String, Value>,
    ) -> Value {
        let is_definitions = DEFINITIONS.iter().any(|key| at.ends_with(key));
        let required = owner.get("required").and_then(Value::as_array);
        let must = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        let rank = |name: &str| match (self.is_on_the_way(&below(at, name)), must(name)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let mut ordered: Vec<(usize, &String, &Value)> =
            members.iter().map(|(name, value)| (rank(name), name, value)).collect();
        ordered.sort_by_key(|(rank, ..)| *rank);
        // Definitions are added once it is known who refers to them.
        let spare = if is_definitions && self.rest != Rest::Bare { 0 } else { self.spare };
        let needed = ordered.iter().filter(|(rank, ..)| *rank < 2).count();
        let kept = needed.saturating_add(spare).min(ordered.len());
        if kept < ordered.len() && !is_definitions {
            let more = format!("{} more properties", ordered.len() - kept);
            drawn.insert("$comment".to_owned(), more.into());
        }
        let kept = ordered.into_iter().take(kept);
        kept.map(|(rank, name, value)| {
            (name.clone(), self.part(value, &below(at, name), rank == 1))
        })
        .collect::<Map<String, Value>>()
        .into()
    }

    fn part(&self, schema: &Value, at: &str, required: bool) -> Value {
        if self.is_on_the_way(at) {
            return self.draw(schema, at);
        }
        match self.rest {
            Rest::Bare => without_words(schema),
            Rest::Required if required => without_words(schema),
            Rest::Required | Rest::Brief => brief(schema),
        }
    }

    /// Whether what was broken is here or further in.
    fn is_on_the_way(&self, at: &str) -> bool {
        let inside = |place: &&&str| {
            place.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.focus.iter().any(|place| inside(&place))
    }
}

/// Adds the definitions that what was drawn refers to, while there is room.
fn define(schema: &Value, drawn: &mut Value) {
    let mut wanted = Vec::new();
    references(drawn, &mut wanted);
    for pointer in wanted {
        let way = DEFINITIONS
            .iter()
            .find_map(|key| Some((*key, pointer.strip_prefix(&format!("#/{key}/"))?.to_owned())));
        let Some((key, name)) = way else { continue };
        let Some(definition) = schema.get(key).and_then(|all| all.get(&name)) else { continue };
        let place =
            drawn.as_object_mut().map(|drawn| drawn.entry(key).or_insert(Map::new().into()));
        let Some(Value::Object(place)) = place else { continue };
        if place.contains_key(&name) {
            continue;
        }
        place.insert(name.clone(), without_words(definition));
        if !is_short(drawn)
            && let Some(Value::Object(place)) = drawn.get_mut(key)
        {
            place.insert(name, brief(definition));
        }
    }
}

fn below(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// A parameter may be called `description`; its value is a schema, not text.
fn is_words(key: &str, value: &Value) -> bool {
    const WORDS: &[&str] = &["description", "title", "examples", "$comment", "default"];
    WORDS.contains(&key) && !value.is_object()
}

fn without_words(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, value)| !is_words(key, value));
            Value::Object(kept.map(|(key, value)| (key.clone(), without_words(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_words).collect(),
        other => other.clone(),
    }
}

/// What kind of value it wants.
fn brief(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let told = ["type", "enum", "const", "$ref"].into_iter().filter_map(|key| {
        let value = fields.get(key)?;
        let fits = value.to_string().len() <= limits::OUTLINE_WORD_BYTES_MAX;
        fits.then(|| (key.to_owned(), value.clone()))
    });
    Value::Object(told.collect())
}

/// Where even names and types are too many: as many as there is room for, the first ones first.
fn cut(mut drawn: Value) -> Value {
    for key in DEFINITIONS {
        if !is_short(&drawn)
            && let Some(fields) = drawn.as_object_mut()
        {
            fields.remove(key);
        }
    }
    let names: Vec<String> = match drawn.get("properties") {
        Some(Value::Object(properties)) => properties.keys().cloned().collect(),
        _ => Vec::new(),
    };
    for name in names.iter().rev() {
        if is_short(&drawn) {
            return drawn;
        }
        if let Some(Value::Object(properties)) = drawn.get_mut("properties") {
            properties.remove(name);
        }
    }
    if is_short(&drawn) { drawn } else { brief(&drawn) }
}

#[cfg(test)]
mod tests;
