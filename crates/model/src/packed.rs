//! JSON kept as text: a fraction of the size of a value, for what is many and seldom read.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::canonical;

/// Reads and writes like the value it holds. Two are equal when their texts are, key order included.
///
/// Clones share the text, and so do an object and the fields it was packed with.
#[derive(Clone, Debug)]
pub struct Packed {
    text: Arc<str>,
    start: usize,
    end: usize,
}

impl Packed {
    /// An object, and those of its fields as parts of it.
    pub fn with_parts<const N: usize>(
        fields: &Map<String, Value>,
        keys: [&str; N],
    ) -> (Self, [Option<Self>; N]) {
        let mut out = Vec::with_capacity(1024);
        let mut places = [None; N];
        out.push(b'{');
        for (number, (key, value)) in fields.iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            canonical::string(key, &mut out);
            out.push(b':');
            let start = out.len();
            canonical::write_as_ordered(value, &mut out);
            let wanted = keys.iter().zip(&mut places).find(|(wanted, _)| *wanted == key);
            if let Some((_, place)) = wanted {
                *place = Some((start, out.len()));
            }
        }
        out.push(b'}');
        let whole = Self::of(out);
        let part = |place: Option<(usize, usize)>| {
            place.map(|(start, end)| Self { text: Arc::clone(&whole.text), start, end })
        };
        let parts = places.map(part);
        (whole, parts)
    }

    /// The value itself, read anew each time.
    pub fn value(&self) -> Value {
        // INVARIANT: only ever written from a value.
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }

    /// As compact JSON.
    pub fn as_str(&self) -> &str {
        // INVARIANT: a part begins and ends where a value does.
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    fn of(written: Vec<u8>) -> Self {
        // INVARIANT: JSON is written as UTF-8.
        let text: Arc<str> = String::from_utf8(written).unwrap_or_default().into();
        Self { start: 0, end: text.len(), text }
    }
}

impl PartialEq for Packed {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Packed {}

impl From<&Value> for Packed {
    fn from(value: &Value) -> Self {
        let mut out = Vec::new();
        canonical::write_as_ordered(value, &mut out);
        Self::of(out)
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::from(&value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_packed_reads_and_writes_like_its_value() {
        for value in [json!(null), json!({"b": [1, 2.5, "x\n"], "a": {}}), json!("é")] {
            let packed = Packed::from(&value);
            assert_eq!(packed.value(), value);
            assert_eq!(packed.as_str(), value.to_string());
            assert_eq!(serde_json::to_value(&packed).unwrap(), value);
            assert_eq!(serde_json::from_value::<Packed>(value).unwrap(), packed);
        }
    }

    #[test]
    fn parts_of_an_object_are_what_its_fields_are_alone() {
        let value = json!({"n\"": "é", "in": {"a": [1, "}"]}, "out": null});
        let fields = value.as_object().unwrap();
        let (whole, [inner, outer, absent]) = Packed::with_parts(fields, ["in", "out", "x"]);
        assert_eq!(whole, Packed::from(&value));
        assert_eq!(inner, Some(Packed::from(&value["in"])));
        assert_eq!(outer, Some(Packed::from(&json!(null))));
        assert_eq!(absent, None);
        let (empty, _) = Packed::with_parts(&Map::new(), []);
        assert_eq!(empty.as_str(), "{}");
    }
}
