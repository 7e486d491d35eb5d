//! A capability's binding written apart from its manifest: it repeats what the manifest says, and
//! adds what the manifest leaves open (CO-121..CO-129).

use model::{ApprovalMode, CapClass, CapabilityId};
use serde::Deserialize;
use serde_json::Value;

use crate::adapter::AdapterManifest;
use crate::capability::{Capability, Retry};
use crate::error::ManifestError;
use crate::grammar;
use crate::read::explain;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    #[serde(deserialize_with = "grammar::capability_id")]
    pub capability_id: CapabilityId,
    #[serde(deserialize_with = "grammar::adapter_id")]
    pub adapter_id: String,
    #[serde(alias = "mcp_tool_name", alias = "protocol_tool")]
    pub tool: String,
    #[serde(default, alias = "capability_class")]
    pub class: Option<CapClass>,
    #[serde(default)]
    pub approval_mode: Option<ApprovalMode>,
    #[serde(default, alias = "decision_binding", deserialize_with = "grammar::one_or_many")]
    pub decision_bindings: Vec<String>,
    #[serde(default, alias = "requires_approval_gate")]
    pub requires_gate: Option<String>,
    #[serde(default)]
    pub policy_refs: Vec<String>,
    #[serde(default)]
    pub evidence_keys: Vec<String>,
    #[serde(default, alias = "retry_policy")]
    pub retry: Option<Retry>,
}

/// Why a binding and a manifest do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    #[error(
        "it binds the adapter `{stated}`, and the manifest is that of `{adapter_id}`; name the \
         binding with its own manifest"
    )]
    OtherAdapter { stated: String, adapter_id: String },
    #[error("the manifest declares no capability `{0}`; declare it there first")]
    UnknownCapability(CapabilityId),
    #[error("`{key}` is `{bound}` here and `{declared}` in the manifest; write the same in both")]
    Differs {
        key: &'static str,
        declared: String,
        bound: String,
        /// The place of the capability in the manifest.
        index: usize,
    },
}

/// The keys that may differ, each with its other names.
const SPELLINGS: &[&[&str]] = &[
    &["tool", "protocol_tool", "mcp_tool_name"],
    &["class", "capability_class"],
    &["approval_mode"],
    &["decision_bindings", "decision_binding"],
    &["requires_gate", "requires_approval_gate"],
    &["policy_refs"],
    &["evidence_keys"],
    &["retry", "retry_policy"],
];

impl BindingError {
    /// Every spelling of the key of the binding that is wrong.
    pub fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::OtherAdapter { .. } => &["adapter_id"],
            Self::UnknownCapability(_) => &["capability_id"],
            Self::Differs { key, .. } => {
                SPELLINGS.iter().find(|spellings| spellings.contains(key)).copied().unwrap_or(&[])
            }
        }
    }

    /// The word of a lint for it.
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::OtherAdapter { .. } => "binding-foreign",
            Self::UnknownCapability(_) => "binding-unknown",
            Self::Differs { .. } => "binding-differs",
        }
    }
}

impl Binding {
    /// Reads a binding from JSON.
    pub fn from_value(value: Value) -> Result<Self, ManifestError> {
        serde_path_to_error::deserialize(value).map_err(explain)
    }
}

impl AdapterManifest {
    /// Takes a binding in: what it adds is declared from then on. If anything in it differs from
    /// what is declared, nothing is taken.
    pub fn bind(&mut self, binding: Binding) -> Result<(), Vec<BindingError>> {
        if binding.adapter_id != self.adapter_id {
            let (stated, adapter_id) = (binding.adapter_id, self.adapter_id.clone());
            return Err(vec![BindingError::OtherAdapter { stated, adapter_id }]);
        }
        let mut known = self.capabilities.iter_mut().enumerate();
        let known = known.find(|(_, known)| known.capability_id == binding.capability_id);
        let Some((index, capability)) = known else {
            return Err(vec![BindingError::UnknownCapability(binding.capability_id)]);
        };
        let differing = differing(capability, &binding, index);
        if !differing.is_empty() {
            return Err(differing);
        }
        fill(capability, binding);
        Ok(())
    }
}

fn differing(declared: &Capability, bound: &Binding, index: usize) -> Vec<BindingError> {
    let mut errors = Vec::new();
    let mut differ = |key, declared: String, bound: String| {
        if declared != bound {
            errors.push(BindingError::Differs { key, declared, bound, index });
        }
    };
    differ("tool", declared.tool.clone(), bound.tool.clone());
    if let Some(class) = bound.class {
        differ("class", declared.class.as_str().to_owned(), class.as_str().to_owned());
    }
    if let Some(mode) = bound.approval_mode {
        differ("approval_mode", declared.approval_mode.to_string(), mode.to_string());
    }
    if let (Some(gate), Some(other)) = (&declared.requires_gate, &bound.requires_gate) {
        differ("requires_gate", gate.clone(), other.clone());
    }
    for (key, own, other) in [
        ("decision_bindings", &declared.decision_bindings, &bound.decision_bindings),
        ("policy_refs", &declared.policy_refs, &bound.policy_refs),
        ("evidence_keys", &declared.evidence_keys, &bound.evidence_keys),
    ] {
        if !own.is_empty() && !other.is_empty() {
            differ(key, sorted(own), sorted(other));
        }
    }
    if let (Some(own), Some(other)) = (&declared.retry, &bound.retry) {
        differ("retry", shown(own), shown(other));
    }
    errors
}

fn fill(capability: &mut Capability, bound: Binding) {
    let gate = capability.requires_gate.take();
    capability.requires_gate = gate.or(bound.requires_gate);
    capability.retry = capability.retry.take().or(bound.retry);
    for (own, other) in [
        (&mut capability.decision_bindings, bound.decision_bindings),
        (&mut capability.policy_refs, bound.policy_refs),
        (&mut capability.evidence_keys, bound.evidence_keys),
    ] {
        if own.is_empty() {
            *own = other;
        }
    }
}

/// The order of a list means nothing.
fn sorted(words: &[String]) -> String {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.sort_unstable();
    words.join(", ")
}

fn shown(retry: &Retry) -> String {
    serde_json::to_string(retry).unwrap_or_default()
}
