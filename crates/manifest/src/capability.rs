//! One business operation: what it does, how grave it is and what a call of it must satisfy.

use std::collections::BTreeMap;

use model::{
    ApprovalMode, CapClass, CapabilityId, Class, Code, Effect, ReplayRule, Violation, limits,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::constraint::{self, ArgConstraint};
use crate::grammar;
use crate::schemas::SchemaPins;

pub mod risk;

pub use risk::ActionRisk;

/// A named business operation, bound to exactly one tool of the upstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    #[serde(deserialize_with = "grammar::capability_id")]
    pub capability_id: CapabilityId,
    /// A binding written apart from its manifest repeats the adapter; it must agree.
    #[serde(default, skip_serializing)]
    pub adapter_id: Option<String>,
    #[serde(alias = "mcp_tool_name", alias = "protocol_tool")]
    pub tool: String,
    #[serde(alias = "capability_class")]
    pub class: CapClass,
    /// The declared maximum.
    pub approval_mode: ApprovalMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_rule: Option<ReplayRule>,
    /// `name` or `name:scope`, answered by grants.
    #[serde(default)]
    pub permissions: Vec<String>,
    #[serde(default, alias = "decision_binding", deserialize_with = "grammar::one_or_many")]
    pub decision_bindings: Vec<String>,
    #[serde(default)]
    pub policy_refs: Vec<String>,
    #[serde(default, alias = "requires_approval_gate", skip_serializing_if = "Option::is_none")]
    pub requires_gate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema_ref: Option<String>,
    /// What the references led to when the manifest was read.
    #[serde(default, skip_serializing_if = "SchemaPins::is_empty")]
    pub schema_pins: SchemaPins,
    /// Argument name, or RFC 6901 pointer into the arguments, to its bounds.
    #[serde(default, deserialize_with = "grammar::unique")]
    pub arg_constraints: BTreeMap<String, ArgConstraint>,
    #[serde(default)]
    pub evidence_keys: Vec<String>,
    /// Fields of the structured answer with the ids of what a call made or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutation_keys: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<Idempotency>,
    /// Left out: never again.
    #[serde(default, alias = "retry_policy", skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    #[serde(default)]
    pub limits: CapLimits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_class: Option<Class>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<ActionRisk>,
}

impl Capability {
    /// The declared effect, or the one its class implies.
    pub fn effect(&self) -> Effect {
        self.effect.unwrap_or(self.class.default_effect())
    }

    /// The declared rule, or the one its effect implies.
    pub fn replay_rule(&self) -> ReplayRule {
        self.replay_rule.unwrap_or(self.effect().default_replay())
    }

    /// Whether a call changes something: class `act`, or an effect that writes.
    pub fn is_write(&self) -> bool {
        self.class == CapClass::Act || self.effect().is_write()
    }

    /// When it may be made again.
    pub fn retry(&self) -> Retry {
        self.retry.clone().unwrap_or_default()
    }

    /// Every way in which the arguments break `arg_constraints`, in order of argument name.
    pub fn check_args(&self, args: &Value) -> Vec<Violation> {
        let bounds = self.arg_constraints.iter();
        let found = bounds.flat_map(|(name, bound)| constraint::check(name, bound, args));
        found.take(limits::VIOLATIONS_MAX).collect()
    }
}

/// Whose keys can collide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DedupScope {
    #[default]
    Principal,
    Tenant,
    Global,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Idempotency {
    pub required: bool,
    /// The argument that carries the key, if the tool has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_pattern: Option<crate::Pattern>,
    pub dedup_window_seconds: u64,
    pub scope: DedupScope,
}

impl Default for Idempotency {
    fn default() -> Self {
        Self {
            required: false,
            arg: None,
            key_pattern: None,
            dedup_window_seconds: limits::DEDUP_WINDOW_DEFAULT.as_secs(),
            scope: DedupScope::Principal,
        }
    }
}

/// When a failed call may be sent again. One attempt means never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    pub max_attempts: u32,
    #[serde(alias = "retryable_error_codes")]
    pub codes: Vec<Code>,
    pub base_ms: u64,
    pub cap_ms: u64,
    pub jitter: bool,
    #[serde(alias = "requires_same_idempotency_key")]
    pub same_key: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_attempts: 1,
            codes: Vec::new(),
            base_ms: 200,
            cap_ms: 5_000,
            jitter: true,
            same_key: true,
        }
    }
}

/// Bounds of one capability. An absent one leaves the gate's own default in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CapLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_session: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<u64>,
}

/// Whether a call may, or must, run as a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskSupport {
    Forbidden,
    Optional,
    Required,
}
