//! The compact description of an item that a model reads before choosing. No schema, no address.

use serde::{Deserialize, Serialize};

use crate::ids::Generation;
use crate::item::ItemKind;

/// A server's claim, for display only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Safety {
    #[default]
    #[serde(rename = "")]
    Unknown,
    #[serde(rename = "read_only")]
    ReadOnly,
    #[serde(rename = "destructive")]
    Destructive,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    pub id: String,
    /// At most 64 characters.
    pub name: String,
    pub description: String,
    /// At most five, safety tags apart.
    pub tags: Vec<String>,
    pub kind: ItemKind,
    pub namespace: String,
    /// Parameter names as a call would be written: `create_issue(owner, repo, body?)`.
    pub signature: String,
    pub has_schema: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    pub cost_hint: f64,
    pub side_effects: bool,
    pub safety: Safety,
    pub generation: Generation,
}
