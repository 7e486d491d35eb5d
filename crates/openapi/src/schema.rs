//! From an OpenAPI schema to plain JSON Schema 2020-12: references written out, `nullable` and the
//! boolean bounds of 3.0 translated, OpenAPI's own keywords dropped.
//!
//! Where a schema contains itself or grows too big it is cut to its type. A cut schema accepts
//! more than the original, never less.

use serde_json::{Map, Value, json};

use crate::error::OpenApiError;
use crate::limits::{SCHEMA_DEPTH_MAX, SCHEMA_NODES_MAX};
use crate::refs::{Dialect, Refs, reference};

/// Keywords that mean nothing, or something else, outside the document.
const DROPPED: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$schema",
    "definitions",
    "discriminator",
    "example",
    "externalDocs",
    "xml",
];
/// What 3.0 lets stand beside a `$ref`, if only by custom.
const BESIDE_REF_30: &[&str] = &["default", "deprecated", "description", "nullable", "title"];

/// Writes out the schemas of one operation, which share one allowance.
#[derive(Debug)]
pub(crate) struct Lowering<'a> {
    refs: Refs<'a>,
    trail: Vec<&'a str>,
    nodes_left: usize,
    /// Something was cut short.
    pub(crate) cut: bool,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(refs: Refs<'a>) -> Self {
        Self { refs, trail: Vec::new(), nodes_left: SCHEMA_NODES_MAX, cut: false }
    }

    pub(crate) fn schema(&mut self, schema: &'a Value) -> Result<Value, OpenApiError> {
        self.lower(schema, 0)
    }

    fn lower(&mut self, schema: &'a Value, depth: usize) -> Result<Value, OpenApiError> {
        let Some(object) = schema.as_object() else {
            return Ok(if schema.is_boolean() { schema.clone() } else { json!({}) });
        };
        if let Some(reference) = reference(schema) {
            return self.lower_reference(reference, object, depth);
        }
        if self.nodes_left == 0 || depth >= SCHEMA_DEPTH_MAX {
            return Ok(self.cut_short(schema));
        }
        self.nodes_left -= 1;
        let mut lowered = Map::new();
        for (keyword, value) in object {
            if let Some(value) = self.keyword(keyword, value, depth)? {
                lowered.insert(keyword.clone(), value);
            }
        }
        Ok(translate(lowered))
    }

    fn lower_reference(
        &mut self,
        reference: &'a str,
        object: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Value, OpenApiError> {
        let target = self.refs.target(reference)?;
        if self.trail.contains(&reference) {
            return Ok(self.cut_short(target));
        }
        self.trail.push(reference);
        let lowered = self.lower(target, depth + 1);
        self.trail.pop();
        let siblings = self.siblings(object, depth)?;
        Ok(beside(lowered?, siblings))
    }

    fn siblings(
        &mut self,
        object: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Map<String, Value>, OpenApiError> {
        let dialect = self.refs.dialect;
        let counts = |keyword: &str| match dialect {
            Dialect::V30 => BESIDE_REF_30.contains(&keyword),
            Dialect::V31 => keyword != "$ref" && keyword != "summary",
        };
        let mut siblings = Map::new();
        for (keyword, value) in object.iter().filter(|(keyword, _)| counts(keyword)) {
            if let Some(value) = self.keyword(keyword, value, depth)? {
                siblings.insert(keyword.clone(), value);
            }
        }
        Ok(siblings)
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &'a Value,
        depth: usize,
    ) -> Result<Option<Value>, OpenApiError> {
        Ok(Some(match (keyword, value) {
            _ if is_dropped(keyword) => return Ok(None),
            ("required", value) if !value.is_array() => return Ok(None),
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(map)) => {
                let mut lowered = Map::new();
                for (name, schema) in map {
                    lowered.insert(name.clone(), self.lower(schema, depth + 1)?);
                }
                lowered.into()
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                let lowered = schemas.iter().map(|schema| self.lower(schema, depth + 1));
                Value::Array(lowered.collect::<Result<_, _>>()?)
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                schema,
            ) => self.lower(schema, depth + 1)?,
            _ => value.clone(),
        }))
    }

    fn cut_short(&mut self, schema: &Value) -> Value {
        self.cut = true;
        let kept = ["type", "nullable", "title"].into_iter();
        let kept = kept.filter_map(|key| Some((key.to_owned(), schema.get(key)?.clone())));
        translate(kept.collect())
    }
}

fn is_dropped(keyword: &str) -> bool {
    keyword.starts_with("x-") || DROPPED.contains(&keyword)
}

/// A description may replace the target's own; anything stronger must hold together with it.
fn beside(mut target: Value, mut siblings: Map<String, Value>) -> Value {
    for word in ["description", "title"] {
        if let (Some(object), Some(text)) = (target.as_object_mut(), siblings.get(word)) {
            object.insert(word.to_owned(), text.clone());
            siblings.remove(word);
        }
    }
    if siblings.is_empty() {
        return target;
    }
    match siblings.get_mut("allOf") {
        Some(Value::Array(all)) => all.push(target),
        _ => drop(siblings.insert("allOf".into(), json!([target]))),
    }
    translate(siblings)
}

/// What 3.0 says in its own way, said in JSON Schema.
fn translate(mut schema: Map<String, Value>) -> Value {
    exclusive(&mut schema, "minimum", "exclusiveMinimum");
    exclusive(&mut schema, "maximum", "exclusiveMaximum");
    match schema.remove("nullable") {
        Some(Value::Bool(true)) => or_null(schema),
        _ => schema.into(),
    }
}

fn exclusive(schema: &mut Map<String, Value>, bound: &str, flag: &str) {
    let Some(&Value::Bool(excluded)) = schema.get(flag) else { return };
    schema.remove(flag);
    if excluded && let Some(limit) = schema.remove(bound) {
        schema.insert(flag.to_owned(), limit);
    }
}

fn or_null(mut schema: Map<String, Value>) -> Value {
    let kinds = match schema.get("type") {
        Some(Value::String(kind)) if kind != "null" => json!([kind, "null"]),
        Some(kinds) => kinds.clone(),
        None if schema.keys().all(|keyword| is_annotation(keyword)) => return schema.into(),
        None => return json!({"anyOf": [schema, {"type": "null"}]}),
    };
    schema.insert("type".into(), kinds);
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    schema.into()
}

fn is_annotation(keyword: &str) -> bool {
    matches!(keyword, "title" | "description" | "default" | "deprecated" | "readOnly" | "writeOnly")
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows read better as values")]
mod tests;
