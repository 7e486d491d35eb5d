//! Where an upstream lives and how bytes get there. Opening the connection is `upstream`'s work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::grammar;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportKind {
    Stdio,
    StreamableHttp,
    Sse,
    /// Plain requests and responses: OpenAPI services and functions.
    Http,
    Custom,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    pub kind: TransportKind,
    /// An address or the name of one. Never carries a password: such a manifest is refused.
    #[serde(
        default,
        deserialize_with = "grammar::endpoint_ref",
        skip_serializing_if = "Option::is_none"
    )]
    pub endpoint_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default)]
    pub args: Vec<String>,
    /// Names of secrets, not secrets: a manifest is read by many.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// As with `env`, references only.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub origin_allowlist: Vec<String>,
    #[serde(default)]
    pub timeouts: Timeouts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomTransport>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    #[serde(alias = "connect", skip_serializing_if = "Option::is_none")]
    pub connect_ms: Option<u64>,
    #[serde(alias = "call", skip_serializing_if = "Option::is_none")]
    pub call_ms: Option<u64>,
    #[serde(alias = "idle", skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

/// What a transport of one's own must document (CO-160).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomTransport {
    pub framing: String,
    pub auth: String,
    pub replay: String,
    pub cancel: String,
    pub observe: String,
}
