//! What a schema may cost, measured before it is compiled.
//!
//! References are followed here with every repetition counted, because validating unfolds them:
//! thirty definitions that name the next one twice mean a billion checks. Cycles count once: what
//! they come to depends on the value (`load.rs`). What cannot be followed is refused, so nothing
//! escapes the count.

use std::collections::{BTreeMap, HashMap};

use model::fault::one_line;
use serde_json::{Map, Value};

use super::SchemaError;
use super::load::{Load, Spread};
use crate::limits;

/// Whether a schema stays within the budget.
pub(super) fn check(schema: &Value, dialect: &str) -> Result<(), SchemaError> {
    let mut tally = surveyed(schema, dialect)?;
    // Without references what is written is all there is.
    if tally.refers { tally.load(schema).map(drop) } else { Ok(()) }
}

/// The same, and what the schema can cost a value.
pub(super) fn load(schema: &Value, dialect: &str) -> Result<Load, SchemaError> {
    surveyed(schema, dialect)?.load(schema)
}

fn surveyed<'a>(schema: &'a Value, dialect: &str) -> Result<Tally<'a>, SchemaError> {
    let id_key = if dialect.contains("draft-04") { "id" } else { "$id" };
    let mut tally = Tally {
        id_key,
        subschemas: 0,
        refers: false,
        named: BTreeMap::new(),
        written: Vec::new(),
        costs: HashMap::new(),
        cyclic: false,
        spreads: HashMap::new(),
    };
    tally.survey(schema, schema, 1)?;
    Ok(tally)
}

pub(super) struct Tally<'a> {
    id_key: &'static str,
    subschemas: usize,
    /// Whether anything refers to anything; without, what is written is all there is.
    refers: bool,
    /// Where `$id` and anchors lead; an anchor stands as `#name`, with its resource before it.
    named: BTreeMap<String, (&'a Value, &'a Value)>,
    /// By address; an open entry marks a subschema that is being counted.
    costs: HashMap<usize, Option<Cost>>,
    /// Whether a subschema leads back to itself.
    cyclic: bool,
    /// Every subschema as written, with what `#` means there.
    pub(super) written: Vec<(&'a Value, &'a Value)>,
    /// By address, as `costs`.
    pub(super) spreads: HashMap<usize, Option<Spread>>,
}

/// With every reference followed: how many subschemas, references on the way to them, and how many
/// subschemas within each other.
#[derive(Clone, Copy)]
struct Cost {
    subschemas: u64,
    references: u64,
    height: usize,
}

impl Cost {
    const LEAF: Self = Self { subschemas: 1, references: 0, height: 1 };

    fn add(&mut self, part: Self) {
        self.subschemas = self.subschemas.saturating_add(part.subschemas);
        self.references = self.references.saturating_add(part.references);
        self.height = self.height.max(part.height + 1);
    }
}

impl<'a> Tally<'a> {
    /// Counts what is written and notes what has a name.
    fn survey(
        &mut self,
        schema: &'a Value,
        resource: &'a Value,
        depth: usize,
    ) -> Result<(), SchemaError> {
        if depth > limits::SCHEMA_DEPTH_MAX {
            return Err(SchemaError::TooDeep);
        }
        self.subschemas += 1;
        if self.subschemas > limits::SUBSCHEMAS_MAX {
            return Err(SchemaError::TooManySubschemas);
        }
        let Some(fields) = schema.as_object() else { return Ok(()) };
        let resource = self.resource(schema, resource);
        self.written.push((schema, resource));
        self.note_names(schema, fields, resource);
        self.refers |= REFERENCES.iter().any(|key| fields.contains_key(*key));
        for child in children(fields) {
            self.survey(child, resource, depth + 1)?;
        }
        Ok(())
    }

    fn note_names(
        &mut self,
        schema: &'a Value,
        fields: &'a Map<String, Value>,
        resource: &'a Value,
    ) {
        let home = resource.get(self.id_key).and_then(Value::as_str).unwrap_or_default();
        let home = home.trim_end_matches('#');
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = fields.get(key).and_then(Value::as_str) {
                self.named.insert(format!("{home}#{anchor}"), (schema, resource));
            }
        }
        if let Some(id) = fields.get(self.id_key).and_then(Value::as_str) {
            let name = if id.starts_with('#') {
                format!("{home}{id}")
            } else {
                id.trim_end_matches('#').to_owned()
            };
            self.named.insert(name, (schema, resource));
        }
    }

    fn load(&mut self, root: &'a Value) -> Result<Load, SchemaError> {
        let cost = self.cost(root, root, 0)?;
        let entangled = cost.subschemas > limits::SUBSCHEMAS_EXPANDED_MAX
            || cost.references > limits::REFERENCES_EXPANDED_MAX
            || cost.height > limits::REFERENCES_IN_A_ROW_MAX;
        if entangled {
            return Err(SchemaError::TooEntangled);
        }
        let widest = self.widest()?;
        Ok(Load::new(widest, cost.subschemas, self.cyclic))
    }

    /// What one check of this subschema can come to. `depth` bounds our own recursion.
    fn cost(
        &mut self,
        schema: &'a Value,
        resource: &'a Value,
        depth: usize,
    ) -> Result<Cost, SchemaError> {
        let Some(fields) = schema.as_object() else { return Ok(Cost::LEAF) };
        let address = std::ptr::from_ref(schema).addr();
        if let Some(known) = self.costs.get(&address) {
            self.cyclic |= known.is_none();
            return Ok(known.unwrap_or(Cost::LEAF));
        }
        if depth > limits::REFERENCES_IN_A_ROW_MAX {
            return Err(SchemaError::TooEntangled);
        }
        self.costs.insert(address, None);
        let resource = self.resource(schema, resource);
        let mut total = Cost::LEAF;
        for child in children(fields) {
            total.add(self.cost(child, resource, depth + 1)?);
        }
        for key in REFERENCES {
            if let Some(reference) = fields.get(key).and_then(Value::as_str) {
                let (target, home) = self.follow(reference, resource)?;
                total.add(self.cost(target, home, depth + 1)?);
                total.references = total.references.saturating_add(1);
            }
        }
        self.costs.insert(address, Some(total));
        Ok(total)
    }

    pub(super) fn follow(
        &self,
        reference: &str,
        resource: &'a Value,
    ) -> Result<(&'a Value, &'a Value), SchemaError> {
        let foreign = || SchemaError::ForeignReference(one_line(reference, 80));
        let (home, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let own = resource.get(self.id_key).and_then(Value::as_str).unwrap_or_default();
        let own = own.trim_end_matches('#');
        let (target, base) = match home {
            "" => (resource, resource),
            id if id == own => (resource, resource),
            id => self.named.get(id).copied().ok_or_else(foreign)?,
        };
        if fragment.is_empty() {
            return Ok((target, base));
        }
        if fragment.starts_with('/') {
            let found = target.pointer(&percent_decoded(fragment)).ok_or_else(foreign)?;
            return Ok((found, base));
        }
        let home = if home.is_empty() { own } else { home };
        self.named.get(&format!("{home}#{fragment}")).copied().ok_or_else(foreign)
    }

    /// What `#` means inside: the nearest schema around it that has an id of its own.
    pub(super) fn resource(&self, schema: &'a Value, outer: &'a Value) -> &'a Value {
        let id = schema.get(self.id_key).and_then(Value::as_str);
        if id.is_some_and(|id| !id.starts_with('#')) { schema } else { outer }
    }
}

pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The subschemas directly under one. Values that are data, not schemas, are left out.
fn children(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    const DATA: &[&str] = &["const", "enum", "default", "examples"];
    const MAPS: &[&str] = &[
        "properties",
        "patternProperties",
        "$defs",
        "definitions",
        "dependentSchemas",
        "dependencies",
    ];
    let schemas = fields.iter().filter(|(key, _)| !DATA.contains(&key.as_str()));
    schemas
        .flat_map(|(key, value)| {
            let is_map = MAPS.contains(&key.as_str());
            let map = value.as_object().filter(|_| is_map).into_iter().flat_map(Map::values);
            let list = value.as_array().into_iter().flatten();
            let itself = value.is_object().then_some(value).filter(|_| !is_map);
            map.chain(list).chain(itself)
        })
        .filter(|child| child.is_object())
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = (*byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(value) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            decoded.push(value);
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
