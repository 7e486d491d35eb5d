//! The sections about what clients are shown of the catalogue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choices::UnknownTool;

/// How tools are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Exposure {
    /// In mode `auto`: the whole list of tools is shown as it is while it costs fewer tokens.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub auto_tokens: usize,
    /// Three tools in place of `tool_execute`: `tool_read`, `tool_write` and `tool_destroy`, so
    /// that a client can ask its user about some and not about others.
    pub split_execute: bool,
    /// In mode `gateway`: `resource_browse` and `resource_read`, where upstreams have resources.
    pub resources: bool,
    /// In mode `gateway`: `prompt_browse` and `prompt_get`, where upstreams have prompts.
    pub prompts: bool,
}

impl Default for Exposure {
    fn default() -> Self {
        Self { auto_tokens: 4_000, split_execute: false, resources: false, prompts: false }
    }
}

/// What browsing answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Browse {
    /// The most cards one browse may be asked for.
    #[schemars(range(min = 1, max = 50))]
    pub max_cards: usize,
    /// Cards a caller has seen come first and unchanged, so that a provider's prompt cache holds.
    pub cache_stable: bool,
}

impl Default for Browse {
    fn default() -> Self {
        Self { max_cards: 50, cache_stable: false }
    }
}

/// Where clients expect something else than the protocol says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Compat {
    /// How a client hears that it called a tool that does not exist.
    pub unknown_tool: UnknownTool,
}
