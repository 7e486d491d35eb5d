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

/// A definition that leads to itself by two ways: every level of a value doubles the errors.
fn twice_itself() -> Value {
    let way = json!({"properties": {"c": {"$ref": "#/$defs/n"}}});
    json!({"$ref": "#/$defs/n", "$defs": {"n": {"required": ["c"], "allOf": [way, way]}}})
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({"c": inner}))
}

fn one_of_many(branches: usize) -> Value {
    let branch = |n| json!({"const": n});
    json!({"items": {"anyOf": (0..branches).map(branch).collect::<Vec<_>>()}})
}

/// The validator gathers every error before it gives the first, so it is asked for them only where
/// there cannot be too many.
#[test]
fn a_value_with_errors_past_counting_gets_one_answer() {
    const EXACT: &str = "required property";
    const NOWHERE: &str = "too large to say where";
    let check = |schema: Value, value: Value, wanted: &str| {
        let found = compile(&schema).check(&value);
        let first = found.first().map_or("", |violation| violation.message.as_str());
        assert!(first.contains(wanted), "{first}: {wanted}");
        assert!(!first.contains("too large") || found.len() == 1, "{found:?}");
    };
    check(twice_itself(), nested(3), EXACT);
    check(twice_itself(), nested(20), NOWHERE);
    check(twice_itself(), nested(60), NOWHERE);
    let once = json!({"required": ["c"], "properties": {"c": {"$ref": "#"}}});
    check(once, nested(60), EXACT);
    check(one_of_many(40), json!(vec![-1; 100]), "not valid under any");
    check(one_of_many(40), json!(vec![-1; 20_000]), NOWHERE);
    check(one_of_many(1_900), json!(vec![-1; 50_000]), "too large to be held");
    check(json!({"pattern": "^(?!z)(x+x+)+y$"}), json!("x".repeat(5_000)), "");
    let words = json!(vec!["x".repeat(20); 60_000]);
    check(json!({"items": {"pattern": "^(?!z)(x+x+)+y$"}}), words, "too large to be held");
}

/// What a value needs to be judged by is what it costs, not how long the schema is.
#[test]
fn a_large_value_is_held_against_a_large_schema() {
    let fields: Map<String, Value> =
        (0..300).map(|n| (format!("p{n}"), json!({"type": ["string", "null"]}))).collect();
    let row = json!({"type": "object", "properties": fields, "additionalProperties": false});
    let schema = compile(&json!({"type": "array", "items": row}));
    assert_eq!(schema.check(&json!(vec![json!({"p1": "a", "p299": null}); 20_000])), []);
    let any = json!({"anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "object", "additionalProperties": {"$ref": "#"}},
    ]});
    let deep = (0..50).fold(json!(1), |inner, _| json!([inner, {"a": inner.is_number()}]));
    assert_eq!(compile(&any).check(&deep), []);
}

/// It would go round at one value for ever, or as often as there are orders of its definitions.
#[test]
fn a_schema_that_leads_back_to_itself_at_the_same_value_is_refused() {
    let check = |schema: Value| assert_eq!(refused(&schema), SchemaError::Endless, "{schema}");
    check(json!({"$ref": "#"}));
    check(
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
    );
    let all: Vec<Value> = (0..8).map(|n| json!({"$ref": format!("#/$defs/d{n}")})).collect();
    let each: Map<String, Value> =
        (0..8).map(|n| (format!("d{n}"), json!({"not": {"allOf": all}}))).collect();
    check(json!({"$ref": "#/$defs/d0", "$defs": each}));
    compile(&json!({"anyOf": [{"type": "null"}, {"items": {"$ref": "#"}}]}));
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
