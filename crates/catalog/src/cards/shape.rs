//! What a signature needs of a schema: the names of the parameters and which are required. Taken
//! when a definition is read, because some schemas are long and nobody wants to read them again.

use model::fault::one_line;
use serde_json::Value;

use crate::limits;

/// As many parameters as a card can have room for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// As a signature writes them, a line each, required ones first.
    written: Box<str>,
    pub(super) required: usize,
}

impl Shape {
    /// What is not as a schema should be counts as not there.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut written = String::new();
        let (mut required, mut optional) = (0, 0);
        for (name, is_required) in params(schema) {
            let (count, most) = if is_required {
                (&mut required, limits::CARD_TOKENS_MAX)
            } else {
                (&mut optional, limits::SIGNATURE_PARAMS_MAX + 1)
            };
            if *count < most {
                *count += 1;
                written.push_str(&one_line(name, limits::SIGNATURE_PARAM_CHARS_MAX));
                written.push_str(if is_required { "\n" } else { "?\n" });
            }
        }
        Self { written: written.into(), required }
    }

    pub(super) fn written(&self) -> impl Iterator<Item = &str> {
        self.written.split_terminator('\n')
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_written_required_ones_first() {
        let check = |schema: Value, expected: &[&str], required: usize| {
            let shape = Shape::of(&schema);
            assert_eq!(shape.written().collect::<Vec<_>>(), expected, "{schema}");
            assert_eq!(shape.required, required, "{schema}");
        };
        check(
            json!({"type": "object", "properties": {"b": {"properties": {"x": {}}}, "a": true, "é\n": 1, "": {}}, "required": ["a", 7, "z"]}),
            &["a", "b?", "é?", "?"],
            1,
        );
        check(json!({"properties": ["a"], "required": ["a"]}), &[], 0);
        check(json!({"properties": {"a": {}}, "required": "a"}), &["a?"], 0);
        check(json!({"properties": {"": {}}, "required": [""]}), &[""], 1);
        check(json!({"properties": null, "required": null}), &[], 0);
        check(json!({}), &[], 0);
        check(json!([1]), &[], 0);
        check(json!(null), &[], 0);
    }

    #[test]
    fn no_more_is_kept_than_a_card_has_room_for() {
        let names: Vec<String> = (0..500).map(|number| format!("p{number}")).collect();
        let properties: serde_json::Map<_, _> =
            names.iter().map(|name| (name.clone(), json!({}))).collect();
        let check = |required: &[String], kept: usize| {
            let shape = Shape::of(&json!({"properties": properties, "required": required}));
            assert_eq!((shape.written().count(), shape.required), (kept + 13, kept));
        };
        check(&[], 0);
        check(&names[..7], 7);
        check(&names[..400], limits::CARD_TOKENS_MAX);
    }

    #[test]
    fn an_empty_schema_tells_nothing() {
        let check = |schema: &str, expected| assert_eq!(Shape::is_telling(schema), expected);
        check("{}", false);
        check("null", false);
        check(r#"{"type":"object"}"#, true);
    }
}
