//! What may be kept of arguments and answers for ever: everything but the secrets in them.

use serde_json::{Map, Value};

use crate::redact::{REDACTED, Redactor};

/// The value without its secrets, and whether there were any.
pub fn without_secrets(value: &Value, redactor: &Redactor) -> (Value, bool) {
    let found = holds_secret(value, redactor);
    // Most have none, and a copy is cheaper than a new value of the same parts.
    (if found { keep(value, redactor) } else { value.clone() }, found)
}

/// Whether anything would be left out of it.
pub fn holds_secret(value: &Value, redactor: &Redactor) -> bool {
    match value {
        Value::String(text) => redactor.redact(text) != text.as_str(),
        Value::Array(items) => items.iter().any(|item| holds_secret(item, redactor)),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| is_assigned(key, value, redactor) || holds_secret(value, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn keep(value: &Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.redact(text).into_owned()),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| keep(item, redactor)).collect())
        }
        Value::Object(fields) => Value::Object(keep_fields(fields, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn keep_fields(fields: &Map<String, Value>, redactor: &Redactor) -> Map<String, Value> {
    let field = |(key, value): (&String, &Value)| {
        let kept = if is_assigned(key, value, redactor) {
            Value::String(REDACTED.to_owned())
        } else {
            keep(value, redactor)
        };
        (key.clone(), kept)
    };
    fields.iter().map(field).collect()
}

fn is_assigned(key: &str, value: &Value, redactor: &Redactor) -> bool {
    value.as_str().is_some_and(|text| redactor.is_assigned(key, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Secret;
    use serde_json::json;

    #[test]
    fn secrets_go_and_everything_else_stays() {
        let redactor = Redactor::knowing([&Secret::new("hunter2-hunter2")]);
        let check = |value: Value, expected: Value, found: bool| {
            assert_eq!(without_secrets(&value, &redactor), (expected, found));
        };
        check(json!({"a": [1, null, "x"]}), json!({"a": [1, null, "x"]}), false);
        check(json!(["my hunter2-hunter2!"]), json!([format!("my {REDACTED}!")]), true);
        let token = json!({"deep": {"password": "hunter2x-Tr0ub4dor9"}});
        check(token, json!({"deep": {"password": REDACTED}}), true);
    }
}
