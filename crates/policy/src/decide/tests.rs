//! Verdicts as rows: rules, a tool, arguments, and what comes out.

use std::time::Duration;

use manifest::Capability;
use model::{
    ApprovalState, CallId, Caller, DecisionId, Effect, EffectClaim, Hints, Item, ItemIds, ItemKey,
    ItemKind, Method, Principal, Timestamp, UpstreamName,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn item(name: &str) -> Item {
    Item {
        kind: ItemKind::Tool,
        key: ItemKey {
            upstream: UpstreamName::from_string("demo"),
            name: name.to_owned(),
            kind: ItemKind::Tool,
        },
        ids: ItemIds {
            legacy: String::new(),
            canonical: String::new(),
            wire: String::new(),
            capability: None,
        },
        namespace: "payments".to_owned(),
        name: name.to_owned(),
        title: None,
        description: String::new(),
        input_schema: (&json!({})).into(),
        output_schema: None,
        version: "1".to_owned(),
        hints: Hints::default(),
        effect: EffectClaim::UNLISTED,
        tags: Vec::new(),
        icons: Vec::new(),
        shape_hash: String::new(),
        full_hash: "f".repeat(64),
        findings: Vec::new(),
    }
}

fn capability(extra: &Value) -> Capability {
    let mut binding = json!({
        "capability_id": "payments.issue_refund", "tool": "refund",
        "class": "act", "approval_mode": "destructive",
    });
    binding.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    serde_json::from_value(binding).unwrap()
}

struct World {
    rules: Rules,
    item: Item,
    capability: Option<Capability>,
    args: Value,
    written: Option<&'static str>,
    caller: Caller,
    method: Method,
    at: Timestamp,
}

impl World {
    fn new(rules: &str) -> Self {
        Self {
            rules: Rules::parse("test", rules).unwrap(),
            item: item("refund"),
            capability: None,
            args: json!({}),
            written: None,
            caller: Caller::new(Principal::user("ann")),
            method: Method::CallTool,
            at: Timestamp::from_millis(1_000),
        }
    }

    fn decide(&self) -> Verdict {
        let call_id = CallId::from_string("call_1");
        let decision_id = DecisionId::from_string("dec_1");
        let facts = Facts {
            call_id: &call_id,
            decision_id: &decision_id,
            caller: &self.caller,
            method: &self.method,
            item: &self.item,
            capability: self.capability.as_ref(),
            declared: false,
            args: &self.args,
            written: self.written,
            params: &Map::new(),
            intent: None,
            spent: None,
            at: self.at,
        };
        decide(&self.rules, &facts)
    }

    fn question(&self) -> Question {
        match self.decide().way {
            Way::Ask(question) => question,
            way => panic!("{way:?}"),
        }
    }
}

const ALL: &str = "permit(principal, action, resource);";
/// Everything for ann: rules that do look at who asks.
const ANN: &str = "permit(principal == User::\"ann\", action, resource);";

#[test]
fn rules_decide_on_who_what_and_with_which_arguments() {
    let check = |rules: &str, args: Value, action: DecisionAction| {
        let world = World { args, ..World::new(rules) };
        assert_eq!(world.decide().decision.action, action, "{rules}");
    };
    let (allow, deny) = (DecisionAction::Allow, DecisionAction::Deny);
    check("", json!({}), deny);
    check(ALL, json!({}), allow);
    check("permit(principal == User::\"ann\", action, resource);", json!({}), allow);
    check("permit(principal == User::\"bob\", action, resource);", json!({}), deny);
    check("permit(principal, action == Action::\"call\", resource);", json!({}), allow);
    check("permit(principal, action == Action::\"list\", resource);", json!({}), deny);
    check("permit(principal, action, resource in Namespace::\"payments\");", json!({}), allow);
    check("permit(principal, action, resource in Upstream::\"other\");", json!({}), deny);
    check("permit(principal, action, resource == Tool::\"demo/refund\");", json!({}), allow);
    let small = "permit(principal, action, resource) when { context.arguments.amount < 100 };";
    check(small, json!({"amount": 99}), allow);
    check(small, json!({"amount": 100}), deny);
    let decimal = "permit(principal, action, resource) when { context.arguments.amount.lessThan(decimal(\"1.5\")) };";
    check(decimal, json!({"amount": 1.25}), allow);
    check(decimal, json!({"amount": 1.75}), deny);
    let forbid = "permit(principal, action, resource); forbid(principal, action, resource);";
    check(forbid, json!({}), deny);
}

#[test]
fn a_rule_that_cannot_be_evaluated_denies() {
    let rules = "permit(principal, action, resource);
                 forbid(principal, action, resource) when { context.arguments.amount > 5 };";
    let world = World { args: json!({"amount": "lots"}), ..World::new(rules) };
    let verdict = world.decide();
    assert_eq!(verdict.decision.action, DecisionAction::Deny);
    assert!(verdict.decision.reason.contains("could not be evaluated"));
}

#[test]
fn a_number_the_policy_cannot_hold_denies() {
    let check = |amount: Value, action: DecisionAction| {
        let world = World { args: json!({"amount": amount}), ..World::new(ANN) };
        assert_eq!(world.decide().decision.action, action, "{}", world.args);
    };
    check(json!(1e300), DecisionAction::Deny);
    check(json!(5000.00004), DecisionAction::Deny);
    check(json!(1e-9), DecisionAction::Deny);
    check(json!(5000.0001), DecisionAction::Allow);
    check(json!(0.1), DecisionAction::Allow);
    check(json!(-12_345_678.9), DecisionAction::Allow);
}

#[test]
fn a_refusal_names_the_rule_and_its_reason() {
    let rules = "@id(\"no-refunds\") @reason(\"refunds are closed today\")
                 forbid(principal, action, resource);";
    let Verdict { decision, way } = World::new(rules).decide();
    assert_eq!(decision.matched_rule_ids, ["no-refunds"]);
    let Way::No(fault) = way else { panic!("{way:?}") };
    assert_eq!(fault.code, Code::PolicyDenied);
    assert_eq!(fault.message, "refused by policy: refunds are closed today");
}

#[test]
fn a_manifest_or_a_rule_can_ask_for_a_human() {
    let by_rule = World::new("@gate(\"OPS\") permit(principal, action, resource);");
    assert_eq!(by_rule.question().gate(), "OPS");
    let by_manifest = World {
        capability: Some(capability(&json!({"requires_gate": "GATE_FINANCE"}))),
        ..World::new(ALL)
    };
    assert_eq!(by_manifest.question().gate(), "GATE_FINANCE");
    // A gate never turns a refusal into a question.
    let refused = World { rules: Rules::parse("t", "").unwrap(), ..by_manifest };
    assert_eq!(refused.decide().decision.action, DecisionAction::Deny);
}

/// E2: caller, tool, arguments, policy and end; whatever of these is another, it is another call.
#[test]
fn an_approval_releases_the_frozen_call_and_no_other() {
    let world = || World::new("@gate(\"OPS\") permit(principal, action, resource);");
    let ttl = Duration::from_mins(1);
    let mut approval = world().question().put(world().at, ttl);
    assert_eq!(approval.state, ApprovalState::Pending);
    let code = |world: &World, approval: &model::Approval, at: Timestamp| {
        world.question().answered(approval, at).map(|_| ()).map_err(|fault| fault.code)
    };
    assert_eq!(code(&world(), &approval, world().at), Err(Code::ApprovalPending));
    approval.state = ApprovalState::Approved;
    assert_eq!(code(&world(), &approval, world().at), Ok(()));
    assert_eq!(code(&world(), &approval, world().at.after(ttl)), Err(Code::ApprovalRejected));
    let rejected = Err(Code::ApprovalRejected);
    let other_args = World { args: json!({"a": 1}), ..world() };
    assert_eq!(code(&other_args, &approval, world().at), rejected);
    let other_caller = World { caller: Caller::new(Principal::user("bob")), ..world() };
    assert_eq!(code(&other_caller, &approval, world().at), rejected);
    let other_policy = World::new("@gate(\"OPS\") permit(principal, action, resource);//");
    assert_eq!(code(&other_policy, &approval, world().at), rejected);
    let mut drifted = world();
    drifted.item.full_hash = "0".repeat(64);
    assert_eq!(code(&drifted, &approval, world().at), rejected);
    let mut of_a_tenant = world();
    of_a_tenant.caller.principal.tenant_id = Some("t".to_owned());
    assert_eq!(code(&of_a_tenant, &approval, world().at), rejected);
    let spelt = |written: &'static str| World { written: Some(written), ..world() };
    let mut exact = spelt("{\"account\":18446744073709551617}").question().put(world().at, ttl);
    exact.state = ApprovalState::Approved;
    assert_eq!(code(&spelt("{\"account\":18446744073709551617}"), &exact, world().at), Ok(()));
    assert_eq!(code(&spelt("{\"account\":18446744073709551618}"), &exact, world().at), rejected);
    let prolonged = model::Approval { expires_at: world().at.after(ttl * 2), ..approval.clone() };
    assert_eq!(code(&world(), &prolonged, world().at), rejected);
    for state in [ApprovalState::Rejected, ApprovalState::Expired, ApprovalState::Redeemed] {
        approval.state = state;
        assert_eq!(code(&world(), &approval, world().at), rejected);
    }
}

#[test]
fn the_production_default_hides_what_no_manifest_declares() {
    let undeclared = World { rules: Rules::permit_declared(), ..World::new("") };
    assert_eq!(undeclared.decide().decision.action, DecisionAction::Deny);
    let declared = |mode: &str| World {
        capability: Some(capability(&json!({"approval_mode": mode}))),
        rules: Rules::permit_declared(),
        ..World::new("")
    };
    assert_eq!(declared("delegated").decide().decision.action, DecisionAction::Allow);
    // What cannot be undone needs a person, though no manifest names a gate.
    assert_eq!(declared("destructive").question().gate(), "DESTRUCTIVE");
}

/// Capabilities are of tools: what else there is needs a policy that speaks of it.
#[test]
fn the_production_default_shows_neither_resources_nor_prompts() {
    for method in [Method::ReadResource, Method::GetPrompt] {
        let world = World { method, rules: Rules::permit_declared(), ..World::new("") };
        assert_eq!(world.decide().decision.action, DecisionAction::Deny);
    }
}

/// C39: whatever policies allow, an allow still needs what the mode of the call needs, and the mode
/// is the one that policies lowered it to.
#[test]
fn an_allow_by_mode_needs_what_the_mode_needs_whoever_wrote_the_policy() {
    let check = |rules: &str, mode: Option<&str>, gate: Option<&str>, owed: &[&str]| {
        let declared = mode.map(|mode| capability(&json!({"approval_mode": mode})));
        let rules = Rules::parse("test", rules).unwrap().by_mode();
        let world = World { rules, capability: declared, ..World::new("") };
        let decision = world.decide().decision;
        assert_eq!(
            (decision.gate.as_deref(), decision.action),
            match gate {
                Some(gate) => (Some(gate), DecisionAction::RequireApproval),
                None => (None, DecisionAction::Allow),
            }
        );
        assert_eq!(decision.obligations, owed, "{mode:?}");
    };
    for rules in [ALL, ANN] {
        check(rules, Some("read_only"), None, &[]);
        check(rules, Some("local_write"), None, &["idempotency_key"]);
        check(rules, Some("network"), None, &[]);
        check(rules, Some("delegated"), None, &["delegation", "evidence"]);
        check(rules, Some("destructive"), Some("DESTRUCTIVE"), &[]);
        // What nobody declared counts as the worst.
        check(rules, None, Some("DESTRUCTIVE"), &[]);
    }
    let lower = |mode: &str| format!("@mode(\"{mode}\") permit(principal, action, resource);");
    check(&lower("network"), Some("destructive"), None, &[]);
    check(&lower("local_write"), Some("delegated"), None, &["idempotency_key"]);
    check(&lower("destructive"), Some("network"), None, &[]);
    let owes = "@gate(\"OPS\") @obligations(\"evidence, scope:pay\")
        permit(principal, action, resource);";
    check(owes, Some("delegated"), Some("OPS"), &["delegation", "evidence", "scope:pay"]);
    check(owes, Some("destructive"), Some("OPS"), &["evidence", "scope:pay"]);
}

/// Neither a refusal nor a look is changed by it.
#[test]
fn what_a_mode_needs_is_needed_by_allowed_calls_alone() {
    let strict = |rules: &str| Rules::parse("test", rules).unwrap().by_mode();
    let refused = World { rules: strict(""), ..World::new("") };
    assert_eq!(refused.decide().decision.action, DecisionAction::Deny);
    for method in [Method::ReadResource, Method::Task(model::TaskVerb::Cancel)] {
        let world = World { method, rules: strict(ALL), ..World::new("") };
        assert_eq!(world.decide().decision.action, DecisionAction::Allow);
    }
}

proptest! {
    /// A server's claims about its own tool change no decision.
    #[test]
    fn flipping_every_hint_changes_nothing(
        read_only: Option<bool>, destructive: Option<bool>, idempotent: Option<bool>, open_world: Option<bool>
    ) {
        let rules = "permit(principal, action, resource) when { resource.effect == \"external\" };";
        let plain = World::new(rules);
        let mut hinted = World::new(rules);
        hinted.item.hints = Hints { read_only, destructive, idempotent, open_world, ..Hints::default() };
        prop_assert_eq!(hinted.decide().decision, plain.decide().decision);
    }
}

/// CO-25, CO-26: reading a resource and getting a prompt are ruled by words of their own.
#[test]
fn each_method_is_ruled_by_its_own_action() {
    let rules = "permit(principal, action == Action::\"read\", resource);";
    let check = |method: Method, action: DecisionAction, effect: Effect| {
        let world = World { method, ..World::new(rules) };
        let verdict = world.decide();
        assert_eq!(verdict.decision.action, action);
        if let Way::Go(permit) = verdict.way {
            assert_eq!(permit.effect(), effect);
        }
    };
    check(Method::ReadResource, DecisionAction::Allow, Effect::Read);
    check(Method::GetPrompt, DecisionAction::Deny, Effect::Read);
    check(Method::CallTool, DecisionAction::Deny, Effect::External);
}

/// Rules that look at nothing are answered without Cedar; with a rule beside them that never
/// applies, Cedar is asked and must say the same.
#[test]
fn indifferent_rules_say_what_cedar_would() {
    let never = "permit(principal == User::\"nobody\", action, resource);";
    for rules in [
        "",
        ALL,
        "@id(\"a\") @reason(\"r\") @gate(\"g\") permit(principal, action, resource);",
        "@id(\"no\") @reason(\"never\") forbid(principal, action, resource);",
        "@id(\"no\") forbid(principal, action, resource); permit(principal, action, resource);",
    ] {
        let quick = World::new(rules);
        let asked = World::new(&format!("{rules}\n{never}"));
        assert!(quick.rules.for_all().is_some() && asked.rules.for_all().is_none(), "{rules}");
        let (quick, asked) = (quick.decide().decision, asked.decide().decision);
        assert_eq!(
            (quick.action, quick.reason, quick.matched_rule_ids, quick.gate),
            (asked.action, asked.reason, asked.matched_rule_ids, asked.gate),
            "{rules}"
        );
    }
}

/// Records of earlier versions are compared with what is computed now.
#[test]
fn the_hash_of_the_facts_is_that_of_one_json_object() {
    for capability in [None, Some(capability(&json!({})))] {
        let args = json!({"b": [1.5, {"z": null}], "a": "é"});
        let world = World { capability, args, ..World::new(ALL) };
        let declared = world.capability.as_ref();
        let wanted = json!({
            "principals": world.caller.chain(),
            "method": "tools/call",
            "tool": world.item.key,
            "definition": world.item.full_hash,
            "capability": declared.map(|capability| &capability.capability_id),
            "class": declared.map_or(model::CapClass::Act, |capability| capability.class),
            "mode": "destructive",
            "effect": declared.map_or(Effect::External, Capability::effect),
            "args": world.args,
        });
        assert_eq!(world.decide().decision.inputs_hash, model::canonical::hash(&wanted));
    }
}

/// E9: what would take long to judge is refused unjudged, so that no caller can wear a policy out.
#[test]
fn arguments_too_many_to_be_judged_are_refused() {
    let judged = |count: usize| {
        let args = json!({"list": vec![0; count], "amount": 1});
        let rules = "permit(principal, action, resource) unless { context.arguments has nothing };";
        World { args, ..World::new(rules) }.decide()
    };
    assert_eq!(judged(19_000).decision.action, DecisionAction::Allow);
    let verdict = judged(20_000);
    assert_eq!(verdict.decision.action, DecisionAction::Deny);
    assert!(verdict.decision.reason.contains("cannot judge"), "{}", verdict.decision.reason);
}
