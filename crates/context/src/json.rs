//! Measuring JSON and writing the start of it, without building the whole text.

use std::io;

use serde_json::Value;

/// An object of no more fields is walked sooner than the name of one is hashed.
const FEW_FIELDS: usize = 8;

/// The field of an object, as `get` finds it.
pub(crate) fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let fields = value.as_object()?;
    if fields.len() > FEW_FIELDS {
        return fields.get(name);
    }
    fields.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The length of the compact JSON in characters, counted no further than just above `max`.
pub(crate) fn chars(value: &Value, max: usize) -> usize {
    let mut counter = Counter { chars: 0, max };
    let fits = serde_json::to_writer(&mut counter, value).is_ok();
    if fits { counter.chars } else { max.saturating_add(1) }
}

/// The compact JSON up to about `bytes_max` bytes, and whether that is all of it.
pub(crate) fn start(value: &Value, bytes_max: usize) -> (String, bool) {
    let mut start = Start { bytes: Vec::new(), bytes_max };
    let whole = serde_json::to_writer(&mut start, value).is_ok();
    (String::from_utf8_lossy(&start.bytes).into_owned(), whole)
}

/// The value of a text that is a JSON object or array.
pub(crate) fn parse_container(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten()
}

/// Whether the text says the same as the value.
pub(crate) fn spells(text: &str, value: &Value) -> bool {
    let mut comparison = Comparison { rest: text.trim().as_bytes() };
    let same = serde_json::to_writer(&mut comparison, value).is_ok() && comparison.rest.is_empty();
    // Most servers write compact JSON; only other spellings have to be read.
    same || parse_container(text).as_ref() == Some(value)
}

/// One step of an RFC 6901 pointer, escaped.
pub(crate) fn pointer_token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// What kind of value it is, and how many it holds.
pub(crate) fn sort_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => format!("array of {}", items.len()),
        Value::Object(fields) => format!("object of {}", fields.len()),
    }
}

struct Counter {
    chars: usize,
    max: usize,
}

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chars += bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        if self.chars > self.max { Err(full()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes what is written off the front of `rest`, as long as it is the same.
struct Comparison<'a> {
    rest: &'a [u8],
}

impl io::Write for Comparison<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest = self.rest.strip_prefix(bytes).ok_or_else(full)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Start {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.bytes_max.saturating_sub(self.bytes.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(taken);
        if taken.len() < bytes.len() { Err(full()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn full() -> io::Error {
    io::Error::other("no more room")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_is_found_among_few_and_among_many() {
        for count in [0, 1, FEW_FIELDS, FEW_FIELDS + 1, 40] {
            let object: Value = (0..count).map(|n| (n.to_string(), n)).collect();
            for name in 0..count + 2 {
                let name = name.to_string();
                assert_eq!(field(&object, &name), object.get(&name), "{count} {name}");
            }
        }
        assert_eq!(field(&Value::Null, "a"), None);
    }

    #[test]
    fn the_count_is_that_of_the_compact_text_and_stops_above_the_bound() {
        let check = |value: Value, max: usize, expected: usize| {
            assert_eq!(chars(&value, max), expected, "{value}");
        };
        check(json!({"a": [1, true]}), 100, 14);
        check(json!("häß"), 100, 5);
        check(json!("x".repeat(1000)), 100, 101);
    }

    #[test]
    fn a_text_is_compared_with_a_value_however_it_is_spelled() {
        let value = json!({"b": 1, "a": ["x", null]});
        let check = |text: &str, same: bool| assert_eq!(spells(text, &value), same, "{text}");
        check(r#"{"b":1,"a":["x",null]}"#, true);
        check(" {\"a\": [\"x\", null],\n\"b\": 1}", true);
        check(r#"{"b":1,"a":["x",null]}}"#, false);
        check(r#"{"b":1,"a":["x"]}"#, false);
        check("", false);
    }

    #[test]
    fn the_start_of_a_long_value_says_that_it_is_cut() {
        assert_eq!(start(&json!({"a": 1}), 50), (r#"{"a":1}"#.to_owned(), true));
        assert_eq!(start(&json!("abcdef"), 4), ("\"abc".to_owned(), false));
    }
}
