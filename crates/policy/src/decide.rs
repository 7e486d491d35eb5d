//! Facts and rules in, a verdict out. Whatever cannot be decided is denied.

use std::collections::BTreeSet;

use cedar_policy::{Authorizer, Decision as CedarDecision, Effect, Policy, PolicyId, Response};
use model::{ApprovalMode, Code, Decision, DecisionAction, Fault};

use crate::facts::{self, Facts};
use crate::needs::Needs;
use crate::permit::Permit;
use crate::question::Question;
use crate::rules::{Notes, Rules};

/// What was decided, and the way on.
#[derive(Debug)]
pub struct Verdict {
    pub decision: Decision,
    pub way: Way,
}

#[derive(Debug)]
pub enum Way {
    /// The call may be made.
    Go(Permit),
    /// A human must say yes first.
    Ask(Question),
    /// The call is refused.
    No(Fault),
}

/// Decides one call.
pub fn decide(rules: &Rules, facts: &Facts<'_>) -> Verdict {
    let ruling = match rules.for_all() {
        _ if facts.over_ceiling() => Ruling::too_grave(facts),
        Some(ruling) => ruling.clone(),
        None => rule(rules, facts.method.action(), facts),
    };
    let effective_mode = ruling.mode.map_or(facts.mode(), |mode| mode.min(facts.mode()));
    let needs = if rules.is_by_mode() && ruling.allowed {
        Needs::of(facts, effective_mode)
    } else {
        Needs::default()
    };
    let gate = facts
        .capability
        .filter(|_| !facts.method.only_looks())
        .and_then(|capability| capability.requires_gate.clone());
    let gate = gate.or(ruling.gate).or_else(|| needs.gate.map(str::to_owned));
    let gate = gate.filter(|_| ruling.allowed);
    let action = match (ruling.allowed, &gate) {
        (false, _) => DecisionAction::Deny,
        (true, Some(_)) => DecisionAction::RequireApproval,
        (true, None) => DecisionAction::Allow,
    };
    let decision = Decision {
        policy_decision_id: facts.decision_id.clone(),
        action,
        reason: ruling.reason,
        matched_rule_ids: ruling.matched,
        policy_hash: rules.hash().to_owned(),
        effective_mode,
        gate: gate.clone(),
        obligations: joined(ruling.obligations, needs.obligations),
        spent: facts.spent,
        inputs_hash: facts.hash(),
        at: facts.at,
    };
    let way = match (action, gate) {
        (DecisionAction::Allow, _) => Way::Go(Permit::make(facts)),
        (DecisionAction::RequireApproval, Some(gate)) => {
            Way::Ask(Question::make(Permit::make(facts), facts, rules, gate))
        }
        _ => Way::No(refusal(&decision, facts)),
    };
    Verdict { decision, way }
}

/// Whether the caller may know that this tool exists.
pub fn may_list(rules: &Rules, facts: &Facts<'_>) -> bool {
    may(rules, Action::List, facts)
}

/// What can be done about a tool that reaches no upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    List,
    View,
    Approve,
}

/// Whether the caller may do this.
pub fn may(rules: &Rules, action: Action, facts: &Facts<'_>) -> bool {
    let word = match action {
        Action::List => "list",
        Action::View => "view",
        Action::Approve => "approve",
    };
    !facts.over_ceiling()
        && rules.for_all().map_or_else(|| rule(rules, word, facts).allowed, |ruling| ruling.allowed)
}

/// What Cedar said, in our words.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    allowed: bool,
    reason: String,
    matched: Vec<String>,
    gate: Option<String>,
    /// The most the call may count as, where a policy says so.
    mode: Option<ApprovalMode>,
    obligations: Vec<String>,
}

fn rule(rules: &Rules, action: &str, facts: &Facts<'_>) -> Ruling {
    let asked = match facts::ask(action, facts) {
        Ok(asked) => asked,
        Err(error) => return Ruling::denied(format!("the policy cannot judge this call: {error}")),
    };
    let response =
        Authorizer::new().is_authorized(&asked.request, rules.policies(), &asked.entities);
    // A rule that fails to evaluate is skipped by Cedar, and a skipped `forbid` would open the gate.
    if let Some(error) = response.diagnostics().errors().next() {
        return Ruling::denied(format!("a policy could not be evaluated: {error}"));
    }
    Ruling::of(rules, &response)
}

impl Ruling {
    pub(crate) const fn is_allowed(&self) -> bool {
        self.allowed
    }

    fn denied(reason: String) -> Self {
        Self {
            allowed: false,
            reason,
            matched: Vec::new(),
            gate: None,
            mode: None,
            obligations: Vec::new(),
        }
    }

    fn too_grave(facts: &Facts<'_>) -> Self {
        let ceiling = facts.caller.ceiling.map_or("", ApprovalMode::as_str);
        Self::denied(format!(
            "this caller may go up to `{ceiling}`, and this is `{}`",
            facts.mode()
        ))
    }

    /// What rules that look at nothing say: as in Cedar, a `forbid` overrides every `permit`, and
    /// nothing is permitted by nobody.
    pub(crate) fn for_all(rules: &Rules) -> Self {
        let of = |effect: Effect| {
            let policies = rules.policies().policies().filter(move |p| p.effect() == effect);
            policies.map(Policy::id).collect::<BTreeSet<_>>()
        };
        let (forbids, permits) = (of(Effect::Forbid), of(Effect::Permit));
        let allowed = forbids.is_empty() && !permits.is_empty();
        Self::by(rules, allowed, &if forbids.is_empty() { permits } else { forbids })
    }

    fn of(rules: &Rules, response: &Response) -> Self {
        // Cedar hands the matching rules out in no order; a reader must see the same one each time.
        let matched: BTreeSet<&PolicyId> = response.diagnostics().reason().collect();
        Self::by(rules, response.decision() == CedarDecision::Allow, &matched)
    }

    fn by(rules: &Rules, allowed: bool, matched: &BTreeSet<&PolicyId>) -> Self {
        let note = |of: fn(&Notes) -> Option<&String>| {
            matched.iter().find_map(|id| rules.notes(id).and_then(of)).cloned()
        };
        let default = match (allowed, matched.is_empty()) {
            (true, _) => "a policy permits this call",
            (false, true) => "no policy permits this call",
            (false, false) => "a policy forbids this call",
        };
        let all = || matched.iter().filter_map(|id| rules.notes(id)).filter(|_| allowed);
        let obligations: BTreeSet<&String> = all().flat_map(|notes| &notes.obligations).collect();
        Self {
            allowed,
            mode: all().filter_map(|notes| notes.mode).min(),
            obligations: obligations.into_iter().cloned().collect(),
            reason: note(|notes| notes.reason.as_ref()).unwrap_or_else(|| default.to_owned()),
            gate: note(|notes| notes.gate.as_ref()),
            matched: matched.iter().map(ToString::to_string).collect(),
        }
    }
}

/// What policies ask for and what the mode needs, each once and in order.
fn joined(mut owed: Vec<String>, needed: &[&str]) -> Vec<String> {
    if !needed.is_empty() {
        owed.extend(needed.iter().map(|&word| word.to_owned()));
        owed.sort_unstable();
        owed.dedup();
    }
    owed
}

fn refusal(decision: &Decision, facts: &Facts<'_>) -> Fault {
    Fault::new(Code::PolicyDenied, format!("refused by policy: {}", decision.reason))
        .at(&facts.item.name)
        .with("policy_decision_id", decision.policy_decision_id.as_str())
        .with("rules", decision.matched_rule_ids.clone())
}

#[cfg(test)]
mod tests;
