//! From the tree to types through serde. Text keeps how it was written beside what it became, so
//! that [`super::text`] can show the one and hand out the other.

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::node::{Data, Node};

/// Asks for a text as the pair of its value and, if variables were put in, its written form.
pub(super) const TEXT: &str = "$text";
/// Asks for any scalar as the text in the file.
pub(super) const SCALAR: &str = "$scalar";
/// Asks for an enum whose variant follows from the kind of the value: `list` or `text`.
pub(super) const LIST_OR_TEXT: &str = "$list_or_text";

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.data {
            Data::Null | Data::Broken => visitor.visit_unit(),
            Data::Bool(value) => visitor.visit_bool(*value),
            Data::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, Some(value)) => visitor.visit_i64(value),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Data::Text(text) => visitor.visit_str(text),
            Data::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Data::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, node)| (key.text.as_str(), node));
                visitor.visit_map(MapDeserializer::new(pairs))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.data {
            Data::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (name, &self.data) {
            (TEXT, Data::Text(value)) => {
                let written = self.from_env.then_some(self.source.as_str());
                let pair = std::iter::once(value.as_str()).chain(written);
                visitor.visit_seq(SeqDeserializer::new(pair))
            }
            (SCALAR, Data::Bool(_) | Data::Number(_)) => visitor.visit_str(&self.source),
            (SCALAR, _) => self.deserialize_any(visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.data {
            Data::List(_) if name == LIST_OR_TEXT => visitor.visit_enum(one_of("list", self)),
            _ if name == LIST_OR_TEXT => visitor.visit_enum(one_of("text", self)),
            Data::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn one_of<'de>(
    variant: &'static str,
    node: &'de Node,
) -> serde::de::value::MapAccessDeserializer<
    MapDeserializer<'de, std::iter::Once<(&'static str, &'de Node)>, Error>,
> {
    let pair = std::iter::once((variant, node));
    serde::de::value::MapAccessDeserializer::new(MapDeserializer::new(pair))
}
