//! Bounds on single arguments, enforced in addition to the tool's schema. A value of the wrong
//! type breaks its bound: what cannot be compared is not within it.

use std::borrow::Cow;

use model::{Violation, canonical};
use regex::Regex;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArgConstraint {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub enum_values: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// A regular expression, compiled when the manifest is read. Matches anywhere unless anchored, as
/// JSON Schema's `pattern` does, and in time linear in the text.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    pub fn new(text: &str) -> Result<Self, regex::Error> {
        Regex::new(text).map(Self)
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(|error| {
            de::Error::custom(format_args!("`{text}` is not a regular expression: {error}"))
        })
    }
}

/// What is wrong with one argument, rule by rule.
pub(crate) fn check(name: &str, bound: &ArgConstraint, args: &Value) -> Vec<Violation> {
    let pointer = pointer(name);
    let Some(value) = args.pointer(&pointer) else {
        return bound
            .required
            .then(|| violation(name, &pointer, "required", format!("`{name}` is required")))
            .into_iter()
            .collect();
    };
    let broken = [
        ("min", bound.min.and_then(|min| below(value, min))),
        ("max", bound.max.and_then(|max| above(value, max))),
        ("enum", bound.enum_values.as_deref().and_then(|values| outside(value, values))),
        ("pattern", bound.pattern.as_ref().and_then(|pattern| unlike(value, pattern))),
    ];
    let broken = broken.into_iter().filter_map(|(rule, reason)| Some((rule, reason?)));
    broken
        .map(|(rule, reason)| violation(name, &pointer, rule, format!("`{name}` {reason}")))
        .collect()
}

fn below(value: &Value, min: f64) -> Option<String> {
    match value.as_f64() {
        Some(number) if number >= min => None,
        Some(_) => Some(format!("must be at least {min}")),
        None => Some(format!("must be a number of at least {min}")),
    }
}

fn above(value: &Value, max: f64) -> Option<String> {
    match value.as_f64() {
        Some(number) if number <= max => None,
        Some(_) => Some(format!("must be at most {max}")),
        None => Some(format!("must be a number of at most {max}")),
    }
}

fn outside(value: &Value, values: &[Value]) -> Option<String> {
    let spelled = canonical::bytes(value);
    if values.iter().any(|allowed| canonical::bytes(allowed) == spelled) {
        return None;
    }
    let list: Vec<String> = values.iter().map(|allowed| format!("`{allowed}`")).collect();
    Some(format!("must be one of {}", list.join(", ")))
}

fn unlike(value: &Value, pattern: &Pattern) -> Option<String> {
    let matches = value.as_str().is_some_and(|text| pattern.is_match(text));
    (!matches).then(|| format!("must be text matching `{}`", pattern.as_str()))
}

fn violation(name: &str, pointer: &str, rule: &str, message: String) -> Violation {
    let schema_path = format!("/arg_constraints/{}/{rule}", escape(name));
    Violation { instance_path: pointer.to_owned(), schema_path, message }
}

/// A name that starts with a slash is a pointer already.
fn pointer(name: &str) -> Cow<'_, str> {
    if name.starts_with('/') { name.into() } else { format!("/{}", escape(name)).into() }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
