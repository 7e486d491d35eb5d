//! What the catalogue holds: tools and other selectable things, facts apart from hints.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::grade::Effect;
use crate::ids::{CapabilityId, UpstreamName};
use crate::packed::Packed;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    Tool,
    Resource,
    Prompt,
    Skill,
    Internal,
}

impl ItemKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Skill => "skill",
            Self::Internal => "internal",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Tool, Self::Resource, Self::Prompt, Self::Skill, Self::Internal];
        all.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The one identity of an item. Every rendered name leads back to it through the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ItemKey {
    pub upstream: UpstreamName,
    /// The name exactly as the upstream spells it.
    pub name: String,
    pub kind: ItemKind,
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.upstream, self.name)
    }
}

/// The renderings of one key. All are accepted as input; none is used for routing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemIds {
    /// `namespace:name`
    pub legacy: String,
    /// `namespace:name@version` or `namespace:name#hash8`
    pub canonical: String,
    /// `mcp__upstream__name`, safe as an MCP tool name.
    pub wire: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<CapabilityId>,
}

/// What a server claims about its own tool. Never verified, never decided on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hints {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// What is known about a tool's effect, apart from what its server claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectClaim {
    /// From a reviewed manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Effect>,
    /// The worst case that holds while nothing is declared.
    pub assumed: Effect,
}

impl EffectClaim {
    /// Nothing declared: assume that the tool reaches outside.
    pub const UNLISTED: Self = Self { declared: None, assumed: Effect::External };

    pub const fn declared(effect: Effect) -> Self {
        Self { declared: Some(effect), assumed: effect }
    }

    /// What policy, replay, retry and cache go by.
    pub fn effective(self) -> Effect {
        self.declared.unwrap_or(self.assumed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// A remark about a definition: lint, drift or quality.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    /// Stable machine word, such as `schema_invalid`.
    pub rule: String,
    pub message: String,
}

impl Finding {
    pub fn new(severity: Severity, rule: &str, message: impl Into<String>) -> Self {
        Self { severity, rule: rule.to_owned(), message: message.into() }
    }
}

/// One entry of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub kind: ItemKind,
    pub key: ItemKey,
    pub ids: ItemIds,
    pub namespace: String,
    /// The raw upstream name, unchanged.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Packed,
    /// `null` when the upstream gives none; never `{}` in its place.
    pub output_schema: Option<Packed>,
    pub version: String,
    pub hints: Hints,
    pub effect: EffectClaim,
    /// Sorted, unique.
    pub tags: Vec<String>,
    /// Addresses an upstream offers for display. Untrusted, never fetched by the gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Value>,
    /// Eight hexadecimal digits over name and parameter names.
    pub shape_hash: String,
    /// SHA-256 over the whole definition in canonical JSON.
    pub full_hash: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}
