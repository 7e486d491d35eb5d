//! What is inside a JSON value, read in one pass: names, counts, and the first items of each list.
//!
//! Works on text and on values alike. Of a large text only what is shown is built.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::json;
use crate::limits::{SKETCH_DEPTH_MAX, SKETCH_FIELDS_MAX, SKETCH_ITEM_CHARS_MAX, SKETCH_ITEMS_MAX};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sketch {
    /// Short enough to be shown.
    Scalar(Value),
    Text {
        chars: usize,
    },
    Array {
        count: usize,
        /// Compact, each whole.
        first: Vec<String>,
        item: Option<Box<Self>>,
    },
    Object {
        count: usize,
        fields: Vec<(String, Self)>,
    },
    /// Deeper than anybody looks.
    Deep,
}

impl Sketch {
    /// `None` unless the text is a JSON object or array.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        if !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let sketch = Depth(0).deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        Some(sketch)
    }

    pub(super) fn of_value(value: &Value) -> Self {
        Depth(0).deserialize(value).unwrap_or(Self::Deep)
    }

    /// The longest list that is not far down, with the pointer to it.
    pub(super) fn longest_list(&self) -> Option<(String, usize, &[String])> {
        match self {
            Self::Array { count, first, .. } => Some((String::new(), *count, first)),
            Self::Object { fields, .. } => {
                let below = fields.iter().filter_map(|(key, sketch)| {
                    let (pointer, count, first) = sketch.longest_list()?;
                    Some((format!("/{}{pointer}", json::pointer_token(key)), count, first))
                });
                // Of equal ones the first.
                below.reduce(|best, next| if next.1 > best.1 { next } else { best })
            }
            Self::Scalar(_) | Self::Text { .. } | Self::Deep => None,
        }
    }
}

/// How far down the reader is.
#[derive(Clone, Copy)]
struct Depth(usize);

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = Sketch;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Sketch, D::Error> {
        if self.0 > SKETCH_DEPTH_MAX {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(|_| Sketch::Deep);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Depth {
    type Value = Sketch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Sketch, E> {
        Ok(Sketch::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Sketch, E> {
        Ok(Sketch::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Sketch, E> {
        Ok(Sketch::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Sketch, E> {
        Ok(Sketch::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Sketch, E> {
        Ok(Sketch::Scalar(Value::Null))
    }

    fn visit_str<E>(self, text: &str) -> Result<Sketch, E> {
        Ok(match text.chars().count() {
            chars if chars > SKETCH_ITEM_CHARS_MAX => Sketch::Text { chars },
            _ => Sketch::Scalar(text.into()),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Sketch, A::Error> {
        let (mut count, mut first, mut item) = (0, Vec::new(), None);
        let mut room = SKETCH_ITEM_CHARS_MAX;
        while count < SKETCH_ITEMS_MAX && room > 0 {
            let Some(value) = items.next_element::<Value>()? else { break };
            count += 1;
            if item.is_none() {
                item = Some(Box::new(Sketch::of_value(&value)));
            }
            match room.checked_sub(json::chars(&value, room)) {
                Some(less) => {
                    room = less;
                    first.push(value.to_string());
                }
                None => room = 0,
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Sketch::Array { count, first, item })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Sketch, A::Error> {
        let (mut count, mut fields) = (0, Vec::new());
        while count < SKETCH_FIELDS_MAX
            && let Some(key) = entries.next_key::<String>()?
        {
            count += 1;
            fields.push((key, entries.next_value_seed(Self(self.0 + 1))?));
        }
        while count >= SKETCH_FIELDS_MAX
            && entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some()
        {
            count += 1;
        }
        Ok(Sketch::Object { count, fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_and_value_give_the_same_sketch() {
        let orders: Vec<_> = (0..100).map(|n| json!({"id": n, "state": "open"})).collect();
        for value in [
            json!({"total": 100, "orders": orders, "note": "x".repeat(5_000), "deep": {"a": {"b": {"c": [1]}}}}),
            json!([1, [2, 3], {"a": null}]),
            json!({}),
        ] {
            let text = value.to_string();
            assert_eq!(Sketch::of_text(&text), Some(Sketch::of_value(&value)), "{text}");
            assert_eq!(Sketch::of_text(&format!("{text} and more")), None);
        }
        assert_eq!(Sketch::of_text("42"), None);
        assert_eq!(Sketch::of_text("[1,"), None);
    }

    #[test]
    fn counts_are_exact_and_items_whole() {
        let items: Vec<_> = (0..5_000).map(|n| json!({"n": n})).collect();
        let sketch = Sketch::of_value(&json!({"a": [1], "page": {"it/ems": items}}));
        let (pointer, count, first) = sketch.longest_list().unwrap();
        assert_eq!((pointer.as_str(), count), ("/page/it~1ems", 5_000));
        assert_eq!(first.first().map(String::as_str), Some(r#"{"n":0}"#));
        let wide: serde_json::Map<_, _> = (0..300).map(|n| (format!("k{n}"), json!(n))).collect();
        let Sketch::Object { count, .. } = Sketch::of_value(&wide.into()) else { panic!() };
        assert_eq!(count, 300);
    }
}
