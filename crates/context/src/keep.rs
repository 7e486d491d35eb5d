//! What may be kept of arguments and answers for ever: everything but the secrets in them.

use serde_json::{Map, Value};

use crate::redact::{REDACTED, Redactor};

/// The value without its secrets, and whether there were any.
pub fn without_secrets(value: &Value, redactor: &Redactor) -> (Value, bool) {
    let mut found = false;
    let kept = keep(value, redactor, &mut found);
    (kept, found)
}

fn keep(value: &Value, redactor: &Redactor, found: &mut bool) -> Value {
    match value {
        Value::String(text) => {
            let kept = redactor.redact(text);
            *found |= kept != text.as_str();
            Value::String(kept.into_owned())
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| keep(item, redactor, found)).collect())
        }
        Value::Object(fields) => Value::Object(keep_fields(fields, redactor, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn keep_fields(
    fields: &Map<String, Value>,
    redactor: &Redactor,
    found: &mut bool,
) -> Map<String, Value> {
    let field = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) if redactor.is_assigned(key, text) => {
                *found = true;
                Value::String(REDACTED.to_owned())
            }
            value => keep(value, redactor, found),
        };
        (key.clone(), value)
    };
    fields.iter().map(field).collect()
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
