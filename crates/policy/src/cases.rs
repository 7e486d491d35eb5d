//! Cases as data: somebody, something, and what a policy must say about it.
//!
//! Tools are described in the case itself, so that a policy can be tried where no upstream is.

use std::collections::BTreeMap;

use manifest::Capability;
use model::{
    ApprovalMode, CallId, Caller, CapClass, Decision, DecisionAction, DecisionId, Effect,
    EffectClaim, Grant, Hints, Item, ItemIds, ItemKey, ItemKind, Method, Principal, PrincipalKind,
    Timestamp, UpstreamName,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::decide::{Action, decide, may};
use crate::facts::Facts;
use crate::rules::Rules;

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// `kind:id`, such as `user:ann`; a bare name is a user.
    pub principal: String,
    #[serde(default)]
    pub tenant: Option<String>,
    #[serde(default)]
    pub roles: Vec<String>,
    #[serde(default)]
    pub grants: Vec<String>,
    #[serde(default)]
    pub ceiling: Option<ApprovalMode>,
    #[serde(default)]
    pub action: Asked,
    pub tool: Subject,
    #[serde(default)]
    pub arguments: Map<String, Value>,
    #[serde(default)]
    pub intent: Option<String>,
    /// What the run has used up so far.
    #[serde(default)]
    pub spent: Option<Used>,
    #[serde(default)]
    pub now_ms: i64,
    pub expect: Expected,
    /// The policies that must have decided, if it matters which.
    #[serde(default)]
    pub rules: Option<Vec<String>>,
    #[serde(default)]
    pub gate: Option<String>,
    #[serde(default)]
    pub mode: Option<ApprovalMode>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    List,
    #[default]
    Call,
    Read,
    GetPrompt,
    View,
    Approve,
}

/// What must come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    Allow,
    Deny,
    /// A human is asked first.
    Ask,
}

/// What a run has used up.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Used {
    pub calls: u64,
    pub writes: u64,
}

/// A tool as far as policies see it. With a class it is declared.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Subject {
    pub upstream: String,
    pub name: String,
    pub namespace: String,
    pub capability: Option<String>,
    pub class: Option<CapClass>,
    pub mode: Option<ApprovalMode>,
    pub effect: Option<Effect>,
    /// The gate its manifest names.
    pub gate: Option<String>,
}

/// A case that came out otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Surprise {
    pub case: String,
    pub message: String,
}

/// Tries one case.
pub fn try_case(rules: &Rules, case: &Case) -> Result<(), Surprise> {
    let surprise = |message: String| Surprise { case: case.name.clone(), message };
    let caller = case.caller().map_err(surprise)?;
    let capability = case.tool.capability().map_err(surprise)?;
    let (item, arguments) = (case.item(), Value::Object(case.arguments.clone()));
    let facts = Facts {
        call_id: &CallId::from_string(""),
        decision_id: &DecisionId::from_string(""),
        caller: &caller,
        method: &case.method(),
        item: &item,
        capability: capability.as_ref(),
        declared: false,
        args: &arguments,
        written: None,
        params: &Map::new(),
        intent: case.intent.as_deref(),
        spent: case.spent.map(|Used { calls, writes }| model::Spent { calls, writes }),
        at: Timestamp::from_millis(case.now_ms),
    };
    let quiet = match case.action {
        Asked::List => Some(Action::List),
        Asked::View => Some(Action::View),
        Asked::Approve => Some(Action::Approve),
        Asked::Call | Asked::Read | Asked::GetPrompt => None,
    };
    if let Some(action) = quiet {
        let got = if may(rules, action, &facts) { Expected::Allow } else { Expected::Deny };
        return case.compare(got, None).map_err(surprise);
    }
    let decision = decide(rules, &facts).decision;
    case.compare(outcome(&decision), Some(&decision)).map_err(surprise)
}

const fn outcome(decision: &Decision) -> Expected {
    match decision.action {
        DecisionAction::Allow => Expected::Allow,
        DecisionAction::Deny => Expected::Deny,
        DecisionAction::RequireApproval => Expected::Ask,
    }
}

impl Case {
    fn compare(&self, got: Expected, decision: Option<&Decision>) -> Result<(), String> {
        let differs = |what: &str, wanted: Value, got: Value| {
            Err(format!("{what} is {got}, and should be {wanted}"))
        };
        if got != self.expect {
            let why = decision.map(|decision| format!(" ({})", decision.reason));
            let (wanted, got) = (json!(self.expect), json!(got));
            let message = format!("the answer is {got}, and should be {wanted}");
            return Err(message + &why.unwrap_or_default());
        }
        let Some(decision) = decision else { return Ok(()) };
        if let Some(rules) =
            self.rules.as_ref().filter(|rules| **rules != decision.matched_rule_ids)
        {
            return differs(
                "the deciding policies",
                json!(rules),
                json!(decision.matched_rule_ids),
            );
        }
        if let Some(gate) = self.gate.as_ref().filter(|gate| Some(*gate) != decision.gate.as_ref())
        {
            return differs("the gate", json!(gate), json!(decision.gate));
        }
        match self.mode.filter(|mode| *mode != decision.effective_mode) {
            Some(mode) => differs("the mode", json!(mode), json!(decision.effective_mode)),
            None => Ok(()),
        }
    }

    fn caller(&self) -> Result<Caller, String> {
        let mut principal = read_principal(&self.principal)?;
        principal.tenant_id.clone_from(&self.tenant);
        Ok(Caller {
            roles: self.roles.clone(),
            grants: self.grants.iter().map(|text| Grant::read(text)).collect(),
            ceiling: self.ceiling,
            ..Caller::new(principal)
        })
    }

    const fn method(&self) -> Method {
        match self.action {
            Asked::Read => Method::ReadResource,
            Asked::GetPrompt => Method::GetPrompt,
            Asked::List | Asked::Call | Asked::View | Asked::Approve => Method::CallTool,
        }
    }

    fn item(&self) -> Item {
        let Subject { upstream, name, namespace, .. } = &self.tool;
        let kind = self.method().kind();
        let upstream = UpstreamName::from_string(upstream.as_str());
        Item {
            kind,
            key: ItemKey { upstream, name: name.clone(), kind },
            namespace: namespace.clone(),
            name: name.clone(),
            ..bare_item()
        }
    }
}

/// `kind:id`; a bare name is a user.
pub fn read_principal(text: &str) -> Result<Principal, String> {
    let (kind, id) = text.split_once(':').unwrap_or(("user", text));
    let kinds: BTreeMap<&str, PrincipalKind> = [
        PrincipalKind::User,
        PrincipalKind::Service,
        PrincipalKind::Agent,
        PrincipalKind::Automation,
    ]
    .into_iter()
    .map(|kind| (kind.as_str(), kind))
    .collect();
    match kinds.get(kind) {
        Some(kind) => Ok(Principal { kind: *kind, ..Principal::user(id) }),
        None => {
            Err(format!("`{kind}` is no kind of caller; write user, service, agent or automation"))
        }
    }
}

impl Subject {
    fn capability(&self) -> Result<Option<Capability>, String> {
        let Some(class) = self.class else { return Ok(None) };
        let id = self.capability.clone().unwrap_or_else(|| "case.tool".to_owned());
        let mut binding = json!({
            "capability_id": id, "tool": self.name, "class": class,
            "approval_mode": self.mode.unwrap_or(ApprovalMode::Destructive),
        });
        if let Some(binding) = binding.as_object_mut() {
            binding.extend(self.effect.map(|effect| ("effect".to_owned(), json!(effect))));
            binding
                .extend(self.gate.as_ref().map(|gate| ("requires_gate".to_owned(), json!(gate))));
        }
        let read = serde_json::from_value(binding);
        read.map(Some).map_err(|error| format!("the tool cannot be read: {error}"))
    }
}

/// Nothing that a policy looks at.
fn bare_item() -> Item {
    Item {
        kind: ItemKind::Tool,
        key: ItemKey {
            upstream: UpstreamName::from_string(""),
            name: String::new(),
            kind: ItemKind::Tool,
        },
        ids: ItemIds {
            legacy: String::new(),
            canonical: String::new(),
            wire: String::new(),
            capability: None,
        },
        namespace: String::new(),
        name: String::new(),
        title: None,
        description: String::new(),
        input_schema: (&json!({})).into(),
        output_schema: None,
        version: String::new(),
        hints: Hints::default(),
        effect: EffectClaim::UNLISTED,
        tags: Vec::new(),
        icons: Vec::new(),
        shape_hash: String::new(),
        full_hash: String::new(),
        findings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        @id("all") permit (principal, action, resource);
        @id("small") @mode("network") permit (principal, action == Action::"call", resource)
        when { context.arguments has amount && context.arguments.amount < 10 };
        @id("grave") @gate("OPS") permit (principal, action == Action::"call", resource)
        when { resource.mode == "destructive" };
        @id("interns") forbid (principal in Role::"intern", action, resource in Namespace::"pay");
        @id("own") forbid (principal, action == Action::"approve", resource)
        unless { principal in Role::"finance" };
        @id("lost") forbid (principal, action, resource)
        when { context has budget && context.budget.writes > 3 };
        @id("idle") forbid (principal, action == Action::"call", resource in Namespace::"pay")
        unless { context has intent };
        @id("fs") forbid (principal, action == Action::"read", resource)
        unless { context.scopes.contains("fs.read") };"#;

    fn said(case: &Value) -> Option<String> {
        let rules = Rules::parse("test", RULES).unwrap();
        let mut all = json!({
            "name": "it", "principal": "user:ann", "intent": "refund",
            "tool": {"upstream": "bank", "name": "pay", "namespace": "pay", "class": "act", "mode": "delegated"},
        });
        all.as_object_mut().unwrap().extend(case.as_object().unwrap().clone());
        let case: Case = serde_json::from_value(all).unwrap();
        try_case(&rules, &case).err().map(|surprise| surprise.message)
    }

    #[test]
    fn a_case_says_what_must_come_of_it() {
        let check = |case: Value| assert_eq!(said(&case), None, "{case}");
        check(json!({"expect": "allow", "rules": ["all"], "mode": "delegated"}));
        check(json!({"expect": "deny", "roles": ["intern"], "rules": ["interns"]}));
        check(json!({"expect": "deny", "intent": null, "rules": ["idle"]}));
        check(json!({"expect": "deny", "spent": {"calls": 9, "writes": 4}}));
        check(json!({"expect": "deny", "ceiling": "network"}));
        check(json!({"expect": "deny", "action": "approve"}));
        check(json!({"expect": "allow", "action": "approve", "roles": ["finance"]}));
        check(json!({"expect": "deny", "action": "list", "roles": ["intern"]}));
        check(json!({"expect": "allow", "action": "view"}));
        check(json!({"expect": "deny", "action": "read"}));
        check(json!({"expect": "allow", "action": "read", "grants": ["fs.read"]}));
        check(json!({"expect": "allow", "action": "get_prompt"}));
    }

    /// CO-204: denied, approval required, a mode lowered, and one that cannot be raised.
    #[test]
    fn policy_denies_asks_lowers_and_never_raises() {
        let with_mode =
            |mode: &str| json!({"upstream": "b", "name": "p", "class": "act", "mode": mode});
        let check = |case: Value| assert_eq!(said(&case), None, "{case}");
        check(json!({"expect": "deny", "roles": ["intern"]}));
        check(json!({"expect": "ask", "gate": "OPS", "tool": with_mode("destructive")}));
        let small = json!({"amount": 5});
        check(
            json!({"expect": "allow", "mode": "network", "arguments": small, "tool": with_mode("delegated")}),
        );
        check(
            json!({"expect": "allow", "mode": "read_only", "arguments": small, "tool": with_mode("read_only")}),
        );
    }

    #[test]
    fn a_surprise_says_what_came_instead() {
        let check = |case: Value, part: &str| {
            let said = said(&case).unwrap();
            assert!(said.contains(part), "{said}");
        };
        check(json!({"expect": "deny"}), "the answer is \"allow\", and should be \"deny\"");
        check(json!({"expect": "allow", "rules": ["x"]}), "the deciding policies");
        check(json!({"expect": "allow", "gate": "G"}), "the gate is null");
        check(json!({"expect": "allow", "mode": "network"}), "the mode is \"delegated\"");
        check(json!({"expect": "allow", "principal": "robot:r2"}), "no kind of caller");
    }
}
