//! Rules that change while the gate runs, and what they know of a caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Query;
use gateway::{CallRequest, Change, Mode, Watch};
use model::{Answer, ApprovalMode, Caller, Code, Grant, Principal, PrincipalKind};
use policy::Rules;
use serde_json::json;
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest};

use crate::{code, refused};

const ALL: &str = "permit(principal, action, resource);";
const NONE: &str = "forbid(principal, action, resource);";

fn rules(text: &str) -> Rules {
    Rules::parse("test", text).unwrap()
}

/// CO-37: what comes into force holds at once, in lists, in search and for calls, and back again.
#[tokio::test]
async fn rules_that_come_into_force_hold_everywhere_at_once() {
    let recorder = Recorder::one("peek", Script::Echo);
    let gate = TestGateway::new().upstream("shelf", recorder.clone());
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    let ann = World::ann();
    let sees = async || {
        let listed = world.gateway.menu(&ann).get().len();
        let found = world.gateway.browse(&ann, &Query::Words("peek".to_owned()), None).await;
        let found = found.get().full_text().contains("peek(");
        let hydrated = !world.gateway.hydrate(&ann, "peek").get().is_error;
        (listed, found, hydrated, code(&world.call("peek", json!({})).await))
    };
    let seen = (1, true, true, None);
    let hidden = (0, false, false, Some(Code::ToolNotFound));
    assert_eq!(sees().await, seen);
    let mut told = world.gateway.changes();
    world.gateway.swap_rules(rules(NONE));
    assert!(matches!(told.try_recv(), Ok(Change::List(_))), "clients are told to look anew");
    assert_eq!(sees().await, hidden);
    world.gateway.swap_rules(rules(ALL));
    assert_eq!(sees().await, seen);
    assert_eq!(recorder.count(), 2);
    let record = world.last_record().await;
    assert_eq!(record.call.lineage.policy_hash, rules(ALL).hash());
}

/// E10: a call under way ends by the rules it began with.
#[tokio::test]
async fn a_call_under_way_keeps_the_rules_it_began_with() {
    let recorder = Recorder::one("peek", Script::Wait(Answer::text("done")));
    let world = TestGateway::new().upstream("shelf", recorder.clone()).policy(ALL).start().await;
    let running = world.spawn(World::request("peek", json!({})), Watch::default());
    recorder.arrived().await;
    world.gateway.swap_rules(rules(NONE));
    recorder.release();
    assert_eq!(code(&running.await.unwrap()), None);
    let record = world.last_record().await;
    let decision = record.decision.unwrap();
    assert_eq!(decision.policy_hash, rules(ALL).hash());
    assert_eq!(record.call.lineage.policy_hash, decision.policy_hash);
}

/// Rules with a mistake never get here; what is kept says why, until better ones come.
#[tokio::test]
async fn rules_that_could_not_be_read_leave_the_former_in_force() {
    let recorder = Recorder::one("peek", Script::Echo);
    let world = TestGateway::new().upstream("shelf", recorder).policy(ALL).start().await;
    world.gateway.keep_rules("gate.cedar: line 3".to_owned());
    assert_eq!(world.gateway.rules_trouble().as_deref(), Some("gate.cedar: line 3"));
    assert_eq!(code(&world.call("peek", json!({})).await), None);
    world.gateway.swap_rules(rules(ALL));
    assert_eq!(world.gateway.rules_trouble(), None);
}

/// Other manifests come into force with a catalogue of their own; a mistake leaves the former.
#[tokio::test]
async fn changed_manifests_come_into_force_whole() {
    let recorder = Recorder::one("pay", Script::Echo);
    let binding = |gate: Option<&str>| {
        let mut binding = json!({"class": "act", "approval_mode": "network"});
        binding["requires_gate"] = gate.into();
        let manifest = manifest([capability("bank.pay", "pay", binding)]);
        Arc::new(manifest::from_value(manifest).unwrap())
    };
    let name = model::UpstreamName::from_string("bank");
    let set = |gate: Option<&str>| BTreeMap::from([(name.clone(), binding(gate))]);
    let world = TestGateway::new().upstream("bank", recorder.clone()).start().await;
    let generation = || world.gateway.catalogue().generation();
    let pay = async || code(&world.call("pay", json!({})).await);
    world.gateway.swap_manifests(set(None)).await;
    assert_eq!(pay().await, None);
    let record = world.last_record().await;
    assert_eq!(record.call.capability_id.unwrap().as_str(), "bank.pay");
    world.gateway.keep_manifests("bank.json: line 3".to_owned());
    assert_eq!(world.gateway.manifests_trouble().as_deref(), Some("bank.json: line 3"));
    assert_eq!(pay().await, None);
    let before = generation();
    world.gateway.swap_manifests(set(Some("GATE_MONEY"))).await;
    assert_eq!(world.gateway.manifests_trouble(), None);
    assert_ne!(generation(), before);
    assert_eq!(pay().await, Some(Code::ApprovalPending));
    let before = generation();
    world.gateway.swap_manifests(set(Some("GATE_MONEY"))).await;
    assert_eq!(generation(), before);
}

/// E2: a yes under one policy is none under another.
#[tokio::test]
async fn a_yes_is_void_once_the_policy_has_changed() {
    let gated = "@gate(\"OPS\") permit(principal, action, resource);";
    let recorder = Recorder::one("pay", Script::Echo);
    let world = TestGateway::new().upstream("bank", recorder.clone()).policy(gated).start().await;
    let first = world.call("pay", json!({})).await;
    let approval = world.approve(&first).await;
    world.gateway.swap_rules(rules(&format!("{gated} // amended")));
    let request = World::request("pay", json!({}));
    let (done, _) = refused(&world, &recorder, request, Code::ApprovalPending, "approval").await;
    assert_ne!(done.result.unwrap().approval_id, Some(approval.approval_id));
}

/// What is above a caller's ceiling does not exist for it, whatever policy says.
#[tokio::test]
async fn nothing_above_the_ceiling_exists() {
    let recorder = Recorder::one("pay", Script::Echo);
    let binding = json!({"class": "act", "approval_mode": "delegated"});
    let world = TestGateway::new()
        .upstream("bank", recorder.clone())
        .manifest("bank", manifest([capability("bank.pay", "pay", binding)]))
        .policy(ALL)
        .settings(|settings| settings.mode = Mode::Native)
        .start()
        .await;
    let check = async |ceiling: Option<ApprovalMode>, wanted: Option<Code>| {
        let caller = Caller { ceiling, ..World::ann() };
        let listed = world.gateway.menu(&caller).get().len();
        assert_eq!(listed, usize::from(wanted.is_none()), "{ceiling:?}");
        let done = world.send(CallRequest::new(caller, "pay", json!({}))).await;
        assert_eq!(code(&done), wanted, "{ceiling:?}");
    };
    check(None, None).await;
    check(Some(ApprovalMode::Destructive), None).await;
    check(Some(ApprovalMode::Delegated), None).await;
    check(Some(ApprovalMode::Network), Some(Code::ToolNotFound)).await;
    check(Some(ApprovalMode::ReadOnly), Some(Code::ToolNotFound)).await;
    assert_eq!(recorder.count(), 3);
}

/// Roles, tenant, grants and intent are facts, and a replay finds them on record.
#[tokio::test]
async fn a_policy_knows_who_calls_and_what_for_and_a_replay_agrees() {
    let recorder = Recorder::one("peek", Script::Echo);
    let text = r#"permit(principal, action == Action::"list", resource);
        permit(principal in Role::"finance", action == Action::"call", resource)
        when { principal.tenant == "acme" && context.scopes.contains("books.read") }
        unless { !(context has intent) || context.intent != "audit" };"#;
    let world = TestGateway::new().upstream("shelf", recorder).policy(text).start().await;
    world.gateway.keep_lineage().await.unwrap();
    let mut principal = Principal::user("ann");
    principal.tenant_id = Some("acme".to_owned());
    let mut caller = Caller::new(principal);
    caller.roles = vec!["finance".to_owned()];
    caller.grants = vec![Grant::read("books.read")];
    let call = |caller: &Caller, intent: Option<&str>| CallRequest {
        intent: intent.map(str::to_owned),
        ..CallRequest::new(caller.clone(), "peek", json!({}))
    };
    let denied = Some(Code::PolicyDenied);
    assert_eq!(code(&world.send(call(&caller, None)).await), denied);
    assert_eq!(code(&world.send(call(&caller, Some("lunch"))).await), denied);
    let stranger = Caller { roles: Vec::new(), ..caller.clone() };
    assert_eq!(code(&world.send(call(&stranger, Some("audit"))).await), denied);
    let poor = Caller { grants: Vec::new(), ..caller.clone() };
    assert_eq!(code(&world.send(call(&poor, Some("audit"))).await), denied);
    assert_eq!(code(&world.send(call(&caller, Some("audit"))).await), None);

    let record = world.last_record().await;
    let tool = gateway::known_tool(&world.store, &record.call).await.unwrap();
    let replayed = gateway::replay(&gateway::Transcript { record, tool }, &rules(text)).unwrap();
    assert_eq!(replayed.difference, None);
}

/// A policy can ask for a key where the manifest does not.
#[tokio::test]
async fn an_obligation_asks_for_a_key() {
    let recorder = Recorder::one("pay", Script::Echo);
    let text =
        "@obligations(\"idempotency_key, note:tell finance\") permit(principal, action, resource);";
    let world = TestGateway::new().upstream("bank", recorder.clone()).policy(text).start().await;
    let request = World::request("pay", json!({}));
    let (_, record) = refused(&world, &recorder, request, Code::IdempotencyMissing, "policy").await;
    assert_eq!(record.decision.unwrap().obligations, ["idempotency_key", "note:tell finance"]);
    let keyed =
        CallRequest { idempotency_key: Some("k1".to_owned()), ..World::request("pay", json!({})) };
    assert_eq!(code(&world.send(keyed).await), None);
}

/// What was kept of an answer can be put out of sight again.
#[tokio::test]
async fn looking_into_an_answer_is_ruled_too() {
    let long = Answer::text("a long story ".repeat(1_000));
    let recorder = Recorder::one("tell", Script::Answer(long));
    let others = format!("{ALL} forbid(principal == User::\"bob\", action, resource);");
    let world = TestGateway::new().upstream("shelf", recorder).policy(&others).start().await;
    let done = world.call("tell", json!({})).await;
    let handle = done.result.unwrap().artifacts.remove(0).handle;
    let ann = World::ann();
    let head = model::Selector::Head { chars: 20 };
    let looks = async || !world.gateway.view(&ann, handle.as_str(), &head).await.get().is_error;
    assert!(looks().await);
    let closed =
        format!("{ALL} forbid(principal == User::\"ann\", action == Action::\"view\", resource);");
    world.gateway.swap_rules(rules(&closed));
    assert!(!looks().await);
    let unknown = world.gateway.view(&ann, "art_none", &head).await.get().full_text();
    let hidden = world.gateway.view(&ann, handle.as_str(), &head).await.get().full_text();
    assert_eq!(hidden.replace(handle.as_str(), "art_none"), unknown);
}

/// C39: what production holds each mode to, as semantics.md 2.4 has it, whatever the policy permits.
#[tokio::test]
async fn each_mode_is_handled_by_default_as_it_deserves() {
    let check = async |mode: &str, change: fn(&mut CallRequest), wanted: Option<Code>| {
        for strict in [Rules::permit_declared(), rules(ALL).by_mode()] {
            let recorder = Recorder::new()
                .tool(toolgate_testkit::tool("look", json!({})), Script::Answer(found()))
                .tool(toolgate_testkit::tool("pay", json!({})), Script::Echo);
            let class = if mode == "read_only" { "observe" } else { "act" };
            let look = json!({"class": "observe", "approval_mode": "read_only", "evidence_keys": ["balance"]});
            let binding = json!({"class": class, "approval_mode": mode});
            let gate = TestGateway::new().upstream("bank", recorder.clone());
            let bindings =
                [capability("bank.look", "look", look), capability("bank.pay", "pay", binding)];
            let world = gate.manifest("bank", manifest(bindings)).start().await;
            world.gateway.swap_rules(strict);
            let mut request = World::request("pay", json!({}));
            change(&mut request);
            let caller = request.caller.clone();
            let run_id = Some("r".to_owned());
            let look = CallRequest { caller, run_id, ..World::request("look", json!({})) };
            let looked = world.send(look).await.result.unwrap();
            // Whoever says which run this is cites what was found out in it.
            if request.run_id.is_some() {
                request.evidence = vec![looked.evidence.first().unwrap().evidence_ref.clone()];
            }
            let done = world.send(request).await;
            assert_eq!((mode, code(&done)), (mode, wanted));
            assert_eq!(recorder.count(), 1 + usize::from(wanted.is_none()));
        }
    };
    let plain: fn(&mut CallRequest) = |_| {};
    let keyed: fn(&mut CallRequest) = |request| request.idempotency_key = Some("k".to_owned());
    let agent: fn(&mut CallRequest) = |request| request.caller.principal = Principal::agent("bot");
    let grounded: fn(&mut CallRequest) = |request| request.run_id = Some("r".to_owned());
    let service: fn(&mut CallRequest) = |request| {
        request.caller.principal =
            Principal { kind: PrincipalKind::Service, ..Principal::user("s") };
        request.caller.acts_for = Some(Box::new(Principal::user("ann")));
        request.run_id = Some("r".to_owned());
    };
    check("read_only", agent, None).await;
    check("local_write", plain, Some(Code::IdempotencyMissing)).await;
    check("local_write", keyed, None).await;
    check("network", agent, None).await;
    check("delegated", agent, Some(Code::AuthRequired)).await;
    check("delegated", plain, Some(Code::PolicyDenied)).await;
    check("delegated", grounded, None).await;
    check("delegated", service, None).await;
    check("destructive", plain, Some(Code::ApprovalPending)).await;
}

fn found() -> Answer {
    Answer::structured(json!({"balance": 7}))
}

/// Who acts for whom is on record, outermost first.
#[tokio::test]
async fn whoever_has_a_call_made_is_on_record() {
    let recorder = Recorder::one("pay", Script::Echo);
    let world = TestGateway::new().upstream("bank", recorder).start().await;
    let mut request = World::request("pay", json!({}));
    request.caller.principal = Principal::agent("bot");
    request.caller.acts_for = Some(Box::new(Principal::user("ann")));
    world.send(request).await;
    let call = world.last_record().await.call;
    assert_eq!(call.principal_chain, [Principal::user("ann"), Principal::agent("bot")]);
    assert_eq!(call.acts_for, Some(Principal::user("ann")));
}

/// CO-134, our own half: a further scope pauses the call, names it, and is on record.
#[tokio::test]
async fn a_policy_that_wants_a_further_scope_pauses_the_call_and_names_it() {
    let recorder = Recorder::one("pay", Script::Echo);
    let policy = "@obligations(\"scope:bank.pay:eu/*, scope:bank.read\") permit(principal, action, resource);";
    let world = TestGateway::new().upstream("bank", recorder.clone()).policy(policy).start().await;
    let mut request = World::request("pay", json!({}));
    request.caller.grants = vec![Grant::read("bank.read")];
    let done = world.send(request.clone()).await;
    let fault = done.fault.unwrap();
    assert_eq!((fault.code, recorder.count()), (Code::StepUpRequired, 0));
    assert_eq!(fault.details["scope_requested"], json!(["bank.pay:eu/*"]));
    assert_eq!(fault.details["scope_granted"], json!(["bank.read"]));
    assert_eq!(done.result.unwrap().status, model::CallStatus::Paused);
    let record = world.last_record().await;
    assert_eq!(record.status, model::RecordStatus::Deferred);
    assert_eq!(record.result.unwrap().error.unwrap().details, fault.details);
    assert_eq!(record.decision.unwrap().obligations, ["scope:bank.pay:eu/*", "scope:bank.read"]);
    request.caller.grants.push(Grant::read("bank.pay"));
    assert_eq!(code(&world.send(request).await), None);
}

/// CO-33, verify: a call that a policy wants grounded is made only with facts of its own run.
#[tokio::test]
async fn evidence_that_a_policy_wants_must_have_been_found_out_in_the_run() {
    let paid = Answer::structured(json!({"balance": 7}));
    let recorder = Recorder::new()
        .tool(toolgate_testkit::tool("look", json!({})), Script::Answer(paid))
        .tool(toolgate_testkit::tool("pay", json!({})), Script::Echo);
    let look =
        json!({"class": "observe", "approval_mode": "read_only", "evidence_keys": ["balance"]});
    let pay = json!({"class": "act", "approval_mode": "network"});
    let bindings = [capability("bank.look", "look", look), capability("bank.pay", "pay", pay)];
    let policy = "permit(principal, action, resource);
        @id(\"grounded\") @obligations(\"evidence:balance\")
        permit(principal, action == Action::\"call\", resource) when { resource.class == \"act\" };";
    let gate = TestGateway::new().upstream("bank", recorder.clone()).policy(policy);
    let world = gate.manifest("bank", manifest(bindings)).start().await;
    let request = |run: &str, tool: &str, evidence: &[&str]| CallRequest {
        run_id: Some(run.to_owned()),
        evidence: evidence.iter().map(|&cited| cited.to_owned()).collect(),
        ..World::request(tool, json!({}))
    };
    let looked = world.send(request("r", "look", &[])).await.result.unwrap();
    let fact = looked.evidence.first().unwrap().evidence_ref.clone();
    let refused = async |request: CallRequest, part: &str| {
        let fault = world.send(request).await.fault.unwrap();
        assert_eq!(
            (fault.code, &fault.details["kind"]),
            (Code::PolicyDenied, &json!("missing_evidence"))
        );
        assert!(fault.message.contains(part), "{fault}");
    };
    refused(request("r", "pay", &[]), "must cite evidence of `balance`").await;
    refused(request("r", "pay", &["ev_made_up"]), "`ev_made_up` is no evidence").await;
    refused(request("other", "pay", &[fact.as_str()]), "is no evidence of this run").await;
    let mut bobs = request("r", "pay", &[fact.as_str()]);
    bobs.caller.principal = Principal::user("bob");
    refused(bobs, "is no evidence of this run").await;
    assert_eq!(recorder.count(), 1);
    assert_eq!(code(&world.send(request("r", "pay", &[fact.as_str()])).await), None);
    assert_eq!(world.last_record().await.call.evidence_refs, [fact]);
}

/// An argument that a rule reads is not there while tools are listed: what cannot be judged is hidden.
#[tokio::test]
async fn a_rule_that_reads_an_argument_hides_the_tool_unless_it_asks_first() {
    let check = async |policy: &str, listed: bool, called: Option<Code>| {
        let recorder = Recorder::one("pay", Script::Echo);
        let gate = TestGateway::new().upstream("bank", recorder).policy(policy);
        let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
        assert_eq!(world.gateway.menu(&World::ann()).get().len(), usize::from(listed), "{policy}");
        assert_eq!(code(&world.call("pay", json!({"amount": 5})).await), called, "{policy}");
    };
    let unasked = "permit(principal, action, resource) when { context.arguments.amount < 100 };";
    check(unasked, false, Some(Code::ToolNotFound)).await;
    let forbids = "permit(principal, action, resource);
        forbid(principal, action, resource) when { context.arguments.amount > 100 };";
    check(forbids, false, Some(Code::ToolNotFound)).await;
    let on_calls = "permit(principal, action, resource);
        forbid(principal, action == Action::\"call\", resource) when { context.arguments.amount > 4 };";
    check(on_calls, true, Some(Code::PolicyDenied)).await;
    let asks = "permit(principal, action, resource);
        forbid(principal, action, resource)
        when { context.arguments has amount && context.arguments.amount > 100 };";
    check(asks, true, None).await;
}
