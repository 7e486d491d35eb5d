//! Walking a recorded call again: the same facts through the same pure functions.
//!
//! Everything comes as values. There is no gateway, no store and no upstream in any type here, so a
//! replay cannot touch anything live.

use context::raw_hash;
use model::{
    Answer, Caller, Code, Decision, Fault, ItemKind, Method, PrincipalKind, Record, RecordId,
    ReplayRule, canonical,
};
use policy::{Facts, Rules, decide};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::lineage::KnownTool;

/// A record with what it points to.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub record: Record,
    /// Absent if no tool had the name asked for, or if its definition was not kept.
    pub tool: Option<KnownTool>,
}

/// Where a replay first came to something else than the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Policy,
    Definition,
    Arguments,
    Result,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub part: Part,
    pub message: String,
}

/// What a replay came to.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    pub record_id: RecordId,
    /// `upstream/name`, or what the caller said.
    pub tool: String,
    /// What stands in for the call itself.
    pub rule: ReplayRule,
    /// The decision of the policy it was replayed under; none if the call never came that far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The first difference; none if everything is equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// What could not be compared, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Replays one call under these rules.
///
/// A record without an answer is a fault where the tool's rule is `fail_loud`; a difference where
/// it is `must_stub`; and with `recorded_result` the recorded summary is enough. Nothing need stand in
/// for a call that was answered by its key.
pub fn replay(transcript: &Transcript, rules: &Rules) -> Result<Replayed, Fault> {
    let Transcript { record, tool } = transcript;
    let decision = tool.as_ref().and_then(|tool| decide_again(record, tool, rules));
    let rule = rule(tool.as_ref());
    let mut notes = Vec::new();
    if record.decision.is_none() {
        notes.push("the call was refused before any policy was asked".to_owned());
    }
    let difference = [
        policy(record, decision.as_ref(), &mut notes),
        definition(transcript, decision.as_ref()),
        arguments(record, &mut notes),
        result(record, rule, &mut notes)?,
    ];
    Ok(Replayed {
        record_id: record.record_id.clone(),
        tool: record
            .call
            .item_key
            .as_ref()
            .map_or_else(|| record.call.asked_name.clone(), ToString::to_string),
        rule,
        difference: difference.into_iter().flatten().next(),
        decision,
        notes,
    })
}

/// SG-16: what nobody has declared is treated as the worst case.
fn rule(tool: Option<&KnownTool>) -> ReplayRule {
    let capability = tool.and_then(|tool| tool.capability.as_ref());
    capability.map_or(ReplayRule::MustStub, manifest::Capability::replay_rule)
}

/// What the rules say about the call as it was recorded; nothing if they were never asked.
fn decide_again(record: &Record, tool: &KnownTool, rules: &Rules) -> Option<Decision> {
    let then = record.decision.as_ref()?;
    let call = &record.call;
    let mut chain = call.principal_chain.iter().skip(usize::from(call.acts_for.is_some()));
    let principal = chain.next()?.clone();
    let agent = chain.next().filter(|next| next.kind == PrincipalKind::Agent);
    let client = agent.map(|agent| agent.id.clone());
    let caller = Caller {
        acts_for: call.acts_for.clone().map(Box::new),
        session: call.session_id.clone(),
        client,
        roles: call.roles.clone(),
        grants: call.grants.clone(),
        ceiling: call.ceiling,
        ..Caller::new(principal)
    };
    let method = method(record, tool);
    let params = params(record, &method);
    let facts = Facts {
        method: &method,
        params: &params,
        call_id: &call.call_id,
        decision_id: &then.policy_decision_id,
        caller: &caller,
        item: &tool.item,
        capability: tool.capability.as_ref(),
        declared: tool.declared,
        args: &call.args,
        written: None,
        intent: call.intent.as_deref(),
        spent: then.spent,
        at: then.at,
    };
    Some(decide(rules, &facts).decision)
}

/// Of what else a request carries, policies see which address is read.
fn params(record: &Record, method: &Method) -> Map<String, Value> {
    let uri = || ("uri".to_owned(), Value::from(record.call.asked_name.as_str()));
    (*method == Method::ReadResource).then(uri).into_iter().collect()
}

/// What was done to the item. Early records say it only by the item's kind.
fn method(record: &Record, tool: &KnownTool) -> Method {
    if let Some(name) = &record.call.method {
        return Method::named(name, tool.item.kind);
    }
    match tool.item.kind {
        ItemKind::Resource => Method::ReadResource,
        ItemKind::Prompt => Method::GetPrompt,
        ItemKind::Tool | ItemKind::Skill | ItemKind::Internal => Method::CallTool,
    }
}

fn policy(record: &Record, now: Option<&Decision>, notes: &mut Vec<String>) -> Option<Difference> {
    let (then, now) = (record.decision.as_ref()?, now?);
    let said = |decision: &Decision| {
        (decision.action, decision.matched_rule_ids.clone(), decision.gate.clone())
    };
    if said(then) == said(now) {
        return None;
    }
    // The same policy decides the same of the same facts: it is what was left out that differs.
    if then.policy_hash == now.policy_hash && !is_whole(record) {
        notes.push("what the policy saw was not kept whole, so it cannot be compared".to_owned());
        return None;
    }
    let told = |decision: &Decision| match decision.matched_rule_ids.as_slice() {
        [] => decision.action.as_str().to_owned(),
        ids => format!("{} by {}", decision.action.as_str(), ids.join(", ")),
    };
    let message = format!("it was {}; it would be {}", told(then), told(now));
    Some(Difference { part: Part::Policy, message })
}

/// Whether what a policy saw is on record as it was: no secret taken out, no address cut.
fn is_whole(record: &Record) -> bool {
    !record.redacted && !record.call.asked_name.ends_with('…')
}

fn definition(transcript: &Transcript, now: Option<&Decision>) -> Option<Difference> {
    let Transcript { record, tool } = transcript;
    let differs =
        |message: &str| Some(Difference { part: Part::Definition, message: message.to_owned() });
    let Some(hash) = &record.call.lineage.definition_hash else { return None };
    let Some(tool) = tool else { return differs("the tool's definition was not kept") };
    if tool.item.full_hash != *hash {
        return differs("the tool's definition is not the one that was called");
    }
    let same_inputs = record.decision.as_ref().zip(now).is_none_or(|(then, now)| {
        then.inputs_hash == now.inputs_hash || then.effective_mode == now.effective_mode
    });
    if same_inputs { None } else { differs("the manifest says something else about the tool") }
}

fn arguments(record: &Record, notes: &mut Vec<String>) -> Option<Difference> {
    let call = &record.call;
    if canonical::hash(&call.args) == call.args_hash {
        return None;
    }
    if record.redacted {
        notes.push("secrets were taken out, so arguments cannot be compared by hash".to_owned());
        return None;
    }
    let message = "the arguments on record are not those that were sent".to_owned();
    Some(Difference { part: Part::Arguments, message })
}

fn result(
    record: &Record,
    rule: ReplayRule,
    notes: &mut Vec<String>,
) -> Result<Option<Difference>, Fault> {
    let Some(result) = &record.result else { return Ok(None) };
    let Some(then) = &result.result_hash else { return Ok(None) };
    match (&record.answer, rule) {
        (Some(answer), _) => Ok(answer_differs(answer, then, record.redacted, notes)),
        (None, _) if result.deduplicated => {
            notes.push("its key was answered before, by the call that holds the answer".to_owned());
            Ok(None)
        }
        (None, ReplayRule::FailLoud) => Err(Fault::new(
            Code::ReplayMiss,
            format!("the answer of `{}` was not kept, and its rule is fail_loud", record.record_id),
        )),
        (None, ReplayRule::MustStub) => {
            let message = "the answer was not kept, and nothing else may stand in".to_owned();
            Ok(Some(Difference { part: Part::Result, message }))
        }
        (None, ReplayRule::RecordedResult) => {
            notes.push("the answer was not kept; its recorded summary stands in".to_owned());
            Ok(None)
        }
    }
}

fn answer_differs(
    answer: &Answer,
    then: &str,
    redacted: bool,
    notes: &mut Vec<String>,
) -> Option<Difference> {
    if raw_hash(answer) == then {
        return None;
    }
    if redacted {
        notes.push("secrets were taken out, so the answer cannot be compared by hash".to_owned());
        return None;
    }
    let message = "the answer on record is not the one that came back".to_owned();
    Some(Difference { part: Part::Result, message })
}
