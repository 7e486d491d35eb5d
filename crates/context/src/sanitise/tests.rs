//! The shape stays, every string is cleaned, and each profile does what it promises.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn clean(value: &mut Value, profile: Profile) -> u64 {
    Cleaner { profile, redactor: &Redactor::default() }.value(value)
}

fn sanitise(answer: &mut Answer, profile: Profile) -> Cleaning {
    Cleaner { profile, redactor: &Redactor::default() }.answer(answer)
}

/// E7: on values, in keys, and where only the key says what the value is; not inside pictures.
#[test]
fn secrets_go_from_every_string_and_pictures_stay() {
    let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let mut value = json!({token: [token], "password": "hunter22", "data": token.repeat(30)});
    assert_eq!(clean(&mut value, Profile::Verbatim), 4);
    let kept =
        json!({"[redacted]": ["[redacted]"], "password": "[redacted]", "data": "[redacted]"});
    assert_eq!(value, kept);
    let mut picture = json!({"type": "image", "data": "AKIAIOSFODNN7EXAMPLE".repeat(60)});
    assert_eq!(clean(&mut picture, Profile::Strict), 0);
}

#[test]
fn leaves_and_keys_are_cleaned_and_counted() {
    let check = |mut value: Value, expected: Value, changed: u64| {
        assert_eq!(clean(&mut value, Profile::Strict), changed, "{expected}");
        assert_eq!(value, expected);
    };
    check(json!({"a": ["x\u{7}", 1, null]}), json!({"a": ["x", 1, null]}), 1);
    check(json!({"k\u{1b}[1m": {"l\0": "v\0"}}), json!({"k": {"l": "v"}}), 3);
    check(json!({"a": "fine\n"}), json!({"a": "fine\n"}), 0);
}

#[test]
fn keys_that_become_equal_keep_both_values_and_the_order() {
    let mut value = json!({"a\u{1}": 1, "a": 2, "a\u{2}": 3, "a~2": 4, "b": 5});
    clean(&mut value, Profile::Strict);
    assert_eq!(value.to_string(), r#"{"a~3":1,"a":2,"a~4":3,"a~2":4,"b":5}"#);
}

#[test]
fn structured_content_unknown_fields_and_blocks_are_all_cleaned() {
    let mut answer: Answer = serde_json::from_value(json!({
        "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png\u{7}"}],
        "structuredContent": {"s": "\u{9b}1mx"},
        "_meta": {"m": "y\0"},
    }))
    .unwrap();
    let cleaning = sanitise(&mut answer, Profile::Plain);
    let expected =
        Cleaning { profile: "plain".to_owned(), version: Profile::VERSION, changed_leaves: 3 };
    assert_eq!(cleaning, expected);
    assert_eq!(
        serde_json::to_value(answer).unwrap(),
        json!({
            "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
            "structuredContent": {"s": "x"},
            "_meta": {"m": "y"},
        })
    );
}

/// SG-24, SG-37: what is stripped first cannot hide a marker from what is looked for last.
#[test]
fn the_strict_profile_sees_through_what_is_put_between() {
    let check = |dirty: &str, clean: &str| {
        assert_eq!(Profile::Strict.clean(dirty), clean, "{}", dirty.escape_unicode());
    };
    check("__sys\u{200b}tem__", "[marker:system]");
    check("<|im_\u{1b}[31mstart\u{7}|>", "[marker:im_start]");
    check("<\u{e0041}|im_end\u{202e}|>", "[marker:im_end]");
    check("a < b && c > d", "a < b && c > d");
    check("<b>5 &lt; 6</b> https://x.y/?a=1&lt=2", "<b>5 &lt; 6</b> https://x.y/?a=1&lt=2");
}

/// The seed's transforms reach values and, beyond the seed, keys.
#[test]
fn the_stargraph_profile_escapes_and_removes() {
    let mut value = json!({"<k>": ["a\u{7}<b>", "<|im_start|>x", 1]});
    let profile = Profile::Stargraph(Html::Escape);
    assert_eq!(clean(&mut value, profile), 3);
    assert_eq!(value, json!({"&lt;k&gt;": ["a&lt;b&gt;", "x", 1]}));
    assert_eq!(profile.as_str(), "stargraph");
}

#[test]
fn the_verbatim_profile_changes_nothing() {
    let mut answer = Answer::text("bell\u{7}");
    assert_eq!(sanitise(&mut answer, Profile::Verbatim).changed_leaves, 0);
    assert_eq!(answer, Answer::text("bell\u{7}"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = "([ab~2]|[\u{0}-\u{1f}\u{7f}-\u{9f}]|\u{1b}\\[1m|[\u{200b}-\u{202e}\u{fe0f}😀]|<\\||im_end|\\|>|__|system){0,5}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        text.prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text, inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// Values alone, keys left out: what must be the same before and after.
fn skeleton(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.values().map(skeleton).collect(),
        Value::Array(items) => items.iter().map(skeleton).collect(),
        Value::String(_) => json!("text"),
        other => other.clone(),
    }
}

proptest! {
    /// SG-38, A6, A7
    #[test]
    fn cleaning_is_idempotent_and_keeps_the_shape(value in any_json()) {
        for profile in [Profile::Strict, Profile::Plain, Profile::Stargraph(Html::Keep)] {
            let mut cleaned = value.clone();
            clean(&mut cleaned, profile);
            prop_assert_eq!(skeleton(&cleaned), skeleton(&value));
            prop_assert_eq!(clean(&mut cleaned, profile), 0);
        }
    }
}

proptest! {
    /// The short ways of the strict profile against its three steps one after the other.
    #[test]
    fn short_ways_lead_to_the_same_text(
        text in "([ -~]{0,40}|[\t\n\r\u{0}-\u{9f}]|__system__|<\\|im_start\\|>|&lt;|[é漢“\u{200B}\u{202E}😀]){0,12}"
    ) {
        let scrubbed = scrub(&text);
        let revealed = invisible::reveal(&scrubbed);
        prop_assert_eq!(Profile::Strict.clean(&text), marker::mark(&revealed));
    }
}

proptest! {
    /// The short way for lists of objects with the same keys, against each object by itself.
    #[test]
    fn objects_in_a_list_are_cleaned_like_objects_alone(
        keys in proptest::collection::vec("[ab&\u{7}]{1,2}", 1..4),
        picks in proptest::collection::vec(0_usize..4, 0..12),
    ) {
        let object = |pick: usize| -> Value {
            let fields = keys.iter().skip(pick / 3).map(|key| (key.clone(), json!("v\u{7}")));
            if pick == 2 { json!("b\u{7}") } else { Value::Object(fields.collect()) }
        };
        for profile in [Profile::Strict, Profile::Stargraph(Html::Escape), Profile::Verbatim] {
            let alone: Vec<Value> = picks.iter().map(|pick| object(*pick)).collect();
            let mut list = Value::Array(alone.clone());
            let together = clean(&mut list, profile);
            let mut alone = alone;
            let each: u64 = alone.iter_mut().map(|value| clean(value, profile)).sum();
            prop_assert_eq!((list, together), (Value::Array(alone), each));
        }
    }
}
