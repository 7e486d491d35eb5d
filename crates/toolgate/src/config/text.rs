//! Texts that remember how they were written. What came from the environment is used but never
//! shown: printing gives the file's own words, `${TOKEN}` and all.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use model::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::deserialize::{SCALAR, TEXT};

/// A text of the configuration. Prints as written; [`Text::as_str`] is the value in force.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Text {
    value: String,
    written: Option<String>,
}

impl Text {
    pub fn new(value: impl Into<String>) -> Self {
        Self { value: value.into(), written: None }
    }

    /// The value in force. Warning: it may have come from the environment, so it is not for output
    /// unless the setting is public by nature, as a host or a server's name is.
    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// The text as the file spells it.
    pub fn shown(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.value)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shown(), f)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.shown())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(TEXT, TextVisitor)
    }
}

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Text, E> {
        Ok(Text::new(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text, A::Error> {
        let value = parts.next_element()?.ok_or_else(|| de::Error::custom("text expected"))?;
        Ok(Text { value, written: parts.next_element()? })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Text, D::Error> {
        String::deserialize(inner).map(Text::new)
    }
}

/// A path of the configuration, relative to the folder of its file. Prints as written.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigPath {
    written: Text,
    full: PathBuf,
}

impl ConfigPath {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let full = path.into();
        Self { written: Text::new(full.to_string_lossy()), full }
    }

    pub fn as_path(&self) -> &Path {
        &self.full
    }

    /// The path as the file spells it.
    pub fn shown(&self) -> &str {
        self.written.shown()
    }

    pub(super) fn value(&self) -> &str {
        self.written.as_str()
    }

    pub(super) fn resolve(&mut self, folder: &Path) {
        self.full = folder.join(self.written.as_str());
    }
}

impl fmt::Debug for ConfigPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.written, f)
    }
}

impl Serialize for ConfigPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ConfigPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Text::deserialize(deserializer)?;
        Ok(Self { full: PathBuf::from(written.as_str()), written })
    }
}

impl JsonSchema for ConfigPath {
    fn schema_name() -> Cow<'static, str> {
        "Path".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1})
    }
}

/// A value that always prints stars. In the file it may be text, a number, true or false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden(pub Secret);

impl Serialize for Hidden {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Hidden {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = deserializer.deserialize_newtype_struct(SCALAR, TextVisitor)?;
        Ok(Self(Secret::new(text.value)))
    }
}

impl JsonSchema for Hidden {
    fn schema_name() -> Cow<'static, str> {
        "Hidden".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}
