//! Nothing about a definition changes unnoticed, and nothing that is no change is called one.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn definition() -> Value {
    json!({
        "name": "search", "title": "Search", "description": "Finds things.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to find.", "maxLength": 100},
                "description": {"type": "string"},
                "kind": {"enum": ["a", "b"]}
            },
            "required": ["query"], "additionalProperties": false
        },
        "outputSchema": {"type": "object", "properties": {"hits": {"type": "array", "items": {"type": "integer"}}}},
        "annotations": {"readOnlyHint": true}, "icons": [{"src": "https://example.com/i.png"}],
        "_meta": {"version": "1", "nested": [1, {"deep": null}]}
    })
}

fn upstream() -> UpstreamName {
    UpstreamName::from_string("u")
}

fn tool(name: &str) -> Name {
    (ItemKind::Tool, name.to_owned())
}

fn look(pins: &[Pin], definitions: &[Value]) -> Review {
    review(&upstream(), pins, &items(definitions, &Extras::default()))
}

fn pins(definitions: &[Value]) -> Vec<Pin> {
    look(&[], definitions).keep
}

fn drift_of(before: &Value, after: &Value) -> Option<Drift> {
    let review = look(&pins(std::slice::from_ref(before)), std::slice::from_ref(after));
    review.drifts.into_values().next()
}

#[test]
fn the_first_sight_is_the_baseline() {
    let review = look(&[], &[definition(), json!({"name": "b"}), json!(7)]);
    assert_eq!(review.drifts, BTreeMap::new());
    let kept: Vec<&str> = review.keep.iter().map(|pin| pin.name.as_str()).collect();
    assert_eq!(kept, ["b", "search"]);
}

#[test]
fn a_change_is_graded_by_what_it_means() {
    let check = |pointer: &str, value: Value, grade: Grade| {
        let mut after = definition();
        *after.pointer_mut(pointer).unwrap() = value;
        let drift = drift_of(&definition(), &after).unwrap();
        assert_eq!((drift.as_str(), drift.grade()), ("changed", grade), "{pointer}");
        assert!(drift.changes().iter().any(|change| change.pointer.starts_with(pointer)));
    };
    check("/description", json!("Also sends your files away."), Grade::Prose);
    check("/inputSchema/properties/query/description", json!("x"), Grade::Prose);
    check("/icons/0/src", json!("https://evil.example"), Grade::Prose);
    check("/annotations/readOnlyHint", json!(false), Grade::Possible);
    check("/_meta/nested/1/deep", json!(0), Grade::Possible);
    check("/inputSchema/properties/query/maxLength", json!(5), Grade::Possible);
    check("/inputSchema/properties/query/type", json!("number"), Grade::Contract);
    check("/inputSchema/properties/description", json!({"type": "null"}), Grade::Contract);
    check("/inputSchema/required", json!(["query", "kind"]), Grade::Contract);
    check("/inputSchema/properties/kind/enum", json!(["a"]), Grade::Contract);
    check("/outputSchema/properties/hits/items/type", json!("string"), Grade::Contract);
}

/// What is new beside what was there breaks nobody only if nobody needs to meet it.
#[test]
fn what_is_new_is_graded_by_whom_it_can_meet() {
    let check = |place: &str, key: &str, value: Value, grade: Grade| {
        let mut after = definition();
        let parent = after.pointer_mut(place).unwrap();
        match parent {
            Value::Array(list) => list.push(value),
            parent => parent[key] = value,
        }
        let drift = drift_of(&definition(), &after).unwrap();
        assert_eq!(drift.grade(), grade, "{place} {key}");
    };
    let narrow = json!({"required": ["kind"]});
    check("/inputSchema/properties", "more", json!({"type": "string"}), Grade::Possible);
    check("/inputSchema", "$defs", json!({}), Grade::Contract);
    check("/inputSchema", "not", narrow.clone(), Grade::Contract);
    check("/inputSchema", "allOf", json!([narrow]), Grade::Contract);
    check("/inputSchema", "patternProperties", json!({"^q": {"maxLength": 1}}), Grade::Contract);
    check("/inputSchema/properties/query", "not", json!({"const": "x"}), Grade::Contract);
    check("/outputSchema", "additionalProperties", json!(false), Grade::Contract);
    let list = |members: Value| json!({"name": "t", "inputSchema": {"allOf": members}});
    let changes = diff(&list(json!([{}])), &list(json!([{}, narrow])));
    assert_eq!(changes[0].grade, Grade::Contract);
    let closed = |value: Value| json!({"name": "t", "inputSchema": value});
    let changes = diff(&closed(json!({})), &closed(json!({"additionalProperties": false})));
    assert_eq!(changes[0].grade, Grade::Contract);
}

/// Lists in which order means nothing are compared as sets, and graded by whom they bind.
#[test]
fn members_that_come_and_go_are_graded_by_whom_they_bind() {
    use Grade::{Contract, Order, Possible};
    let check = |schema: &str, keyword: &str, after: Value, expected: &[(&str, Grade)]| {
        let list = |values: Value| json!({"name": "t", schema: {keyword: values}});
        let before = list(json!(["m", "n", "o"]));
        let changes = diff(&before, &list(after));
        let got: Vec<(&str, Grade)> =
            changes.iter().map(|change| (change.pointer.as_str(), change.grade)).collect();
        let place = |at: &str| format!("/{schema}/{keyword}{at}");
        let places: Vec<String> = expected.iter().map(|(at, _)| place(at)).collect();
        let expected: Vec<(&str, Grade)> = places
            .iter()
            .map(String::as_str)
            .zip(expected.iter().map(|(_, grade)| *grade))
            .collect();
        assert_eq!(got, expected, "{schema} {keyword}");
    };
    for keyword in ["required", "enum", "type"] {
        check("inputSchema", keyword, json!(["o", "m", "n"]), &[("", Order)]);
        check("inputSchema", keyword, json!(["m", "n", "o", "m"]), &[("", Order)]);
    }
    check("inputSchema", "enum", json!(["l", "m", "n", "o"]), &[("/0", Possible)]);
    check("inputSchema", "enum", json!(["m", "o"]), &[("/1", Contract)]);
    check("inputSchema", "required", json!(["l", "m", "n", "o"]), &[("/0", Contract)]);
    check("inputSchema", "required", json!(["n", "o"]), &[("/0", Possible)]);
    check("outputSchema", "enum", json!(["m", "n", "o", "p"]), &[("/3", Contract)]);
    check("outputSchema", "enum", json!(["m", "n"]), &[("/2", Possible)]);
    check("outputSchema", "required", json!(["m", "n"]), &[("/2", Contract)]);
}

/// What was accepted as gone does not make its upstream a new one.
#[test]
fn an_upstream_of_which_nothing_is_left_was_still_seen() {
    let again = look(&[seen(&upstream())], &[json!({"name": "a"})]);
    assert_eq!(again.drifts[&tool("a")].as_str(), "added");
    assert_eq!(again.keep, []);
    assert_eq!(look(&[seen(&upstream())], &[]), Review::default());
}

#[test]
fn a_new_optional_parameter_is_possibly_breaking_and_a_lost_one_is_a_contract_change() {
    let mut more = definition();
    more["inputSchema"]["properties"]["limit"] = json!({"type": "integer"});
    assert_eq!(drift_of(&definition(), &more).unwrap().grade(), Grade::Possible);
    assert_eq!(drift_of(&more, &definition()).unwrap().grade(), Grade::Contract);
}

#[test]
fn coming_going_and_coming_back_are_noticed() {
    let (a, b) = (json!({"name": "a"}), json!({"name": "b"}));
    let first = pins(std::slice::from_ref(&a));
    let added = look(&first, &[a.clone(), b.clone()]);
    let b_whole = Change {
        pointer: "/name".to_owned(),
        grade: Grade::Possible,
        before: None,
        after: Some(json!("b")),
    };
    assert_eq!(added.drifts, BTreeMap::from([(tool("b"), Drift::Added(vec![b_whole]))]));

    let gone = look(&first, std::slice::from_ref(&b));
    assert_eq!(gone.drifts[&tool("a")], Drift::Removed);
    assert_eq!(gone.keep, [Pin { gone: true, ..first[0].clone() }]);

    let back = look(&gone.keep, std::slice::from_ref(&a));
    assert_eq!(back.drifts[&tool("a")], Drift::Returned(Vec::new()));
    assert_eq!(back.drifts[&tool("a")].grade(), Grade::Possible);
}

#[test]
fn prompts_and_resources_are_held_against_pins_of_their_own() {
    let extras = |about: &str| Extras {
        prompts: vec![json!({"name": "a", "description": about})],
        resources: vec![json!({"uri": "x://1", "name": "a", "description": about})],
        templates: vec![json!({"uriTemplate": "x://{id}", "name": "a"})],
        ..Extras::default()
    };
    let (tool_a, before, after) = ([json!({"name": "a"})], extras("old"), extras("new"));
    let first = review(&upstream(), &[], &items(&tool_a, &before)).keep;
    assert_eq!(first.len(), 4);
    assert_eq!(review(&upstream(), &first, &items(&tool_a, &before)), Review::default());
    let drifted = review(&upstream(), &first, &items(&tool_a, &after)).drifts;
    let names: Vec<Name> = drifted.into_keys().collect();
    let of = |kind, name: &str| (kind, name.to_owned());
    assert_eq!(names, [of(ItemKind::Resource, "x://1"), of(ItemKind::Prompt, "a")]);
}

/// All places of a value that are leaves.
fn leaves(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(field, format!("{pointer}/{key}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, format!("{pointer}/{index}"), found);
            }
        }
        _ => found.push(pointer),
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z~/\" ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-z~/]{0,5}", inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().rev().map(|(k, v)| (k.clone(), reversed(v))).collect())
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

proptest! {
    /// A2: every single-leaf mutation is detected, wherever it stands.
    #[test]
    fn every_changed_leaf_is_drift(body in any_json(), at in any::<prop::sample::Index>(), other in any_json()) {
        let mut before = definition();
        before["_meta"]["body"] = body;
        let mut places = Vec::new();
        leaves(&before, String::new(), &mut places);
        places.retain(|place| place != "/name");
        let place = at.get(&places);
        let mut after = before.clone();
        prop_assume!(canonical::bytes(before.pointer(place).unwrap()) != canonical::bytes(&other));
        *after.pointer_mut(place).unwrap() = other;
        let drift = drift_of(&before, &after);
        prop_assert!(drift.is_some_and(|drift| !drift.changes().is_empty()), "{}", place);
    }

    /// A2: key order and white space are not drift.
    #[test]
    fn another_spelling_is_no_drift(body in any_json()) {
        let mut before = definition();
        before["_meta"]["body"] = body;
        let spread = serde_json::to_string_pretty(&reversed(&before)).unwrap();
        let after: Value = serde_json::from_str(&spread).unwrap();
        prop_assert_eq!(drift_of(&before, &after), None);
        prop_assert_eq!(diff(&before, &after), Vec::new());
    }
}
