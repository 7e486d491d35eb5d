//! The manifest as a whole and its contract on identity. Reading it lives in `read`.

use std::collections::BTreeMap;

use model::{ItemKind, canonical, glob};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::capability::Capability;
use crate::grammar;
use crate::surface::{
    Consent, Elicitation, Observability, PromptRule, ResourceRule, Sampling, Sandbox,
    ServerIdentity, Signature,
};
use crate::transport::Transport;

pub const MANIFEST_VERSION: &str = "toolgate.adapter.v1";
/// The version of a manifest that states none.
pub const VERSION_DEFAULT: &str = "0.0.0";
/// The revision an MCP manifest is written for when it names none.
pub(crate) const PROTOCOL_VERSION_DEFAULT: &str = "2025-11-25";

/// What speaks at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Mcp,
    #[serde(rename = "openapi")]
    OpenApi,
    Function,
    Custom,
}

/// The declared contract of one upstream. Made by [`crate::parse`] or [`crate::from_value`], which
/// accept every known spelling and keep one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterManifest {
    #[serde(default = "grammar::manifest_version", deserialize_with = "grammar::known_version")]
    pub manifest_version: String,
    #[serde(deserialize_with = "grammar::adapter_id")]
    pub adapter_id: String,
    #[serde(default = "grammar::version_default", deserialize_with = "grammar::semver")]
    pub version: String,
    pub name: String,
    pub owner_role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    pub protocol: Protocol,
    /// As stated: the revision an MCP upstream must be spoken to in. Left out, nothing is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Why an older revision is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// What the upstream must offer in its handshake; `{}` under `tasks` is stored as `true`.
    #[serde(default, alias = "server_capabilities", deserialize_with = "grammar::features")]
    pub server_features: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_identity: Option<ServerIdentity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<AuthContract>,
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    #[serde(default, alias = "resource_templates", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<PromptRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<Elicitation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observability: Option<Observability>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

impl AdapterManifest {
    /// `id@version`, as records cite it.
    pub fn label(&self) -> String {
        format!("{}@{}", self.adapter_id, self.version)
    }

    /// SHA-256 over the stored form. Spelling, key order and signature do not change it.
    pub fn hash(&self) -> String {
        let unsigned = Self { signature: None, ..self.clone() };
        // INVARIANT: every map has string keys, so the manifest always has a JSON form.
        canonical::hash(&serde_json::to_value(unsigned).unwrap_or_default())
    }

    /// The revision it is written for: as stated, else for MCP 2025-11-25.
    pub fn revision(&self) -> Option<&str> {
        let assumed = (self.protocol == Protocol::Mcp).then_some(PROTOCOL_VERSION_DEFAULT);
        self.protocol_version.as_deref().or(assumed)
    }

    /// Whether it speaks of a prompt by this name, or of a resource or template at this address.
    pub fn declares(&self, kind: ItemKind, name: &str) -> bool {
        match kind {
            ItemKind::Prompt => self.prompts.iter().any(|prompt| prompt.name == name),
            ItemKind::Resource => {
                self.resources.iter().any(|rule| glob::matches(&rule.uri_pattern, name))
            }
            ItemKind::Tool | ItemKind::Skill | ItemKind::Internal => false,
        }
    }

    /// The capability bound to an upstream tool; nothing for an unlisted one.
    pub fn capability_for_tool(&self, tool: &str) -> Option<&Capability> {
        self.capabilities.iter().find(|capability| capability.tool == tool)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthType {
    None,
    #[serde(alias = "bearer_static")]
    BearerRef,
    #[serde(rename = "oauth2")]
    OAuth2,
}

/// How the gate identifies itself to the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthContract {
    #[serde(rename = "type")]
    pub kind: AuthType,
    /// The RFC 8707 resource a token is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_audience: Option<String>,
    #[serde(default)]
    pub initial_scopes: Vec<String>,
    /// Capability id to the scopes asked for only when that capability is used.
    #[serde(default)]
    pub step_up_scopes: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_model_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_rules: Option<TenantRules>,
    /// Always false: a manifest that says otherwise is refused when read.
    #[serde(default, deserialize_with = "grammar::never_passthrough")]
    pub allow_token_passthrough: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantRules {
    pub claim: String,
    #[serde(default)]
    pub allowed: Vec<String>,
}
