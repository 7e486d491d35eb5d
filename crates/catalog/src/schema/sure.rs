//! Schemas that are certain to compile, so that compiling them can wait for the first call.
//!
//! Only keywords are taken whose right use can be seen at a glance. What is not among them is no
//! worse; it is compiled at once, and then nothing needs to be guessed.

mod pattern;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// INVARIANT: the schema is within the budget, so what it nests and refers to is bounded.
pub(super) fn is_sure(schema: &Value) -> bool {
    let Some(root) = schema.as_object() else { return false };
    // Booleans in place of numbers, among others.
    let old = root.get("$schema").is_some_and(|dialect| dialect.to_string().contains("draft-04"));
    !old && sure_object(root, root, true)
}

fn sure(schema: &Value, root: &Map<String, Value>) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(fields) => sure_object(fields, root, false),
        _ => false,
    }
}

fn sure_object(fields: &Map<String, Value>, root: &Map<String, Value>, is_root: bool) -> bool {
    fields.iter().all(|(keyword, value)| match keyword.as_str() {
        "$schema" => is_root && value.is_string(),
        "$ref" => value.as_str().is_some_and(|reference| defined(reference, root)),
        "type" => is_type(value),
        "properties" | "$defs" | "definitions" => {
            value.as_object().is_some_and(|map| map.values().all(|each| sure(each, root)))
        }
        "additionalProperties" | "items" | "not" | "propertyNames" => sure(value, root),
        "anyOf" | "allOf" | "oneOf" => value
            .as_array()
            .is_some_and(|list| !list.is_empty() && list.iter().all(|each| sure(each, root))),
        "required" => distinct_texts(value),
        "pattern" => value.as_str().is_some_and(pattern::is_sure),
        "title" | "description" | "$comment" | "format" => value.is_string(),
        "enum" => value.as_array().is_some_and(|list| !list.is_empty()),
        "examples" => value.is_array(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "const" | "default" | "nullable" => true,
        other => other.starts_with("x-"),
    })
}

/// Whether the reference names a definition of the root, with nothing in it that must be decoded.
fn defined(reference: &str, root: &Map<String, Value>) -> bool {
    let named = ["$defs", "definitions"].iter().find_map(|group| {
        let name = reference.strip_prefix("#/")?.strip_prefix(group)?.strip_prefix('/')?;
        root.get(*group)?.get(name).map(|_| name)
    });
    named.is_some_and(|name| !name.contains(['/', '~', '%']))
}

fn is_type(value: &Value) -> bool {
    const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];
    let known = |text: &str| TYPES.contains(&text);
    match value {
        Value::String(text) => known(text),
        Value::Array(list) => {
            !list.is_empty()
                && distinct_texts(value)
                && list.iter().filter_map(Value::as_str).all(known)
        }
        _ => false,
    }
}

fn distinct_texts(value: &Value) -> bool {
    let Some(list) = value.as_array() else { return false };
    let texts: BTreeSet<&str> = list.iter().filter_map(Value::as_str).collect();
    texts.len() == list.len()
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn ordinary_schemas_can_wait_and_odd_ones_cannot() {
        let check =
            |schema: Value, expected: bool| assert_eq!(is_sure(&schema), expected, "{schema}");
        check(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            true,
        );
        check(
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
            true,
        );
        check(json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": ["string", "null"]}}}), true);
        check(json!({"$ref": "#/$defs/b", "$defs": {"a": true}}), false);
        check(json!({"$ref": "#/$defs/a/b", "$defs": {"a": true}}), false);
        check(json!({"properties": {"a": {"pattern": "^a$"}}}), true);
        check(json!({"properties": {"a": {"pattern": "^(?!a)"}}}), false);
        check(json!({"type": "text"}), false);
        check(json!({"type": []}), false);
        check(json!({"required": ["a", "a"]}), false);
        check(json!({"minLength": -1}), false);
        check(json!({"$id": "x"}), false);
        check(json!([]), false);
    }

    fn keyword() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "type",
            "properties",
            "$defs",
            "definitions",
            "additionalProperties",
            "items",
            "not",
            "propertyNames",
            "anyOf",
            "allOf",
            "oneOf",
            "required",
            "title",
            "format",
            "enum",
            "examples",
            "minLength",
            "maxItems",
            "minimum",
            "exclusiveMaximum",
            "uniqueItems",
            "const",
            "default",
            "nullable",
            "x-a",
            "$ref",
            "deprecated",
            "$schema",
            "pattern",
            "$id",
        ])
        .prop_map(str::to_owned)
    }

    fn part() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!("string")),
            Just(json!("object")),
            Just(json!(["string", "null"])),
            Just(json!("#/$defs/type")),
            Just(json!("#/definitions/a")),
            Just(json!(true)),
            Just(json!(3)),
            Just(json!(-1)),
            Just(json!(1.5)),
            Just(json!(null)),
            Just(json!([])),
            Just(json!("https://json-schema.org/draft/2020-12/schema")),
            Just(json!("http://json-schema.org/draft-06/schema#")),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec((keyword(), inner.clone()), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
                prop::collection::vec(inner, 0..3).prop_map(Value::Array),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
        #[test]
        fn what_is_sure_compiles(schema in part()) {
            if is_sure(&schema)
                && let Err(error) = Schema::compile(&schema)
            {
                // Refused by the budget or for its dialect, which are looked at before.
                prop_assert!(!matches!(error, super::super::SchemaError::Broken(_)), "{}: {}", schema, error);
            }
        }
    }
}
