//! The definition of a tool, prompt or resource as somebody accepted it, or as it was first seen.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::UpstreamName;
use crate::item::ItemKind;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    pub upstream: UpstreamName,
    pub kind: ItemKind,
    /// The name exactly as the upstream spells it; of a resource its URI, or the template of it.
    pub name: String,
    /// SHA-256 over the whole definition in canonical JSON.
    pub hash: String,
    pub definition: Value,
    /// The upstream no longer lists it. Should it come back, that is a change like any other.
    pub gone: bool,
}
