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
    match kind {
        Some("head") => r#"`head` takes a whole number: {"type":"head","chars":500}"#.to_owned(),
        Some("lines") => {
            r#"`lines` takes two whole numbers: {"type":"lines","start":1,"end":40}"#.to_owned()
        }
        Some("json_pointer") => {
            r#"`json_pointer` takes a text: {"type":"json_pointer","pointer":"/items/0"}"#
                .to_owned()
        }
        Some(other) => {
            let name: String = other.chars().take(40).collect();
            format!("no selector type `{name}`; use `head`, `lines` or `json_pointer`")
        }
        None => r#"a selector is an object such as {"type":"lines","start":1,"end":40}"#.to_owned(),
    }
}
