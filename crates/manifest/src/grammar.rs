//! Checks on single values while they are read, so that the error knows the place by itself.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use model::CapabilityId;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::adapter::{MANIFEST_VERSION, VERSION_DEFAULT};

pub(crate) fn manifest_version() -> String {
    MANIFEST_VERSION.to_owned()
}

pub(crate) fn version_default() -> String {
    VERSION_DEFAULT.to_owned()
}

pub(crate) fn known_version<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text == MANIFEST_VERSION {
        return Ok(text);
    }
    Err(D::Error::custom(format_args!(
        "manifest version `{text}` is unknown; this gate reads `{MANIFEST_VERSION}`"
    )))
}

pub(crate) fn adapter_id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if is_word(&text) {
        return Ok(text);
    }
    Err(D::Error::custom(format_args!(
        "adapter id `{text}` must be a lower-case letter followed by lower-case letters, digits \
         or `_`"
    )))
}

pub(crate) fn capability_id<'de, D: Deserializer<'de>>(from: D) -> Result<CapabilityId, D::Error> {
    let text = String::deserialize(from)?;
    if text.contains('.') && text.split('.').all(is_word) {
        return Ok(CapabilityId::from_string(text));
    }
    Err(D::Error::custom(format_args!(
        "capability id `{text}` must be dotted lower-case words, such as `payments.issue_refund`"
    )))
}

pub(crate) fn semver<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if is_semver(&text) {
        return Ok(text);
    }
    Err(D::Error::custom(format_args!(
        "version `{text}` must be three numbers joined by dots, such as `1.2.0`"
    )))
}

/// Takes a bare string for a list of one.
pub(crate) fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a string or a list of strings")]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(from)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

/// A map whose keys may not repeat: the last one would win over what a reviewer read first.
pub(crate) fn unique<'de, D, V>(from: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    from.deserialize_map(UniqueKeys(PhantomData))
}

struct UniqueKeys<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueKeys<V> {
    type Value = BTreeMap<String, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry::<String, V>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("`{key}` is written twice")));
            }
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// Under `tasks`, MCP writes `{}` where others write `true` (CO-68).
pub(crate) fn features<'de, D: Deserializer<'de>>(from: D) -> Result<Map<String, Value>, D::Error> {
    let mut features = Map::deserialize(from)?;
    if let Some(tasks) = features.get_mut("tasks").and_then(Value::as_object_mut) {
        for flag in ["list", "cancel"] {
            if let Some(value) = tasks.get_mut(flag).filter(|value| value.is_object()) {
                *value = true.into();
            }
        }
    }
    Ok(features)
}

pub(crate) fn endpoint_ref<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    if text.as_deref().is_some_and(has_userinfo) {
        return Err(D::Error::custom(
            "the address carries a user name or password; keep credentials in `auth`",
        ));
    }
    Ok(text)
}

pub(crate) fn never_passthrough<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    if bool::deserialize(from)? {
        return Err(D::Error::custom(
            "a caller's token is never passed through; set `allow_token_passthrough` to false \
             or leave it out",
        ));
    }
    Ok(false)
}

fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_semver(text: &str) -> bool {
    let (rest, build) = split(text, '+');
    let (core, pre) = split(rest, '-');
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && [pre, build].into_iter().flatten().all(is_dotted)
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(head, tail)| (head, Some(tail)))
}

fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

fn is_dotted(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
}

/// Only an address has a place for credentials; a reference by name has none.
fn has_userinfo(text: &str) -> bool {
    let Some((_, after)) = text.split_once("://") else { return false };
    after.split(['/', '?', '#', '\\']).next().is_some_and(|authority| authority.contains('@'))
}
