//! Two definitions leaf by leaf, each difference graded by what it may do to a caller.
//!
//! Key order and spelling of numbers are no difference; every other change of a leaf is one.

use std::fmt;

use model::canonical;
use serde::Serialize;
use serde_json::{Map, Value};

/// How grave a change is. Ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Only words for readers. A model follows words: prose can be an attack, too.
    #[default]
    Prose,
    /// May break a caller or change what a call means.
    Possible,
    /// Calls that were right are wrong now, or the other way round.
    Contract,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prose => "prose only",
            Self::Possible => "possibly breaking",
            Self::Contract => "contract change",
        })
    }
}

/// One place where two definitions differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// RFC 6901 pointer into the definition.
    pub pointer: String,
    pub grade: Grade,
    /// Absent where something was added.
    pub before: Option<Value>,
    /// Absent where something was taken away.
    pub after: Option<Value>,
}

/// Every difference, in order of place.
pub fn diff(before: &Value, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    walk(Place { pointer: String::new(), realm: Realm::Definition }, before, after, &mut changes);
    changes
}

/// What the keys of an object mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Realm {
    /// Keys of the definition of a tool, prompt or resource.
    Definition,
    /// Keywords of JSON Schema.
    Schema,
    /// Names chosen by the author, each with a schema: `properties`, `$defs`.
    Named,
    /// A list whose members are schemas.
    Schemas,
    /// Anything else, all of one grade.
    Other(Grade),
}

#[derive(Clone)]
struct Place {
    pointer: String,
    realm: Realm,
}

impl Place {
    fn below(&self, key: &str) -> Self {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        let realm = match self.realm {
            Realm::Definition => in_definition(key),
            Realm::Schema => in_schema(key),
            Realm::Named | Realm::Schemas => Realm::Schema,
            Realm::Other(grade) => Realm::Other(grade),
        };
        Self { pointer: format!("{}/{escaped}", self.pointer), realm }
    }

    /// How grave it is that what stands here came, went or became something else.
    fn grade(&self) -> Grade {
        match self.realm {
            Realm::Other(grade) => grade,
            Realm::Definition | Realm::Schema | Realm::Named | Realm::Schemas => Grade::Contract,
        }
    }
}

fn in_definition(key: &str) -> Realm {
    match key {
        "inputSchema" | "outputSchema" => Realm::Schema,
        "name" | "uri" | "uriTemplate" | "arguments" => Realm::Other(Grade::Contract),
        "description" | "title" | "icons" => Realm::Other(Grade::Prose),
        _ => Realm::Other(Grade::Possible),
    }
}

fn in_schema(key: &str) -> Realm {
    match key {
        "description" | "title" | "examples" | "$comment" => Realm::Other(Grade::Prose),
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            Realm::Named
        }
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Realm::Schemas,
        "items"
        | "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedProperties"
        | "unevaluatedItems" => Realm::Schema,
        "default" | "format" | "deprecated" | "readOnly" | "writeOnly" | "contentMediaType"
        | "contentEncoding" | "$schema" | "$id" => Realm::Other(Grade::Possible),
        _ => Realm::Other(Grade::Contract),
    }
}

fn walk(place: Place, before: &Value, after: &Value, changes: &mut Vec<Change>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => objects(&place, before, after, changes),
        (Value::Array(before), Value::Array(after)) => {
            for index in 0..before.len().max(after.len()) {
                let place = place.below(&index.to_string());
                pair(place, before.get(index), after.get(index), changes);
            }
        }
        _ if canonical::bytes(before) == canonical::bytes(after) => {}
        _ => changes.push(Change {
            grade: place.grade(),
            pointer: place.pointer,
            before: Some(before.clone()),
            after: Some(after.clone()),
        }),
    }
}

fn objects(
    place: &Place,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    changes: &mut Vec<Change>,
) {
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        pair(place.below(key), before.get(key), after.get(key), changes);
    }
}

fn pair(place: Place, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<Change>) {
    match (before, after) {
        (Some(before), Some(after)) => walk(place, before, after, changes),
        (None, None) => {}
        (before, after) => {
            // A new parameter nobody must give breaks no caller; `required` is a place of its own.
            let only_new = before.is_none() && place.realm == Realm::Schema;
            let grade = if only_new { Grade::Possible } else { place.grade() };
            let (before, after) = (before.cloned(), after.cloned());
            changes.push(Change { pointer: place.pointer, grade, before, after });
        }
    }
}
