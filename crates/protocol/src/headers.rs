//! What 2026-07-28 repeats of a request in HTTP headers, so that it can be routed unread.
//!
//! The body is what counts; a header that says something else makes the request invalid.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::numbers;
use serde_json::{Map, Value};

use crate::decode::Ask;

pub const METHOD: &str = "mcp-method";
pub const NAME: &str = "mcp-name";
pub const VERSION: &str = "mcp-protocol-version";
pub const PARAM_PREFIX: &str = "mcp-param-";

/// An argument that a tool wants repeated, and the header it goes into, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirrored {
    pub header: String,
    pub path: Vec<String>,
}

/// The arguments an input schema wants in headers.
pub fn mirrored(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), &mut found)?;
    let mut seen = std::collections::BTreeSet::new();
    for mirrored in &found {
        if !seen.insert(&mirrored.header) {
            return Err(format!("two arguments want the header `{}`", mirrored.header));
        }
    }
    Ok(found)
}

/// The name that belongs into `Mcp-Name`, for the methods that have one.
pub fn name(ask: &Ask) -> Option<&str> {
    match ask {
        Ask::CallTool { name, .. } | Ask::GetPrompt { name, .. } => Some(name),
        Ask::ReadResource { uri } => Some(uri),
        Ask::Task { id, .. } => Some(id),
        _ => None,
    }
}

/// The text of an argument in its header; none where the argument is absent or null.
pub fn value_at(arguments: &Value, path: &[String]) -> Option<String> {
    let value = path.iter().try_fold(arguments, |value, key| value.get(key))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a header's text, decoded, says the same as the argument.
pub fn says_the_same(header: &str, argument: &str, is_number: bool) -> bool {
    let Some(header) = decode(header) else { return false };
    if is_number {
        return numbers::are_same(header.trim().as_bytes(), argument.as_bytes());
    }
    header == argument
}

/// Text as a header carries it: plain where it can be, else in base64 between marks.
pub fn encode(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t')
        && text.trim() == text
        && !text.starts_with(MARK);
    if plain { text.to_owned() } else { format!("{MARK}{}?=", STANDARD.encode(text)) }
}

/// The text a header stands for; none if its marks promise base64 that is none.
pub fn decode(header: &str) -> Option<String> {
    let Some(inner) = header.strip_prefix(MARK).and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(header.to_owned());
    };
    String::from_utf8(STANDARD.decode(inner).ok()?).ok()
}

const MARK: &str = "=?base64?";
/// As deep as any JSON may be.
const DEPTH_MAX: usize = model::limits::JSON_DEPTH_MAX;

fn walk(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Mirrored>) -> Result<(), String> {
    let Some(object) = schema.as_object() else { return Ok(()) };
    for (key, inner) in object {
        match (key.as_str(), inner.as_object()) {
            ("properties", Some(properties)) if path.len() < DEPTH_MAX => {
                for (name, property) in properties {
                    path.push(name.clone());
                    if let Some(header) = property.get(MIRROR) {
                        found.push(read(header, property, path)?);
                    }
                    walk(property, path, found)?;
                    path.pop();
                }
            }
            // Elsewhere the argument is not at one place, so it cannot be repeated.
            _ if key != MIRROR && mentions(inner) => {
                return Err(format!("`{MIRROR}` below `{key}` has no fixed place"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// In a schema, what marks an argument that is repeated in a header.
pub const MIRROR: &str = "x-mcp-header";

fn read(header: &Value, property: &Value, path: &[String]) -> Result<Mirrored, String> {
    let at = path.join("/");
    let Some(name) = header.as_str().filter(|name| !name.is_empty() && name.bytes().all(is_tchar))
    else {
        return Err(format!("`{MIRROR}` of `{at}` is no header name"));
    };
    let plain = matches!(
        property.get("type").and_then(Value::as_str),
        Some("string" | "integer" | "boolean")
    );
    if !plain {
        return Err(format!("`{at}` must be a string, an integer or a boolean"));
    }
    let header = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
    Ok(Mirrored { header, path: path.to_vec() })
}

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn mentions(value: &Value) -> bool {
    match value {
        Value::Object(object) => is_schema_with_keyword(object) || object.values().any(mentions),
        Value::Array(items) => items.iter().any(mentions),
        _ => false,
    }
}

fn is_schema_with_keyword(object: &Map<String, Value>) -> bool {
    object.contains_key(MIRROR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn arguments_with_a_fixed_place_can_be_repeated() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        }});
        let found = mirrored(&schema).unwrap();
        let shown: Vec<String> =
            found.iter().map(|m| format!("{}={}", m.header, m.path.join("/"))).collect();
        assert_eq!(shown, ["mcp-param-region=region", "mcp-param-n=deep/n"]);
        let args = json!({"region": "eu", "deep": {"n": 7}});
        let values: Vec<_> = found.iter().filter_map(|m| value_at(&args, &m.path)).collect();
        assert_eq!(values, ["eu", "7"]);
        assert_eq!(value_at(&json!({"region": null}), &["region".to_owned()]), None);
    }

    #[test]
    fn annotations_that_mean_nothing_are_refused() {
        let check = |property: Value, wanted: &str| {
            let error = mirrored(&json!({"properties": {"a": property}})).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        };
        check(json!({"type": "string", "x-mcp-header": ""}), "no header name");
        check(json!({"type": "string", "x-mcp-header": "a b"}), "no header name");
        check(json!({"type": "string", "x-mcp-header": 7}), "no header name");
        check(json!({"type": "number", "x-mcp-header": "A"}), "string, an integer or a boolean");
        check(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}), "items");
        let twice = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "X"}, "b": {"type": "string", "x-mcp-header": "x"},
        }});
        assert!(mirrored(&twice).unwrap_err().contains("two arguments"));
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(says_the_same("7", "7", true) && says_the_same("7.0", "7", true));
        assert!(!says_the_same("7.0", "7", false) && !says_the_same("x", "7", true));
        assert!(!says_the_same("9007199254740993", "9007199254740992", true));
        assert!(!says_the_same("inf", "inf", true));
        assert!(says_the_same("=?base64?w6Q=?=", "ä", false));
        assert!(!says_the_same("=?base64?***?=", "ä", false));
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "\\PC{0,40}") {
            let header = encode(&text);
            prop_assert!(header.is_ascii());
            prop_assert_eq!(decode(&header), Some(text));
        }
    }
}
