//! Cleans every string of an answer, keys included, and counts what changed.
//!
//! The shape of the JSON never changes: as many entries, in the same order. Data in base64 has
//! nothing to clean and so passes as it is. Markers and invisible characters are not looked for.

mod strip;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use model::Answer;
use model::result::Cleaning;
use serde_json::{Map, Value};

pub use strip::scrub;

/// How much is taken out of the model's copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Control characters and whole terminal sequences.
    #[default]
    Plain,
    /// Nothing: for upstreams the operator trusts as much as the gate itself.
    Verbatim,
}

impl Profile {
    /// Goes up when the same profile starts to take out something else.
    const VERSION: u32 = 1;

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Verbatim => "verbatim",
        }
    }
}

pub(crate) fn sanitise(answer: &mut Answer, profile: Profile) -> Cleaning {
    let changed_leaves = match profile {
        Profile::Plain => clean_answer(answer),
        Profile::Verbatim => 0,
    };
    Cleaning { profile: profile.as_str().to_owned(), version: Profile::VERSION, changed_leaves }
}

/// Cleans in place and tells how many strings changed.
pub(crate) fn clean_value(value: &mut Value) -> u64 {
    match value {
        Value::String(text) => clean_string(text),
        Value::Array(items) => items.iter_mut().map(clean_value).sum(),
        Value::Object(fields) => clean_fields(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn clean_answer(answer: &mut Answer) -> u64 {
    let content: u64 = answer.content.iter_mut().map(clean_value).sum();
    content + answer.structured.as_mut().map_or(0, clean_value) + clean_fields(&mut answer.rest)
}

fn clean_string(text: &mut String) -> u64 {
    let clean = match scrub(text) {
        Cow::Borrowed(_) => return 0,
        Cow::Owned(clean) => clean,
    };
    *text = clean;
    1
}

fn clean_fields(fields: &mut Map<String, Value>) -> u64 {
    clean_keys(fields) + fields.values_mut().map(clean_value).sum::<u64>()
}

fn clean_keys(fields: &mut Map<String, Value>) -> u64 {
    let dirty = fields.keys().filter(|key| matches!(scrub(key), Cow::Owned(_))).count();
    if dirty > 0 {
        let mut taken = fields.keys().filter(|key| is_clean(key)).cloned().collect();
        let mut counts = BTreeMap::new();
        let entries = std::mem::take(fields).into_iter();
        *fields = entries
            .map(|(key, value)| match scrub(&key) {
                Cow::Borrowed(_) => (key, value),
                Cow::Owned(clean) => (free_key(clean, &mut taken, &mut counts), value),
            })
            .collect();
    }
    dirty as u64
}

fn is_clean(key: &str) -> bool {
    matches!(scrub(key), Cow::Borrowed(_))
}

/// The key itself, or with `~2`, `~3` when another entry has it. The counts keep this linear.
fn free_key(
    clean: String,
    taken: &mut BTreeSet<String>,
    counts: &mut BTreeMap<String, u64>,
) -> String {
    if taken.insert(clean.clone()) {
        return clean;
    }
    let count = counts.entry(clean.clone()).or_insert(1);
    loop {
        *count += 1;
        let key = format!("{clean}~{count}");
        if taken.insert(key.clone()) {
            return key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn leaves_and_keys_are_cleaned_and_counted() {
        let check = |mut value: Value, expected: Value, changed: u64| {
            assert_eq!(clean_value(&mut value), changed, "{expected}");
            assert_eq!(value, expected);
        };
        check(json!({"a": ["x\u{7}", 1, null]}), json!({"a": ["x", 1, null]}), 1);
        check(json!({"k\u{1b}[1m": {"l\0": "v\0"}}), json!({"k": {"l": "v"}}), 3);
        check(json!({"a": "fine\n"}), json!({"a": "fine\n"}), 0);
    }

    #[test]
    fn keys_that_become_equal_keep_both_values_and_the_order() {
        let mut value = json!({"a\u{1}": 1, "a": 2, "a\u{2}": 3, "a~2": 4, "b": 5});
        clean_value(&mut value);
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

    #[test]
    fn the_verbatim_profile_changes_nothing() {
        let mut answer = Answer::text("bell\u{7}");
        assert_eq!(sanitise(&mut answer, Profile::Verbatim).changed_leaves, 0);
        assert_eq!(answer, Answer::text("bell\u{7}"));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let text = "([ab~2]|[\u{0}-\u{1f}\u{7f}-\u{9f}]|\u{1b}\\[1m){0,5}";
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
        #[test]
        fn cleaning_is_idempotent_and_keeps_the_shape(value in any_json()) {
            let mut clean = value.clone();
            clean_value(&mut clean);
            prop_assert_eq!(skeleton(&clean), skeleton(&value));
            prop_assert_eq!(clean_value(&mut clean), 0);
        }
    }
}
