//! Schemas before and after, one row each.

use super::*;

fn lower(dialect: Dialect, root: &Value, schema: &Value) -> (Value, bool) {
    let refs = Refs { root, dialect };
    let mut lowering = Lowering::new(refs);
    let lowered = lowering.schema(schema).unwrap();
    (lowered, lowering.cut)
}

fn check(schema: Value, expected: Value) {
    let root = json!({"components": {"schemas": {
        "Pet": {"type": "object", "properties": {"name": {"type": "string"}}},
    }}});
    assert_eq!(lower(Dialect::V30, &root, &schema).0, expected);
}

#[test]
fn nullable_becomes_a_type() {
    check(json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]}));
    check(json!({"type": "string", "nullable": false}), json!({"type": "string"}));
    check(
        json!({"type": "string", "enum": ["a"], "nullable": true}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    check(
        json!({"allOf": [{"type": "object"}], "nullable": true}),
        json!({"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}]}),
    );
    check(json!({"nullable": true, "title": "any"}), json!({"title": "any"}));
}

#[test]
fn boolean_bounds_become_numbers() {
    check(
        json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}),
        json!({"type": "integer", "exclusiveMinimum": 1}),
    );
    check(json!({"maximum": 9, "exclusiveMaximum": false}), json!({"maximum": 9}));
}

#[test]
fn a_property_may_be_called_like_a_keyword() {
    let schema = json!({"type": "object", "properties": {
        "nullable": {"type": "boolean"}, "$ref": {"type": "string"}, "xml": {"type": "string"},
    }});
    check(schema.clone(), schema);
}

#[test]
fn examples_and_defaults_are_not_schemas() {
    let schema = json!({"default": {"$ref": "https://example.com"}, "enum": [{"x-a": 1}]});
    check(schema.clone(), schema);
    check(json!({"type": "string", "example": "x", "x-go": 1}), json!({"type": "string"}));
}

#[test]
fn a_reference_is_written_out_with_what_stands_beside_it() {
    let pet = "#/components/schemas/Pet";
    check(
        json!({"$ref": pet, "description": "the dog", "required": true}),
        json!({"type": "object", "properties": {"name": {"type": "string"}},
            "description": "the dog"}),
    );
}

#[test]
fn in_3_1_what_stands_beside_a_reference_holds_too() {
    let root = json!({"A": {"type": "integer"}, "B": {"minimum": 1}});
    let check = |schema: Value, expected: Value| {
        assert_eq!(lower(Dialect::V31, &root, &schema).0, expected);
    };
    check(
        json!({"$ref": "#/A", "maximum": 9}),
        json!({"maximum": 9, "allOf": [{"type": "integer"}]}),
    );
    check(
        json!({"$ref": "#/A", "allOf": [{"$ref": "#/B"}]}),
        json!({"allOf": [{"minimum": 1}, {"type": "integer"}]}),
    );
}

#[test]
fn a_schema_that_contains_itself_is_cut_to_its_type() {
    let root = json!({"Node": {"type": "object", "properties": {
        "next": {"$ref": "#/Node"}, "all": {"type": "array", "items": {"$ref": "#/Node"}},
    }}});
    let (lowered, cut) = lower(Dialect::V31, &root, &json!({"$ref": "#/Node"}));
    assert!(cut);
    let expected = json!({"type": "object", "properties": {
        "next": {"type": "object"}, "all": {"type": "array", "items": {"type": "object"}},
    }});
    assert_eq!(lowered, expected);
}

/// Each level names the next twice: written out in full it would have 2^40 leaves.
#[test]
fn a_schema_that_doubles_at_each_level_stays_bounded() {
    let mut root = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/L{}", level + 1)});
        let twice = json!({"type": "object", "properties": {"a": next, "b": next}});
        root.insert(format!("L{level}"), twice);
    }
    root.insert("L40".into(), json!({"type": "string"}));
    let (lowered, cut) = lower(Dialect::V31, &root.into(), &json!({"$ref": "#/L0"}));
    assert!(cut);
    assert!(lowered.to_string().len() < 100 * SCHEMA_NODES_MAX);
}
