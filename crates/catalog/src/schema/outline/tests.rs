//! What a long schema is cut to, and what of it is never cut.

use super::*;
use crate::schema::Schema;
use serde_json::json;

/// What is answered to these arguments.
fn told(schema: &Value, args: &Value) -> Value {
    let broken = Schema::compile(schema).unwrap().check(args);
    assert!(!broken.is_empty());
    let told = outline(schema, &broken);
    assert!(told.to_string().len() <= limits::OUTLINE_BYTES_MAX, "{told}");
    told
}

fn fields(count: usize, each: &Value) -> Map<String, Value> {
    (0..count).map(|n| (format!("p{n}"), each.clone())).collect()
}

#[test]
fn a_short_schema_is_given_whole_and_a_wordy_one_without_words() {
    let small = json!({"type": "object", "properties": {"a": {"description": "x"}}});
    assert_eq!(outline(&small, &[]), small);
    let words = "word ".repeat(2_000);
    let wordy = json!({"type": "object", "properties": {"description": {"type": "string", "description": words}}});
    assert_eq!(
        outline(&wordy, &[]),
        json!({"type": "object", "properties": {"description": {"type": "string"}}})
    );
}

#[test]
fn what_was_broken_is_given_in_full_however_deep_it_lies() {
    let kind = json!({"type": "string", "enum": ["small", "large"], "description": "How big."});
    let part = json!({"type": "object", "properties": {"kind": kind, "note": {"type": "string"}}});
    let mut properties = fields(200, &json!({"type": "string", "pattern": "^x{1,9}$"}));
    properties.insert(
        "order".to_owned(),
        json!({"type": "object", "properties": {"parts": {"type": "array", "items": part}}}),
    );
    let schema = json!({"type": "object", "properties": properties});
    let told = told(&schema, &json!({"order": {"parts": [{"kind": "huge"}]}}));
    let place = "/properties/order/properties/parts/items/properties/kind";
    assert_eq!(told.pointer(place), Some(&kind));
    assert_eq!(told["$comment"], "140 more properties");
}

#[test]
fn what_must_be_given_comes_first_with_its_type() {
    let mut properties = fields(900, &json!({"type": "string", "pattern": "^x{1,9}$"}));
    let nested = json!({"type": "object", "properties": {"mode": {"enum": ["a", "b"]}}, "required": ["mode"]});
    properties.insert("last".to_owned(), nested);
    let schema = json!({"type": "object", "properties": properties, "required": ["last"]});
    let told = told(&schema, &json!({}));
    assert_eq!(told["properties"]["last"]["type"], "object");
    assert_eq!(told["properties"].as_object().unwrap().keys().next().unwrap(), "last");
    assert_eq!(told["required"], json!(["last"]));
}

#[test]
fn definitions_that_are_needed_come_along() {
    let color = json!({"enum": ["red", "green"]});
    let mut definitions = fields(
        100,
        &json!({"type": "object", "properties": {"x": {"type": "string", "minLength": 1}}}),
    );
    definitions.insert("color".to_owned(), color.clone());
    let schema = json!({
        "type": "object",
        "properties": {"paint": {"$ref": "#/$defs/color"}, "size": {"type": "integer"}},
        "required": ["paint"],
        "$defs": definitions,
    });
    let missing = told(&schema, &json!({}));
    assert_eq!(missing["$defs"], json!({"color": color}));
    let wrong = told(&schema, &json!({"paint": "blue"}));
    assert_eq!(wrong["$defs"]["color"], color);
}

#[test]
fn however_long_a_schema_its_outline_is_short() {
    let names: Vec<String> = (0..1_500).map(|n| format!("p{n}")).collect();
    let crowded =
        json!({"properties": fields(1_500, &json!({"type": "string"})), "required": names});
    told(&crowded, &json!({"p1": 1}));
    let long = "x".repeat(9_000);
    told(&json!({"enum": [long]}), &json!(1));
    told(&json!({"properties": {"a": {"const": long}}}), &json!({"a": 1}));
    let wide: Vec<Value> = (0..600).map(|n| json!({"const": n})).collect();
    told(&json!({"properties": {"a": {"anyOf": wide}}}), &json!({"a": -1}));
}
