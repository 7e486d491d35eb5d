//! A skill composes capabilities and grants none: what it needs must be permitted already.
//!
//! Only what can be told from files is told here; running a skill is nobody's business yet.

use std::collections::BTreeMap;

use model::{CapabilityId, Severity};
use serde::{Deserialize, Serialize};

use crate::adapter::AdapterManifest;
use crate::capability::Capability;
use crate::grammar;
use crate::lint::Remark;

/// A recurring task over several capabilities. It has no key by which it could permit anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    pub skill_id: String,
    #[serde(deserialize_with = "grammar::semver")]
    pub version: String,
    pub purpose: String,
    pub required_capabilities: Vec<CapabilityId>,
    #[serde(default)]
    pub preconditions: Vec<String>,
    #[serde(default)]
    pub postconditions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_fragment_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation_set_ref: Option<String>,
}

impl Skill {
    /// Reads a skill from JSON text. A key it does not know is refused: a skill that says it grants
    /// something is no skill.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The capabilities it composes, in its own order, out of those that are permitted; else the
    /// first that is not.
    pub fn expand<'a>(
        &self,
        permitted: impl IntoIterator<Item = &'a Capability>,
    ) -> Result<Vec<&'a Capability>, CapabilityId> {
        let permitted: BTreeMap<&str, &Capability> =
            permitted.into_iter().map(|known| (known.capability_id.as_str(), known)).collect();
        let wanted = self.required_capabilities.iter();
        wanted.map(|id| permitted.get(id.as_str()).copied().ok_or_else(|| id.clone())).collect()
    }

    /// What is wrong with it, given all that is declared.
    pub fn lint(&self, manifests: &[AdapterManifest]) -> Vec<Remark> {
        let declared: Vec<&Capability> =
            manifests.iter().flat_map(|manifest| &manifest.capabilities).collect();
        let mut remarks = Vec::new();
        for (index, id) in self.required_capabilities.iter().enumerate() {
            if !declared.iter().any(|known| known.capability_id == *id) {
                let at = format!("required_capabilities[{index}]");
                let message =
                    format!("no manifest declares `{id}`: a skill composes what is permitted");
                remarks.push(Remark::new(Severity::Error, "skill-undeclared", &at, message));
            }
        }
        if self.required_capabilities.is_empty() {
            let message = "it composes nothing: name its `required_capabilities`";
            remarks.push(Remark::new(Severity::Error, "skill-empty", "", message));
        }
        if self.evaluation_set_ref.is_none() {
            let message = "name the `evaluation_set_ref` it was evaluated with";
            remarks.push(Remark::new(Severity::Warning, "skill-unevaluated", "", message));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn skill(more: &Value) -> Result<Skill, String> {
        let mut skill = json!({
            "skill_id": "support.refund", "version": "1.0.0", "purpose": "give money back",
            "required_capabilities": ["payments.lookup", "payments.refund"],
            "evaluation_set_ref": "goldenset://refunds.v1",
        });
        skill.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Skill::parse(&skill.to_string())
    }

    fn declaring(ids: &[&str]) -> AdapterManifest {
        let capability = |id: &&str| json!({"capability_id": id, "tool": id, "class": "observe", "approval_mode": "read_only"});
        let capabilities: Vec<Value> = ids.iter().map(capability).collect();
        crate::from_value(json!({
            "adapter_id": "pay", "name": "pay", "owner_role": "finance", "protocol": "mcp",
            "capabilities": capabilities,
        }))
        .unwrap()
    }

    /// CO-235: a skill composes what is permitted, in its own order, and nothing else.
    #[test]
    fn a_skill_expands_into_permitted_capabilities_or_not_at_all() {
        let skill = skill(&json!({})).unwrap();
        let all = declaring(&["payments.refund", "payments.lookup", "payments.other"]);
        let expanded = skill.expand(&all.capabilities).unwrap();
        let ids: Vec<&str> = expanded.iter().map(|known| known.capability_id.as_str()).collect();
        assert_eq!(ids, ["payments.lookup", "payments.refund"]);
        let some = declaring(&["payments.lookup", "payments.other"]);
        assert_eq!(skill.expand(&some.capabilities).unwrap_err().as_str(), "payments.refund");
        let rules: Vec<&str> = skill.lint(&[some]).iter().map(|remark| remark.rule).collect();
        assert_eq!(rules, ["skill-undeclared"]);
        assert_eq!(skill.lint(&[all]), []);
    }

    /// CO-235: it has no word by which it could grant something.
    #[test]
    fn a_skill_that_would_grant_something_is_no_skill() {
        for key in ["grants", "permissions", "tools", "allowed_capabilities", "capabilities"] {
            let why = skill(&json!({key: ["payments.refund"]})).unwrap_err();
            assert!(why.contains("unknown field"), "{why}");
        }
        let empty = skill(&json!({"required_capabilities": []})).unwrap();
        assert_eq!(empty.lint(&[]).first().map(|remark| remark.rule), Some("skill-empty"));
    }
}
