//! Cleans every string of an answer, keys included, and counts what changed.
//!
//! The shape of the JSON never changes: as many entries, in the same order. Data in base64 has
//! nothing to clean and so passes as it is. Secrets are `redact`'s work.

mod invisible;
mod keys;
mod marker;
mod script;
mod spelling;
mod stargraph;
mod stride;
mod strip;

use std::borrow::Cow;

use model::Answer;
use model::result::Cleaning;
use serde_json::{Map, Value};

use crate::limits::OPAQUE_BYTES_MIN;
use crate::redact::{REDACTED, Redactor};
use keys::clean_keys;
use stargraph::then;
pub use strip::scrub;

/// How much is taken out of the model's copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// What `Plain` takes out, invisible characters, and markers of conversation templates.
    #[default]
    Strict,
    /// Control characters and whole terminal sequences.
    Plain,
    /// The three transforms of stargraph: control characters, HTML escaping, its three markers.
    ///
    /// With escaping, cleaning twice escapes twice.
    Stargraph(Html),
    /// Nothing: for upstreams the operator trusts as much as the gate itself.
    Verbatim,
}

/// Whether `& < > " '` become entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Html {
    #[default]
    Escape,
    Keep,
}

impl Profile {
    /// Goes up when the same profile starts to take out something else.
    const VERSION: u32 = 2;

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Plain => "plain",
            Self::Stargraph(Html::Escape) => "stargraph",
            Self::Stargraph(Html::Keep) => "stargraph_unescaped",
            Self::Verbatim => "verbatim",
        }
    }

    /// One string as the model may read it; copied only where something changes.
    pub fn clean(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Strict if is_plain(text) => Cow::Borrowed(text),
            Self::Strict if is_printable(text) => marker::mark(text),
            Self::Strict => then(then(scrub(text), invisible::reveal), marker::mark),
            Self::Plain => scrub(text),
            Self::Stargraph(html) => stargraph::transform(text, html),
            Self::Verbatim => Cow::Borrowed(text),
        }
    }
}

/// What every string on its way out goes through: the profile first, so that nothing invisible
/// splits a secret, then the redactor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cleaner<'a> {
    pub(crate) profile: Profile,
    pub(crate) redactor: &'a Redactor,
}

impl<'a> Cleaner<'a> {
    /// For whatever does not come from an upstream with a profile of its own.
    pub(crate) const fn strict(redactor: &'a Redactor) -> Self {
        Self { profile: Profile::Strict, redactor }
    }

    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        then(self.profile.clean(text), |text| self.redactor.redact(text))
    }

    pub(crate) fn answer(&self, answer: &mut Answer) -> Cleaning {
        let content: u64 = answer.content.iter_mut().map(|part| self.value(part)).sum();
        let structured = answer.structured.as_mut().map_or(0, |value| self.value(value));
        let changed_leaves = content + structured + self.fields(&mut answer.rest);
        let profile = self.profile.as_str().to_owned();
        Cleaning { profile, version: Profile::VERSION, changed_leaves }
    }

    /// Cleans in place and tells how many strings changed.
    pub(crate) fn value(&self, value: &mut Value) -> u64 {
        match value {
            Value::String(text) => put(text, |text| self.text(text)),
            Value::Array(items) => self.items(items),
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// The entries of a list are often objects with the same keys, which need be looked at once.
    fn items(&self, items: &mut [Value]) -> u64 {
        let mut changed = 0;
        let mut harmless_keys = false;
        for index in 0..items.len() {
            let (former, rest) = items.split_at_mut(index);
            let former = former.last().and_then(Value::as_object).filter(|_| harmless_keys);
            let Some(item) = rest.first_mut() else { break };
            let Value::Object(fields) = item else {
                changed += self.value(item);
                continue;
            };
            changed += self.values_of(fields);
            harmless_keys = former.is_some_and(|former| former.keys().eq(fields.keys())) || {
                let dirty = clean_keys(fields, self);
                changed += dirty;
                dirty == 0
            };
        }
        changed
    }

    fn values_of(&self, fields: &mut Map<String, Value>) -> u64 {
        fields.iter_mut().map(|(key, value)| self.field(key, value)).sum()
    }

    fn fields(&self, fields: &mut Map<String, Value>) -> u64 {
        self.values_of(fields) + clean_keys(fields, self)
    }

    /// A value, with the name it stands under.
    pub(crate) fn field(&self, key: &str, value: &mut Value) -> u64 {
        match value {
            Value::String(text) if is_opaque(key, text) => 0,
            Value::String(text) if self.redactor.is_assigned(key, text) => {
                REDACTED.clone_into(text);
                1
            }
            other => self.value(other),
        }
    }
}

/// Short and of letters, digits and harmless signs alone, as most names and values are.
fn is_plain(text: &str) -> bool {
    let plain = |byte: &u8| matches!(byte, b' '..=b'%' | b'\''..=b';' | b'='..=b'^' | b'`'..=b'~');
    text.len() <= 64 && text.as_bytes().iter().fold(true, |all, byte| all & plain(byte))
}

/// Nothing in it is a control character or invisible: most texts are, and are told so at memory speed.
fn is_printable(text: &str) -> bool {
    let printable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let all = |block: &[u8]| block.iter().fold(true, |all, byte| all & printable(byte));
    text.as_bytes().chunks(64).all(all)
}

fn put(text: &mut String, clean: impl FnOnce(&str) -> Cow<'_, str>) -> u64 {
    let cleaned = match clean(text) {
        Cow::Borrowed(_) => return 0,
        Cow::Owned(cleaned) => cleaned,
    };
    *text = cleaned;
    1
}

/// Pictures and sounds: base64 has nothing to read, and looks like any secret there is.
fn is_opaque(key: &str, text: &str) -> bool {
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    matches!(key, "data" | "blob")
        && text.len() >= OPAQUE_BYTES_MIN
        && text.as_bytes().chunks(64).all(|chunk| chunk.iter().fold(true, |all, b| all & base64(b)))
}

#[cfg(test)]
mod tests;
