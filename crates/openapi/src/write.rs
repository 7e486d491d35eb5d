//! Writing values into queries and headers, one escape set for all of them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// Everything but RFC 3986's unreserved characters.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How a parameter's value is spread over its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Items joined by commas; the only style of paths and headers.
    Simple,
    /// One `name=value` for each item or property.
    FormExplode,
    /// One `name=` with the items joined by this separator.
    Joined(&'static str),
    /// `name[key]=value` for each property.
    DeepObject,
    /// The value as JSON text.
    Json,
}

pub(crate) fn component(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

/// The value as one piece of text; nothing for nested values that the style cannot write.
pub(crate) fn simple(value: &Value, style: Style) -> Option<String> {
    match (style, value) {
        (Style::Json, value) => Some(value.to_string()),
        (_, Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(scalar).collect::<Option<_>>()?;
            Some(items.join(","))
        }
        (_, value) => scalar(value),
    }
}

/// The `name=value` pairs of a query parameter, escaped; nothing if the style cannot write it.
pub(crate) fn query(name: &str, value: &Value, style: Style) -> Option<Vec<String>> {
    let pair = |name: &str, text: &str| format!("{}={}", component(name), component(text));
    match (style, value) {
        (Style::Json, value) => Some(vec![pair(name, &value.to_string())]),
        (Style::Joined(_) | Style::Simple, Value::Array(items)) if items.is_empty() => Some(vec![]),
        (Style::Joined(separator), Value::Array(items)) => {
            let escape = |item| scalar(item).map(|text| component(&text));
            let items: Vec<String> = items.iter().map(escape).collect::<Option<_>>()?;
            Some(vec![format!("{}={}", component(name), items.join(separator))])
        }
        (_, Value::Array(items)) => {
            items.iter().map(|item| scalar(item).map(|text| pair(name, &text))).collect()
        }
        (Style::DeepObject, Value::Object(map)) => map
            .iter()
            .map(|(key, item)| scalar(item).map(|text| pair(&format!("{name}[{key}]"), &text)))
            .collect(),
        (Style::FormExplode, Value::Object(map)) => {
            map.iter().map(|(key, item)| scalar(item).map(|text| pair(key, &text))).collect()
        }
        (_, value) => scalar(value).map(|text| vec![pair(name, &text)]),
    }
}

/// Whether text can be sent as a header: printable ASCII, so no line break can slip in.
pub(crate) fn is_header_value(text: &str) -> bool {
    text.chars().all(|c| c == ' ' || c.is_ascii_graphic())
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_style_spreads_a_value_its_way() {
        let check = |style, value: &Value, expected: Option<&str>| {
            let written = query("t", value, style).map(|pairs| pairs.join("&"));
            assert_eq!(written.as_deref(), expected, "{value}");
        };
        let list = json!(["a b", "c,d", 3]);
        check(Style::FormExplode, &list, Some("t=a%20b&t=c%2Cd&t=3"));
        check(Style::Joined(","), &list, Some("t=a%20b,c%2Cd,3"));
        check(Style::Joined("%20"), &list, Some("t=a%20b%20c%2Cd%203"));
        check(Style::Joined("%7C"), &list, Some("t=a%20b%7Cc%2Cd%7C3"));
        check(Style::FormExplode, &json!([]), Some(""));
        check(Style::Joined(","), &json!([]), Some(""));
        check(Style::FormExplode, &json!("x&admin=1"), Some("t=x%26admin%3D1"));
        check(Style::FormExplode, &json!(true), Some("t=true"));
        check(Style::FormExplode, &json!({"a&b": 1}), Some("a%26b=1"));
        check(Style::DeepObject, &json!({"k": "v"}), Some("t%5Bk%5D=v"));
        check(Style::Json, &json!({"k": ["v"]}), Some("t=%7B%22k%22%3A%5B%22v%22%5D%7D"));
        check(Style::FormExplode, &json!([["nested"]]), None);
        check(Style::FormExplode, &json!([null]), None);
        check(Style::Joined(","), &json!({"k": "v"}), None);
    }

    #[test]
    fn a_header_value_is_one_printable_line() {
        assert!(is_header_value("en-GB, de;q=0.5"));
        for text in ["a\r\nX-Admin: 1", "a\nb", "a\0", "a\tb", "é", "\u{7f}"] {
            assert!(!is_header_value(text), "{text:?}");
        }
    }
}
