//! What a manifest says about an upstream beyond its tools: resources, prompts, what it may ask
//! back, its cage, its trail and its signature. Words only; enforcement lies elsewhere.

use std::collections::BTreeMap;

use model::{Class, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::constraint::Pattern;

/// What was pinned from the handshake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    pub name: String,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue_hash: Option<String>,
}

/// A resource or template that may be read, and how its parameters are bounded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceRule {
    pub uri_pattern: String,
    #[serde(default)]
    pub params: BTreeMap<String, ParamRule>,
    #[serde(default)]
    pub class: Class,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness_source: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ParamRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub enum_values: Option<Vec<Value>>,
    /// The folder a path must stay in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptRule {
    pub name: String,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
}

/// When a person looks at what an upstream asks a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    #[default]
    Always,
    Risky,
    Never,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    pub declared: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_run: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    pub tools: Vec<String>,
    pub review: Review,
    /// The models that may be asked, in place of those the upstream prefers; empty: any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// By what it is known that the upstream asks well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eval_ref: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Elicitation {
    pub form: bool,
    pub url: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_run: Option<u32>,
    pub url_hosts: Vec<String>,
}

/// What a local process may reach. Nothing that is not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    pub fs_read: Vec<String>,
    pub fs_write: Vec<String>,
    pub net_hosts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mem_mb: Option<u64>,
}

/// Who agreed to run which command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consent {
    pub command_line: String,
    pub shown_hash: String,
    pub by: String,
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceContext {
    W3c,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Observability {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_context: Option<TraceContext>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_name_prefix: Option<String>,
    /// What is told of each call, on its record and its span.
    pub metrics: Vec<Metric>,
}

/// What can be measured of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    LatencyMs,
    RetryCount,
    UpstreamStatus,
    CostCents,
}

/// Stated, not verified here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    pub alg: String,
    pub key_id: String,
    pub value: String,
}
