//! Two definitions leaf by leaf, each difference graded by what it may do to a caller.
//!
//! Key order and spelling of numbers are no difference; every other change of a leaf is one. Lists in
//! which order means nothing are compared as sets.

use std::collections::BTreeSet;
use std::fmt;

use model::canonical;
use serde::Serialize;
use serde_json::{Map, Value};

/// How grave a change is. Ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The same members in another order, where order means nothing.
    Order,
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
            Self::Order => "order only",
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
    let whole = Place { pointer: String::new(), realm: Realm::Definition, side: Side::Input };
    walk(whole, before, after, &mut changes);
    changes
}

/// What the keys of an object mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Realm {
    /// Keys of the definition of a tool, prompt or resource.
    Definition,
    /// Keywords of JSON Schema.
    Schema,
    /// Names chosen by the author, each with a schema that only those meet who use the name:
    /// `properties`, `$defs`.
    Named,
    /// What stands under one of these names.
    Member,
    /// Schemas in a list or under names, each of which binds.
    Schemas,
    /// A list in which order means nothing.
    Set(Limits),
    /// Anything else, all of one grade.
    Other(Grade),
}

/// What one more member of a list does to the values that fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limits {
    /// More fit: `enum`, `type`.
    Widen,
    /// Fewer fit: `required`.
    Narrow,
}

/// Who must keep to a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The caller: fewer values that fit break it.
    Input,
    /// The tool: more values that fit break whoever reads its answers.
    Output,
}

#[derive(Clone)]
struct Place {
    pointer: String,
    realm: Realm,
    side: Side,
}

impl Place {
    fn below(&self, key: &str) -> Self {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        let realm = match self.realm {
            Realm::Definition => in_definition(key),
            Realm::Schema | Realm::Member => in_schema(key),
            Realm::Named => Realm::Member,
            Realm::Schemas => Realm::Schema,
            Realm::Set(_) => Realm::Other(Grade::Contract),
            Realm::Other(grade) => Realm::Other(grade),
        };
        let is_output = self.realm == Realm::Definition && key == "outputSchema";
        let side = if is_output { Side::Output } else { self.side };
        Self { pointer: format!("{}/{escaped}", self.pointer), realm, side }
    }

    /// How grave it is that what stands here came, went or became something else.
    fn grade(&self) -> Grade {
        match self.realm {
            Realm::Other(grade) => grade,
            Realm::Definition
            | Realm::Schema
            | Realm::Named
            | Realm::Member
            | Realm::Schemas
            | Realm::Set(_) => Grade::Contract,
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
        "properties" | "$defs" | "definitions" => Realm::Named,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" | "patternProperties" | "dependentSchemas" => {
            Realm::Schemas
        }
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
        "enum" | "type" => Realm::Set(Limits::Widen),
        "required" => Realm::Set(Limits::Narrow),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
        | "minLength" | "maxLength" | "minItems" | "maxItems" | "uniqueItems" | "minContains"
        | "maxContains" | "minProperties" | "maxProperties" | "default" | "format"
        | "deprecated" | "readOnly" | "writeOnly" | "contentMediaType" | "contentEncoding"
        | "$schema" | "$id" => Realm::Other(Grade::Possible),
        _ => Realm::Other(Grade::Contract),
    }
}

fn walk(place: Place, before: &Value, after: &Value, changes: &mut Vec<Change>) {
    if let (Realm::Set(limits), Value::Array(before), Value::Array(after)) =
        (place.realm, before, after)
    {
        return sets(&place, limits, (before, after), changes);
    }
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

/// What came into a list and what left it, each at its own place; else, that only the order changed.
fn sets(
    place: &Place,
    limits: Limits,
    (before, after): (&[Value], &[Value]),
    changes: &mut Vec<Change>,
) {
    let known = |list: &[Value]| list.iter().map(canonical::bytes).collect::<BTreeSet<_>>();
    let (old, new) = (known(before), known(after));
    let grade = |comes: bool| {
        let widens = comes == (limits == Limits::Widen);
        let harmless = widens == (place.side == Side::Input);
        if harmless { Grade::Possible } else { Grade::Contract }
    };
    let first = changes.len();
    for (list, other, comes) in [(before, &new, false), (after, &old, true)] {
        for (index, value) in list.iter().enumerate() {
            if !other.contains(&canonical::bytes(value)) {
                let pointer = place.below(&index.to_string()).pointer;
                let (gone, came) = if comes { (None, Some(value)) } else { (Some(value), None) };
                let (before, after) = (gone.cloned(), came.cloned());
                changes.push(Change { pointer, grade: grade(comes), before, after });
            }
        }
    }
    if changes.len() == first
        && !before.iter().map(canonical::bytes).eq(after.iter().map(canonical::bytes))
    {
        let (before, after) = (Some(before.into()), Some(after.into()));
        changes.push(Change { pointer: place.pointer.clone(), grade: Grade::Order, before, after });
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
            let only_new = before.is_none() && place.realm == Realm::Member;
            let grade = if only_new { Grade::Possible } else { place.grade() };
            let (before, after) = (before.cloned(), after.cloned());
            changes.push(Change { pointer: place.pointer, grade, before, after });
        }
    }
}
