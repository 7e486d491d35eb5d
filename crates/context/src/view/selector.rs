//! Reads a selector from a caller's arguments.

use model::{Fault, Selector};
use serde_json::Value;

use super::failed;

/// `null` means the head. A selector that does not fit is told what would.
pub fn parse_selector(value: &Value) -> Result<Selector, Fault> {
    if value.is_null() {
        return read(&serde_json::json!({"type": "head"}));
    }
    read(value)
}

fn read(value: &Value) -> Result<Selector, Fault> {
    serde_json::from_value(value.clone()).map_err(|error| {
        let kind = value.get("type").and_then(Value::as_str);
        failed(expectation(kind)).logging(error)
    })
}

fn expectation(kind: Option<&str>) -> String {
    let example = EXAMPLES.iter().find(|(name, _, _)| Some(*name) == kind);
    match (example, kind) {
        (Some((name, takes, example)), _) => format!("`{name}` takes {takes}: {example}"),
        (None, Some(other)) => {
            let name: String = other.chars().take(40).collect();
            let known: Vec<_> = EXAMPLES.iter().map(|(name, _, _)| format!("`{name}`")).collect();
            format!("no selector type `{name}`; use one of {}", known.join(", "))
        }
        (None, None) => {
            r#"a selector is an object such as {"type":"lines","start":1,"end":40}"#.to_owned()
        }
    }
}

const EXAMPLES: [(&str, &str, &str); 9] = [
    ("head", "a whole number", r#"{"type":"head","chars":500}"#),
    ("tail", "a whole number", r#"{"type":"tail","lines":20}"#),
    ("lines", "two whole numbers", r#"{"type":"lines","start":1,"end":40}"#),
    ("chars", "two whole numbers", r#"{"type":"chars","offset":0,"chars":500}"#),
    ("bytes", "two whole numbers", r#"{"type":"bytes","start":0,"end":1024}"#),
    ("json_pointer", "a text", r#"{"type":"json_pointer","pointer":"/items/0"}"#),
    ("json_keys", "a list of texts", r#"{"type":"json_keys","keys":["id","name"]}"#),
    ("rows", "two whole numbers", r#"{"type":"rows","start":1,"end":20}"#),
    ("grep", "a pattern", r#"{"type":"grep","pattern":"error","context":2}"#),
];
