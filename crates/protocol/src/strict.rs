//! JSON as a gate must read it: one meaning per text, and bounded.
//!
//! Duplicate keys, NUL in keys, deep nesting and crowds of nodes are refused here, before anything
//! else looks at a message, so that what was judged and what is forwarded cannot differ.

mod fields;
mod numbers;

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use model::limits;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

pub use self::fields::Fields;

/// Why a text is no acceptable JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// What was read, and whether its text says numbers in digits that a value cannot repeat.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read<T> {
    pub(crate) value: T,
    pub(crate) odd_numbers: bool,
}

/// Reads exactly one JSON value from all of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    read(bytes).map(|read| read.value)
}

/// Reads exactly one JSON value from all of `bytes`, and looks how its numbers are spelled.
pub(crate) fn read<T: Made>(bytes: &[u8]) -> Result<Read<T>, JsonError> {
    if bytes.len() > limits::FRAME_BYTES_MAX {
        return Err(JsonError(format!(
            "message of {} bytes is larger than the limit of {}",
            bytes.len(),
            limits::FRAME_BYTES_MAX
        )));
    }
    let (nodes, fractions) = (Cell::new(0), Cell::new(false));
    let bounds = Bounds { depth: 0, nodes: &nodes, fractions: &fractions };
    let value = match std::str::from_utf8(bytes) {
        // Looked at as a whole, so that not every string of it is looked at by itself.
        Ok(text) => whole(serde_json::Deserializer::from_str(text), bounds),
        Err(_) => whole(serde_json::Deserializer::from_slice(bytes), bounds),
    };
    let value = value.map_err(|error| JsonError(error.to_string()))?;
    // Whole numbers that fit are short and always spelled one way.
    if fractions.get() && numbers::any_longer(bytes, limits::JSON_NUMBER_CHARS_MAX) {
        let max = limits::JSON_NUMBER_CHARS_MAX;
        return Err(JsonError(format!("a number of more than {max} characters")));
    }
    Ok(Read { value, odd_numbers: fractions.get() && numbers::any_odd(bytes) })
}

fn whole<'de, T: Made>(
    mut text: serde_json::Deserializer<impl serde_json::de::Read<'de>>,
    bounds: Bounds<'_>,
) -> serde_json::Result<T> {
    let value = bounds.seed().deserialize(&mut text)?;
    text.end().map(|()| value)
}

/// What a text of JSON is read into. Whatever it is, the text is held to the same bounds.
pub(crate) trait Made: Sized {
    fn plain(value: Value) -> Self;

    fn text(text: &str) -> Self {
        Self::plain(Value::String(text.to_owned()))
    }

    /// `within` bounds what is in the list.
    fn list<'de, A: SeqAccess<'de>>(within: Bounds<'_>, items: A) -> Result<Self, A::Error> {
        Value::list(within, items).map(Self::plain)
    }

    /// `within` bounds what is in the object.
    fn object<'de, A: MapAccess<'de>>(within: Bounds<'_>, entries: A) -> Result<Self, A::Error> {
        Value::object(within, entries).map(Self::plain)
    }
}

impl Made for Value {
    fn plain(value: Value) -> Self {
        value
    }

    fn list<'de, A: SeqAccess<'de>>(within: Bounds<'_>, mut items: A) -> Result<Self, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(within.seed())? {
            array.push(item);
        }
        Ok(Self::Array(array))
    }

    fn object<'de, A: MapAccess<'de>>(
        within: Bounds<'_>,
        mut entries: A,
    ) -> Result<Self, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            check_key(object.len(), &key)?;
            // Its place is taken before its value is read: a second one is refused where it stands.
            let place = match object.entry(key) {
                Entry::Vacant(place) => place.insert(Self::Null),
                Entry::Occupied(first) => return Err(duplicate(first.key())),
            };
            *place = entries.next_value_seed(within.seed())?;
        }
        Ok(Self::Object(object))
    }
}

/// What an object may have as its next key, when it has so many.
pub(crate) fn check_key<E: de::Error>(keys: usize, key: &str) -> Result<(), E> {
    if keys >= limits::JSON_KEYS_MAX {
        let max = limits::JSON_KEYS_MAX;
        return Err(E::custom(format_args!("more than {max} keys in one object")));
    }
    if key.as_bytes().contains(&0) {
        return Err(E::custom("NUL character in an object key"));
    }
    Ok(())
}

pub(crate) fn duplicate<E: de::Error>(key: &str) -> E {
    let key = model::fault::one_line(key, 64);
    E::custom(format_args!("duplicate key `{key}`"))
}

/// How far the text may still go.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    depth: usize,
    nodes: &'a Cell<usize>,
    /// Some number was read as a fraction, or was too large to be whole.
    fractions: &'a Cell<bool>,
}

impl<'a> Bounds<'a> {
    pub(crate) const fn seed<T>(self) -> Seed<'a, T> {
        Seed { bounds: self, makes: PhantomData }
    }

    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= limits::JSON_DEPTH_MAX {
            return Err(E::custom(format_args!(
                "nesting deeper than {} levels",
                limits::JSON_DEPTH_MAX
            )));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn count<E: de::Error>(self) -> Result<(), E> {
        self.nodes.set(self.nodes.get() + 1);
        if self.nodes.get() > limits::JSON_NODES_MAX {
            return Err(E::custom(format_args!("more than {} values", limits::JSON_NODES_MAX)));
        }
        Ok(())
    }
}

/// Reads one value within bounds.
pub(crate) struct Seed<'a, T> {
    bounds: Bounds<'a>,
    makes: PhantomData<T>,
}

impl<'de, T: Made> DeserializeSeed<'de> for Seed<'_, T> {
    type Value = T;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        self.bounds.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Made> Visitor<'de> for Seed<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::plain(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<T, E> {
        Ok(T::plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(T::plain(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        self.bounds.fractions.set(true);
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(T::plain(Value::Number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<T, E> {
        Ok(T::text(value))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::plain(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::list(self.bounds.deeper()?, items)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        T::object(self.bounds.deeper()?, entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, wanted: &str) {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }

    #[test]
    fn ambiguous_or_endless_json_is_refused() {
        check(r#"{"a":1,"a":2}"#, "duplicate key `a`");
        check(r#"{"x":{"a":1,"\u0061":2}}"#, "duplicate key `a`");
        check("{\"a\\u0000b\":1}", "NUL character");
        check(&"[".repeat(65), "nesting deeper than 64");
        check(&format!("{}1{}", "[".repeat(65), "]".repeat(65)), "nesting deeper than 64");
        check("[1,]", "trailing comma");
        check("1 2", "trailing characters");
        check("", "EOF");
        check("1e999", "out of range");
        check(&format!("0.{}", "1".repeat(64)), "a number of more than 64");
        let keys: Vec<String> =
            (0..=limits::JSON_KEYS_MAX).map(|number| format!("\"{number}\":0")).collect();
        check(&format!("{{{}}}", keys.join(",")), "more than 20000 keys in one object");
        check(&format!("[{}1]", "1,".repeat(limits::JSON_NODES_MAX)), "more than");
        check(&format!("\"{}\"", "x".repeat(limits::FRAME_BYTES_MAX)), "larger than the limit");
    }

    #[test]
    fn the_deepest_allowed_nesting_is_read() {
        let text = format!("{}1{}", "[".repeat(64), "]".repeat(64));
        assert!(parse(text.as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let strict = parse(&bytes);
            let lax = serde_json::from_slice::<Value>(&bytes);
            // What we accept, everybody else reads the same way.
            if let Ok(value) = strict {
                prop_assert_eq!(value, lax.unwrap());
            }
        }

        #[test]
        fn any_text_is_read_or_refused(
            text in r#"([\[\]{},: ]|"[a-c\\é漢u0]{0,3}"|-?[0-9]{1,3}(\.[0-9]{1,2})?|true|null){0,12}"#,
            at in any::<proptest::sample::Index>(),
            byte in any::<u8>(),
        ) {
            // One wrong byte in the middle of it, too, which may be no text then.
            let mut torn = text.clone().into_bytes();
            torn.insert(at.index(torn.len() + 1), byte);
            for bytes in [text.as_bytes(), &torn] {
                let strict = parse(bytes);
                if let Ok(value) = &strict {
                    prop_assert_eq!(value, &serde_json::from_slice::<Value>(bytes).unwrap());
                }
                // The words of a refusal do not depend on how the text was looked at.
                let (nodes, fractions) = (Cell::new(0), Cell::new(false));
                let bounds = Bounds { depth: 0, nodes: &nodes, fractions: &fractions };
                let piecewise = whole::<Value>(serde_json::Deserializer::from_slice(bytes), bounds);
                prop_assert_eq!(strict.map_err(|e| e.0), piecewise.map_err(|e| e.to_string()));
            }
        }

        #[test]
        fn key_order_survives(keys in proptest::collection::hash_set("[a-z]{1,4}", 0..20)) {
            let body = keys.iter().map(|key| format!("\"{key}\":0")).collect::<Vec<_>>().join(",");
            let text = format!("{{{body}}}");
            prop_assert_eq!(parse(text.as_bytes()).unwrap().to_string(), text);
        }
    }
}
