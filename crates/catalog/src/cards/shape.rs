//! What a signature needs of a schema: the names of the parameters and which are required. Read from
//! text without making a value of the rest.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Parameter names, required ones first, otherwise as written.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) required: Vec<String>,
    pub(super) optional: Vec<String>,
}

impl Shape {
    /// What is not as a schema should be counts as not there.
    pub(super) fn read(schema: &str) -> Self {
        let parts: Parts<'_> = serde_json::from_str(schema).unwrap_or_default();
        let properties = parts.properties.and_then(|text| serde_json::from_str(text.get()).ok());
        let Keys(names) = properties.unwrap_or_default();
        let listed = parts.required.and_then(|text| serde_json::from_str(text.get()).ok());
        let listed: Vec<Value> = listed.unwrap_or_default();
        let is_required = |name: &String| listed.iter().any(|one| one == name);
        let (required, optional) = names.into_iter().partition(is_required);
        Self { required, optional }
    }

    /// Whether a schema says anything.
    pub(super) fn is_telling(schema: &str) -> bool {
        schema.starts_with('{') && schema != "{}"
    }
}

/// Parameter names and whether each is required: required ones first, otherwise as written.
pub(crate) fn params(schema: &Value) -> impl Iterator<Item = (&str, bool)> {
    let field = |key: &str| schema.get(key).unwrap_or(&Value::Null);
    let required: Vec<&str> =
        field("required").as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let names = field("properties").as_object().into_iter().flatten();
    let names = names.map(|(name, _)| name.as_str());
    let (first, last): (Vec<&str>, Vec<&str>) = names.partition(|name| required.contains(name));
    first.into_iter().map(|name| (name, true)).chain(last.into_iter().map(|name| (name, false)))
}

#[derive(Default, Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    properties: Option<&'a RawValue>,
    #[serde(borrow, default)]
    required: Option<&'a RawValue>,
}

/// The keys of an object, in order.
#[derive(Default)]
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, IgnoredAny)) = map.next_entry()? {
            keys.push(key);
        }
        Ok(Keys(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_read_like_the_value_it_stands_for() {
        let check = |schema: Value| {
            let Shape { required, optional } = Shape::read(&schema.to_string());
            let read = required.iter().map(|name| (name.as_str(), true));
            let read = read.chain(optional.iter().map(|name| (name.as_str(), false)));
            assert_eq!(read.collect::<Vec<_>>(), params(&schema).collect::<Vec<_>>(), "{schema}");
        };
        check(
            json!({"type": "object", "properties": {"b": {"properties": {"x": {}}}, "a": true, "é\n": 1}, "required": ["a", 7, "z"]}),
        );
        check(json!({"properties": ["a"], "required": ["a"]}));
        check(json!({"properties": {"a": {}}, "required": "a"}));
        check(json!({"properties": null, "required": null}));
        check(json!({}));
        check(json!([1]));
        check(json!(null));
    }

    #[test]
    fn an_empty_schema_tells_nothing() {
        let check = |schema: &str, expected| assert_eq!(Shape::is_telling(schema), expected);
        check("{}", false);
        check("null", false);
        check(r#"{"type":"object"}"#, true);
    }
}
