//! A schema short enough to stand in an error message.

use serde_json::{Map, Value};

use crate::limits;

/// The schema itself if it is short; else without its words, else only its first level.
pub fn outline(schema: &Value) -> Value {
    let short = |value: &Value| value.to_string().len() <= limits::OUTLINE_BYTES_MAX;
    if short(schema) {
        return schema.clone();
    }
    let bare = without_words(schema);
    if short(&bare) { bare } else { first_level(&bare) }
}

fn without_words(schema: &Value) -> Value {
    const WORDS: &[&str] = &["description", "title", "examples", "$comment", "default"];
    match schema {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, value)| {
                // A parameter may be called `description`; its value is a schema, not text.
                !WORDS.contains(&key.as_str()) || value.is_object()
            });
            Value::Object(kept.map(|(key, value)| (key.clone(), without_words(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_words).collect(),
        other => other.clone(),
    }
}

fn first_level(schema: &Value) -> Value {
    let mut outline = Map::new();
    for key in ["type", "required"] {
        if let Some(value) = schema.get(key) {
            outline.insert(key.to_owned(), value.clone());
        }
    }
    let types = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let types = types.take(limits::OUTLINE_PROPERTIES_MAX).map(|(name, property)| {
        let kind = property.get("type").cloned().unwrap_or(Value::Bool(true));
        (name.clone(), kind)
    });
    outline.insert("properties".to_owned(), Value::Object(types.collect()));
    Value::Object(outline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_short_schema_is_given_whole_and_a_long_one_in_outline() {
        let small = json!({"type": "object", "properties": {"a": {"description": "x"}}});
        assert_eq!(outline(&small), small);
        let words = "word ".repeat(2_000);
        let wordy = json!({"type": "object", "properties": {"description": {"type": "string", "description": words}}});
        assert_eq!(
            outline(&wordy),
            json!({"type": "object", "properties": {"description": {"type": "string"}}})
        );
        let huge: Map<String, Value> = (0..900)
            .map(|i| (format!("p{i}"), json!({"type": "string", "pattern": "^x{1,9}$"})))
            .collect();
        let outlined = outline(&json!({"type": "object", "properties": huge, "required": ["p1"]}));
        assert_eq!(outlined["properties"]["p1"], "string");
        assert_eq!(outlined["required"], json!(["p1"]));
        assert!(outlined.to_string().len() < 4_000);
    }
}
