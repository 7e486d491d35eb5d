//! What is missing before a manifest can be relied on, decided from files alone: the five questions
//! of production, and the rules of tool design. Nothing is asked of an upstream or a model.

mod command;
mod design;
mod questions;
mod schemas;

pub use command::hidden_in;
use model::Severity;
use serde::Serialize;
use serde_json::Value;

pub use schemas::{SchemaLook, lint_schemas};

use crate::adapter::AdapterManifest;
use crate::capability::Capability;

/// What must be answered before an upstream serves production (CO-4..8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    What,
    Risk,
    Who,
    Evidence,
    Audit,
}

impl Question {
    pub const ALL: [Self; 5] = [Self::What, Self::Risk, Self::Who, Self::Evidence, Self::Audit];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::What => "P1 what can it do",
            Self::Risk => "P2 how risky is it",
            Self::Who => "P3 who may invoke it",
            Self::Evidence => "P4 what evidence does it leave",
            Self::Audit => "P5 can it be audited and replayed",
        }
    }
}

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Stable machine word, such as `generic-tool`.
    pub rule: &'static str,
    pub severity: Severity,
    /// The question that stays open because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// A path such as `capabilities[0].tool`; empty for the manifest as a whole.
    pub at: String,
    pub message: String,
}

impl Remark {
    /// Leaves a question open.
    fn open(question: Question, rule: &'static str, at: &str, message: impl Into<String>) -> Self {
        let question = Some(question);
        Self {
            rule,
            severity: Severity::Error,
            question,
            at: at.to_owned(),
            message: message.into(),
        }
    }

    pub(crate) fn new(
        severity: Severity,
        rule: &'static str,
        at: &str,
        message: impl Into<String>,
    ) -> Self {
        Self { rule, severity, question: None, at: at.to_owned(), message: message.into() }
    }
}

/// Everything to mend, in the order of the manifest. `tools` are definitions as an upstream lists
/// them; what they alone could show is left out without them.
pub fn lint(manifest: &AdapterManifest, tools: &[Value]) -> Vec<Remark> {
    let mut remarks = questions::whole(manifest);
    remarks.extend(design::whole(manifest, tools));
    for (index, capability) in manifest.capabilities.iter().enumerate() {
        let named = |tool: &&Value| tool["name"] == capability.tool.as_str();
        let definition = tools.iter().find(named);
        let bound = Bound { at: format!("capabilities[{index}]"), capability, definition };
        remarks.extend(questions::of(&bound, manifest));
        remarks.extend(design::of(&bound));
        if !tools.is_empty() {
            remarks.extend(design::unbound(&bound));
        }
    }
    remarks
}

/// What a manifest names of policy that is not there: gates, and policies it refers to.
pub fn lint_bindings(
    manifest: &AdapterManifest,
    is_policy: &dyn Fn(&str) -> bool,
    is_gate: &dyn Fn(&str) -> bool,
) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, capability) in manifest.capabilities.iter().enumerate() {
        let id = capability.capability_id.as_str();
        let mut say = |key: &str, rule, message: String| {
            let at = format!("capabilities[{index}].{key}");
            remarks.push(Remark::new(Severity::Error, rule, &at, message));
        };
        for reference in capability.policy_refs.iter().filter(|name| !is_policy(name)) {
            let message = format!("`{id}` refers to policy `{reference}`, which is not there");
            say("policy_refs", "policy-unknown", message);
        }
        if let Some(gate) = capability.requires_gate.as_ref().filter(|gate| !is_gate(gate)) {
            let message = format!("`{id}` waits at gate `{gate}`, which no policy names");
            say("requires_gate", "gate-unknown", message);
        }
    }
    remarks
}

/// Whether nothing leaves the question open.
pub fn is_answered(question: Question, remarks: &[Remark]) -> bool {
    !remarks.iter().any(|remark| remark.question == Some(question))
}

/// A capability and the definition of its tool, where that is at hand.
struct Bound<'a> {
    at: String,
    capability: &'a Capability,
    definition: Option<&'a Value>,
}

impl<'a> Bound<'a> {
    fn below(&self, key: &str) -> String {
        format!("{}.{key}", self.at)
    }

    fn id(&self) -> &'a str {
        self.capability.capability_id.as_str()
    }

    fn schema(&self, key: &str) -> Option<&'a Value> {
        self.definition.and_then(|tool| tool.get(key)).filter(|schema| schema.is_object())
    }

    fn input_schema(&self) -> Option<&'a Value> {
        self.schema("inputSchema")
    }

    fn output_schema(&self) -> Option<&'a Value> {
        self.schema("outputSchema")
    }

    /// Whether somebody decides by what it answers.
    fn decides(&self) -> bool {
        self.capability.is_write() || !self.capability.decision_bindings.is_empty()
    }
}
