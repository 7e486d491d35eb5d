//! Short ways to write a tool definition, so that the definitions read as tables.
//!
//! Only shapes the demo needs; nothing here checks a value against a schema.

use serde_json::{Value, json};

/// What a tool does to the demo's state, and with that its annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Read,
    Write,
    /// Something is gone or overwritten afterwards.
    Destroy,
}

/// The words a model chooses by.
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
}

/// One definition as `tools/list` shows it. Tools that change something also take a key that makes
/// a repeated call harmless.
pub(super) fn tool(
    label: &Label,
    manner: Manner,
    mut input: Value,
    output: Option<Value>,
) -> Value {
    if manner != Manner::Read
        && let Some(properties) = input.get_mut("properties")
    {
        put(properties, "idempotency_key", retry_key());
    }
    let Label { name, title, description } = label;
    let mut definition = json!({"name": name, "title": title, "description": description});
    put(&mut definition, "inputSchema", input);
    if let Some(output) = output {
        put(&mut definition, "outputSchema", output);
    }
    put(&mut definition, "annotations", annotations(manner));
    definition
}

/// An object of exactly these properties, of which `required` must be there.
pub(super) fn object(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": false});
    put(&mut schema, "properties", properties);
    put(&mut schema, "required", json!(required));
    schema
}

/// An object in which every property is always there.
pub(super) fn full(properties: Value) -> Value {
    let required: Vec<String> =
        properties.as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default();
    let required: Vec<&str> = required.iter().map(String::as_str).collect();
    object(&required, properties)
}

pub(super) fn text(description: &str, chars_max: u32) -> Value {
    json!({"type": "string", "description": description, "minLength": 1, "maxLength": chars_max})
}

pub(super) fn pattern(description: &str, pattern: &str) -> Value {
    json!({"type": "string", "description": description, "pattern": pattern})
}

pub(super) fn choice(description: &str, values: &[&str]) -> Value {
    json!({"type": "string", "description": description, "enum": values})
}

pub(super) fn whole(description: &str, min: u32, max: u32) -> Value {
    json!({"type": "integer", "description": description, "minimum": min, "maximum": max})
}

pub(super) fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// An instant such as `2026-11-16T09:30:00Z`.
pub(super) fn instant(description: &str) -> Value {
    json!({"type": "string", "description": description, "format": "date-time"})
}

/// A day such as `2026-11-16`.
pub(super) fn day(description: &str) -> Value {
    json!({
        "type": "string",
        "description": description,
        "format": "date",
        "pattern": r"^\d{4}-\d{2}-\d{2}$",
    })
}

pub(super) fn list(description: &str, items: Value) -> Value {
    let mut schema = json!({"type": "array", "description": description});
    put(&mut schema, "items", items);
    schema
}

pub(super) fn string() -> Value {
    json!({"type": "string"})
}

pub(super) fn number() -> Value {
    json!({"type": "number"})
}

pub(super) fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

pub(super) fn boolean() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn one_of(values: &[&str]) -> Value {
    json!({"type": "string", "enum": values})
}

pub(super) fn moment() -> Value {
    json!({"type": "string", "format": "date-time"})
}

/// INVARIANT: `schema` is an object; every caller here has just written it as one.
fn put(schema: &mut Value, key: &str, value: Value) {
    if let Some(object) = schema.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn retry_key() -> Value {
    let about = "Any key of yours. A second call with the same key and the same arguments gives \
                 the first answer again and changes nothing.";
    pattern(about, "^[A-Za-z0-9_-]{8,64}$")
}

fn annotations(manner: Manner) -> Value {
    json!({
        "readOnlyHint": manner == Manner::Read,
        "destructiveHint": manner == Manner::Destroy,
        "idempotentHint": manner == Manner::Read,
        "openWorldHint": false,
    })
}
