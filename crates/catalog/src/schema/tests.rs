//! Dialects, budgets, refusals and the order of violations.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, json};

fn compile(schema: &Value) -> Schema {
    Schema::compile(schema).unwrap()
}

fn refused(schema: &Value) -> SchemaError {
    Schema::compile(schema).unwrap_err()
}

/// C31: by instance path, numbers by size, then by the rule.
#[test]
fn violations_are_ordered_by_place() {
    let schema = json!({
        "properties": {"list": {"items": {"type": "string"}}, "b": {"type": "string", "minLength": 3}, "a": {"pattern": "^x$"}},
        "required": ["z"],
    });
    let list: Vec<Value> =
        (0..12).map(|i| if i == 2 || i == 10 { json!(i) } else { json!("") }).collect();
    let found = compile(&schema).check(&json!({"list": list, "b": "", "a": "y"}));
    let places: Vec<&str> =
        found.iter().map(|violation| violation.instance_path.as_str()).collect();
    assert_eq!(places, ["", "/a", "/b", "/list/2", "/list/10"]);
}

/// C32: both paths are RFC 6901 pointers.
#[test]
fn paths_are_json_pointers() {
    let schema = json!({"properties": {"a/b~c": {"type": "string"}}});
    let value = json!({"a/b~c": 1});
    let found = compile(&schema).check(&value);
    assert_eq!(found[0].instance_path, "/a~1b~0c");
    assert_eq!(found[0].schema_path, "/properties/a~1b~0c/type");
    assert_eq!(value.pointer(&found[0].instance_path), Some(&json!(1)));
}

#[test]
fn messages_are_short_and_keep_the_value_out() {
    let schema = json!({"type": "object", "properties": {"key": {"type": "integer"}}});
    let secret = format!("hunter2{}", "x".repeat(100_000));
    let found = compile(&schema).check(&json!({"key": secret}));
    assert_eq!(found[0].message, "value is not of type \"integer\"");
    let crowded = json!({"additionalProperties": false});
    let extra: Map<String, Value> = (0..500).map(|i| (format!("k{i}"), json!(1))).collect();
    let found = compile(&crowded).check(&extra.into());
    assert!(found[0].message.chars().count() <= limits::VIOLATION_CHARS_MAX);
}

#[test]
fn at_most_twenty_violations_are_listed() {
    let found = compile(&json!({"items": {"type": "string"}})).check(&json!(vec![1; 500]));
    assert_eq!(found.len(), VIOLATIONS_MAX);
    assert_eq!(found[19].instance_path, "/19");
    let schema = compile(&json!({"items": {"type": "string"}}));
    let fault = schema.misfit("a", &json!(vec![1; 500])).unwrap();
    assert_eq!(fault.details["more_violations"], 480);
    assert!(schema.misfit("a", &json!([1])).unwrap().details.is_empty());
}

/// C33: a known dialect is honoured, none means 2020-12, an unknown one is refused.
#[test]
fn the_dialect_is_honoured() {
    let accepts = |schema: Value, value: Value| compile(&schema).check(&value).is_empty();
    let tuple = |dialect: &str| json!({"$schema": dialect, "items": [{"type": "string"}]});
    assert!(!accepts(tuple("http://json-schema.org/draft-07/schema#"), json!([1])));
    assert!(accepts(tuple("http://json-schema.org/draft-07/schema#"), json!(["a"])));
    assert!(!accepts(json!({"prefixItems": [{"type": "string"}]}), json!([1])));
    let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true});
    assert!(!accepts(old, json!(1)));
    let unknown = refused(&json!({"$schema": "https://example.com/mine"}));
    assert_eq!(unknown, SchemaError::UnknownDialect("https://example.com/mine".to_owned()));
}

#[test]
fn nothing_outside_the_schema_is_ever_fetched() {
    let check = |reference: &str| {
        let error = refused(&json!({"properties": {"a": {"$ref": reference}}}));
        assert_eq!(error, SchemaError::ForeignReference(reference.to_owned()));
    };
    check("https://example.com/schema.json");
    check("http://169.254.169.254/latest/meta-data");
    check("file:///etc/passwd");
    check("other.json#/x");
    check("#/$defs/absent");
}

#[test]
fn references_inside_the_schema_work() {
    let check = |schema: Value| {
        assert_eq!(compile(&schema).check(&json!({"a": 1})).len(), 1, "{schema}");
    };
    check(json!({"properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "string"}}}));
    check(
        json!({"properties": {"a": {"$ref": "#/%24defs/t"}}, "$defs": {"t": {"type": "string"}}}),
    );
    check(
        json!({"properties": {"a": {"$ref": "#t"}}, "$defs": {"t": {"$anchor": "t", "type": "string"}}}),
    );
    check(
        json!({"$id": "https://e.com/r", "properties": {"a": {"$ref": "https://e.com/t"}}, "$defs": {"t": {"$id": "https://e.com/t", "type": "string"}}}),
    );
    let tree = json!({"type": "object", "properties": {"child": {"$ref": "#"}}});
    assert_eq!(compile(&tree).check(&json!({"child": {"child": 5}})).len(), 1);
}

#[test]
fn data_that_looks_like_a_reference_is_data() {
    compile(
        &json!({"default": {"$ref": "x.json"}, "enum": [{"$ref": "y.json"}], "properties": {"$ref": {"type": "string"}}}),
    );
}

#[test]
fn a_schema_over_budget_is_refused() {
    let long = "x".repeat(limits::SCHEMA_BYTES_MAX);
    assert_eq!(refused(&json!({"description": long})), SchemaError::TooLarge);
    let nested = |levels| (0..levels).fold(json!({}), |inner, _| json!({"not": inner}));
    assert_eq!(refused(&nested(limits::SCHEMA_DEPTH_MAX)), SchemaError::TooDeep);
    compile(&nested(limits::SCHEMA_DEPTH_MAX - 1));
    let many: Map<String, Value> =
        (0..limits::SUBSCHEMAS_MAX).map(|i| (format!("p{i}"), json!({}))).collect();
    assert_eq!(refused(&json!({"properties": many})), SchemaError::TooManySubschemas);
    assert_eq!(refused(&json!("text")), SchemaError::NotAnObject);
}

fn chain(links: usize, link: impl Fn(usize) -> Value) -> Value {
    let names: Map<String, Value> = (0..links).map(|i| (format!("a{i}"), link(i + 1))).collect();
    let mut schema = json!({"$ref": "#/$defs/a0", "$defs": names});
    schema["$defs"][format!("a{links}")] = json!({"type": "object"});
    schema
}

/// Thirty definitions, each naming the next one twice: a billion checks for one value.
#[test]
fn a_reference_bomb_is_refused() {
    let twice = |next| {
        let reference = json!({"$ref": format!("#/$defs/a{next}")});
        json!({"allOf": [reference, reference]})
    };
    assert_eq!(refused(&chain(30, twice)), SchemaError::TooEntangled);
    compile(&chain(8, twice));
}

#[test]
fn a_long_row_of_references_is_refused_before_it_eats_the_stack() {
    let once = |next| json!({"$ref": format!("#/$defs/a{next}")});
    assert_eq!(refused(&chain(1_500, once)), SchemaError::TooEntangled);
    assert_eq!(compile(&chain(60, once)).check(&json!(1)).len(), 1);
}

#[test]
fn a_broken_schema_says_where() {
    let error = refused(&json!({"properties": {"a": {"type": "strin"}}}));
    assert!(error.to_string().starts_with("at `/properties/a/type`: "), "{error}");
}

#[test]
fn patterns_with_look_around_work_within_a_bound() {
    let schema = compile(&json!({"pattern": r"^(?!\.)[a-z.]+$"}));
    assert_eq!(schema.check(&json!("a.b")), []);
    assert_eq!(schema.check(&json!(".b")).len(), 1);
    let hostile = compile(&json!({"pattern": r"^(?!z)(x+x+)+y$"}));
    assert_eq!(hostile.check(&json!("x".repeat(5_000))).len(), 1);
}

proptest! {
    #[test]
    fn the_order_of_places_is_total(a in "(/[ab0-9]{1,2}){0,3}", b in "(/[ab0-9]{1,2}){0,3}", c in "(/[ab0-9]{1,2}){0,3}") {
        prop_assert_eq!(by_place(&a, &b), by_place(&b, &a).reverse());
        if by_place(&a, &b).is_le() && by_place(&b, &c).is_le() {
            prop_assert!(by_place(&a, &c).is_le());
        }
    }
}

/// At most 10,000 references once every repetition is followed.
#[test]
fn references_are_counted_with_every_repetition() {
    let tree = |levels: usize| {
        let mut definitions = Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(format!("d{level}"), json!({"anyOf": [next, next]}));
        }
        definitions.insert(format!("d{levels}"), json!({"type": "string"}));
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
    };
    assert!(Schema::compile(&tree(8)).is_ok());
    assert_eq!(Schema::compile(&tree(13)).unwrap_err(), SchemaError::TooEntangled);
}
