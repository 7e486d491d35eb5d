//! JSON kept as text: a fraction of the size of a value, for what is many and seldom read.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Reads and writes like the value it holds. Two are equal when their texts are, key order included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed(Box<str>);

impl Packed {
    /// The value itself, read anew each time.
    pub fn value(&self) -> Value {
        // INVARIANT: only ever written from a value.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// As compact JSON.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&Value> for Packed {
    fn from(value: &Value) -> Self {
        // INVARIANT: every map has string keys, so a value always has a JSON form.
        Self(serde_json::to_string(value).unwrap_or_default().into())
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
}
