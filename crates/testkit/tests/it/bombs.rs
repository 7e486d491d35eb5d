//! Schemas made to keep a validator busy: each ends in an answer or in a typed refusal, by a budget
//! that counts and not by a clock.

use gateway::OnViolation;
use model::Code;
use serde_json::{Map, Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, tool};

use crate::code;

/// Calls a tool whose argument `a` has this schema, with this value.
async fn called(schema: Value, value: Value) -> Option<Code> {
    let mut input = json!({"type": "object", "properties": {"a": schema.clone()}});
    // Definitions are found from the root.
    if let (Some(input), Some(definitions)) = (input.as_object_mut(), schema.get("$defs")) {
        input.insert("$defs".to_owned(), definitions.clone());
    }
    let definition = tool("it", json!({"inputSchema": input}));
    let recorder =
        Recorder::new().tool(definition, Script::Echo).tool(tool("other", json!({})), Script::Echo);
    let world = TestGateway::new().upstream("shelf", recorder.clone()).start().await;
    let done = world.send(World::request("it", json!({"a": value}))).await;
    let got = code(&done);
    assert_eq!(recorder.count(), usize::from(got.is_none()));
    assert_eq!(code(&world.call("other", json!({})).await), None, "others are not held up");
    got
}

fn doubling(levels: usize) -> Value {
    let mut definitions = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        definitions.insert(format!("a{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert(format!("a{levels}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/a0", "$defs": definitions})
}

fn many(count: usize, each: impl Fn(usize) -> Value) -> Vec<Value> {
    (0..count).map(each).collect()
}

/// D8 and its measurements: the list of SECURITY.md, row by row.
#[tokio::test]
async fn a_schema_made_to_keep_us_busy_is_held_back() {
    let held = Some(Code::SchemaInvalid);
    for schema in [
        json!({"$ref": "http://169.254.169.254/latest"}),
        json!({"$ref": "file:///etc/passwd"}),
        doubling(20),
        doubling(26),
        doubling(40),
        json!({"type": "string", "pattern": "((a{1,100}){1,100}){1,100}"}),
        json!({"enum": many(100_000, |n| json!(n))}),
        json!({"oneOf": many(20_000, |n| json!({"const": n}))}),
        (0..40).fold(json!({}), |inner, _| json!({"items": inner})),
    ] {
        let shown = schema.to_string().chars().take(60).collect::<String>();
        assert_eq!(called(schema, json!("x")).await, held, "{shown}");
    }
}

/// What is merely odd is judged within bounds.
#[tokio::test]
async fn a_pattern_or_a_cycle_made_to_keep_us_busy_is_judged_within_bounds() {
    let long = || json!("a".repeat(20_000) + "!");
    let invalid = Some(Code::ArgsInvalid);
    for pattern in ["^(a+)+$", "^(a|a)*$", "^(?=a)(a+)+$"] {
        let schema = json!({"type": "string", "pattern": pattern});
        assert_eq!(called(schema, long()).await, invalid, "{pattern}");
    }
    let backreference = json!({"type": "string", "pattern": r"^(\w+\s?)*\1$"});
    assert_eq!(called(backreference, long()).await, invalid);
    let mutual = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    assert_eq!(called(mutual, json!(1)).await, Some(Code::SchemaInvalid));
    let unique = json!({"type": "array", "uniqueItems": true});
    assert_eq!(called(unique, json!(many(20_000, |n| json!(n)))).await, None);
}

/// The same schema as an output schema, with this value as the answer.
async fn answered(schema: Value, value: Value) -> Option<Code> {
    let mut output = json!({"type": "object", "properties": {"a": schema.clone()}});
    if let (Some(output), Some(definitions)) = (output.as_object_mut(), schema.get("$defs")) {
        output.insert("$defs".to_owned(), definitions.clone());
    }
    let definition = tool("it", json!({"outputSchema": output}));
    let recorder = Recorder::new().tool(definition, Script::Echo);
    let gate = TestGateway::new().upstream("shelf", recorder);
    let world = gate.settings(|set| set.output.on_violation = OnViolation::Block).start().await;
    code(&world.send(World::request("it", json!({"a": value}))).await)
}

/// The validator gathers all errors before it tells one: a schema that leads to itself twice makes
/// 2^60 of a value sixty deep, a union of many branches as many as it has for every element. A
/// hostile upstream sends both the schema and the answer.
#[tokio::test]
async fn errors_past_counting_are_told_as_one_whoever_sends_them() {
    let way = json!({"properties": {"c": {"$ref": "#/$defs/n"}}});
    let cyclic =
        json!({"$ref": "#/$defs/n", "$defs": {"n": {"required": ["c"], "allOf": [way, way]}}});
    let deep = (0..50).fold(json!({}), |inner, _| json!({"c": inner}));
    let union = json!({"type": "array", "items": {"anyOf": many(40, |n| json!({"const": n}))}});
    let wide = json!(vec![-1; 200_000]);
    for (schema, value) in [(cyclic, deep), (union, wide)] {
        assert_eq!(called(schema.clone(), value.clone()).await, Some(Code::ArgsInvalid));
        assert_eq!(answered(schema, value).await, Some(Code::OutputInvalid));
    }
}

/// SG-21, SG-28, SG-29, SG-40: all that is wrong, leftmost first, with both pointers.
#[tokio::test]
async fn every_error_is_told_leftmost_first_with_both_pointers() {
    let input = json!({
        "type": "object",
        "properties": {
            "list": {"items": {"type": "string"}},
            "a": {"type": "integer"},
        },
        "required": ["z"],
    });
    let definition = tool("it", json!({"inputSchema": input}));
    let recorder = Recorder::new().tool(definition, Script::Echo);
    let world = TestGateway::new().upstream("shelf", recorder).start().await;
    let args = json!({"list": ["", "", 1, "", "", "", "", "", "", "", 2], "a": "x", "z": 1});
    let fault = world.call("it", args).await.fault.unwrap();
    let places: Vec<&str> = fault.violations.iter().map(|v| v.instance_path.as_str()).collect();
    assert_eq!(places, ["/a", "/list/2", "/list/10"]);
    assert_eq!(fault.details["violation"], "mcp-input-schema");
    assert_eq!(fault.details["tool_id"], "it");
    assert_eq!(fault.details["instance_path"], "/a");
    assert_eq!(fault.details["schema_path"], "/properties/a/type");
    assert!(fault.message.contains("`/a`"), "{fault}");
}
