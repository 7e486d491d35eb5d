//! The body of an entry, in which nothing is said twice.
//!
//! A call, its decision and its result repeat each other's ids, hashes and times, nearly a third of a
//! plain record. What the rest tells is left out by [`write`] and put back by [`complete`]. A field
//! without a value whose twin has one is `null`.

use model::call::ServerLineage;
use model::result::Provenance;
use model::{Answer, Call, CallResult, Decision, ItemKey, Lineage, Principal, Record, Timestamp};
use serde_json::{Map, Value};

use super::Phase;
use super::object::{Object, Written};

pub(super) const VERSION: &str = "toolgate.entry.v2";

pub(super) const RECORD: &str = "rec_";
pub(super) const CALL: &str = "call_";
pub(super) const RUN: &str = "run_";

/// What an envelope that names no version has, whichever is current when it is read.
const CALL_VERSION: &str = "toolgate.call.v1";
const RESULT_VERSION: &str = "toolgate.result.v1";

pub(super) fn write(out: &mut Vec<u8>, phase: Phase, at: Timestamp, record: &Record) -> Written {
    Object::write(out, |entry| {
        entry.text("version", VERSION);
        entry.text("phase", phase.as_str());
        if at != latest(record) {
            entry.value("at", &at)?;
        }
        entry.object("record", |object| write_record(object, record))
    })
}

/// When a record was written if its entry does not say.
fn latest(record: &Record) -> Timestamp {
    record.closed_at.unwrap_or(record.opened_at)
}

fn write_record(object: &mut Object<'_>, record: &Record) -> Written {
    let Record {
        record_id,
        status,
        call,
        decision,
        approval_id,
        result,
        answer,
        scorecard,
        redacted,
        replay_rule,
        opened_at,
        closed_at,
        stages,
    } = record;
    object.text("record_id", record_id.as_str());
    object.text("status", status.as_str());
    object.object("call", |object| write_call(object, call, record))?;
    if let Some(decision) = decision {
        object.object("decision", |object| write_decision(object, decision, call))?;
    }
    object.some_text("approval_id", approval_id.as_ref());
    if let Some(result) = result {
        object.object("result", |object| write_result(object, result, record))?;
    }
    object.some("answer", answer.as_ref())?;
    object.some("scorecard", scorecard.as_ref())?;
    object.unless_default("redacted", redacted)?;
    object.some("replay_rule", replay_rule.as_ref())?;
    object.value("opened_at", opened_at)?;
    object.some("closed_at", closed_at.as_ref())?;
    object.texts("stages", stages);
    Ok(())
}

fn write_call(object: &mut Object<'_>, call: &Call, record: &Record) -> Written {
    let Call {
        envelope_version,
        call_id,
        run_id,
        trace_id,
        parent_span_id,
        session_id,
        parent_call_id,
        method,
        asked_name,
        item_key,
        capability_id,
        args,
        args_hash,
        principal_chain,
        acts_for,
        evidence_refs,
        roles,
        grants,
        ceiling,
        scopes,
        intent,
        mode_effective,
        policy_decision_id,
        idempotency_key,
        dry_run,
        started_at,
        deadline,
        lineage,
    } = call;
    let number = record.record_id.as_str().strip_prefix(RECORD);
    let decided = record.decision.as_ref().map(|decision| decision.policy_decision_id.as_str());
    object.unless("envelope_version", envelope_version, CALL_VERSION);
    object.unless_numbered("call_id", call_id.as_str(), CALL, number);
    object.unless_numbered("run_id", run_id.as_str(), RUN, number);
    object.unless_numbered("trace_id", trace_id.as_str(), "", number);
    object.some_text("parent_span_id", parent_span_id.as_ref());
    object.some_text("session_id", session_id.as_ref());
    object.some_text("parent_call_id", parent_call_id.as_ref());
    object.some_text("method", method.as_ref());
    object.text("asked_name", asked_name);
    if let Some(ItemKey { upstream, name, kind }) = item_key {
        object.object("item_key", |object| {
            object.text("upstream", upstream.as_str());
            object.text("name", name);
            object.text("kind", kind.as_str());
            Ok(())
        })?;
    }
    object.some_text("capability_id", capability_id.as_ref());
    object.value("args", args)?;
    object.text("args_hash", args_hash);
    object.objects("principal_chain", principal_chain, write_principal);
    object.some("acts_for", acts_for.as_ref())?;
    object.unless_default("evidence_refs", evidence_refs)?;
    object.unless_default("roles", roles)?;
    object.unless_default("grants", grants)?;
    object.some("ceiling", ceiling.as_ref())?;
    object.some("scopes", scopes.as_ref())?;
    object.some_text("intent", intent.as_ref());
    object.some("mode_effective", mode_effective.as_ref())?;
    object.unless_twin("policy_decision_id", policy_decision_id.as_ref(), decided);
    object.some_text("idempotency_key", idempotency_key.as_ref());
    object.unless_default("dry_run", dry_run)?;
    if *started_at != record.opened_at {
        object.value("started_at", started_at)?;
    }
    object.value("deadline", deadline)?;
    object.object("lineage", |object| write_lineage(object, lineage))
}

fn write_lineage(object: &mut Object<'_>, lineage: &Lineage) -> Written {
    let Lineage {
        generation,
        catalogue_hash,
        definition_hash,
        manifest,
        policy_hash,
        gateway_version,
        server,
        prompt,
    } = lineage;
    object.value("generation", generation)?;
    object.text("catalogue_hash", catalogue_hash);
    object.some_text("definition_hash", definition_hash.as_ref());
    object.some_text("manifest", manifest.as_ref());
    object.text("policy_hash", policy_hash);
    object.text("gateway_version", gateway_version);
    if let Some(server) = server {
        let ServerLineage { name, version, protocol_version, capabilities_hash } = &**server;
        object.object("server", |object| {
            object.text("name", name);
            object.text("version", version);
            object.text("protocol_version", protocol_version);
            object.text("capabilities_hash", capabilities_hash);
            Ok(())
        })?;
    }
    object.some("prompt", prompt.as_ref())
}

fn write_decision(object: &mut Object<'_>, decision: &Decision, call: &Call) -> Written {
    let Decision {
        policy_decision_id,
        action,
        reason,
        matched_rule_ids,
        policy_hash,
        effective_mode,
        gate,
        obligations,
        spent,
        inputs_hash,
        at,
    } = decision;
    object.text("policy_decision_id", policy_decision_id.as_str());
    object.text("action", action.as_str());
    object.text("reason", reason);
    object.texts("matched_rule_ids", matched_rule_ids);
    object.unless("policy_hash", policy_hash, &call.lineage.policy_hash);
    if call.mode_effective != Some(*effective_mode) {
        object.value("effective_mode", effective_mode)?;
    }
    object.some_text("gate", gate.as_ref());
    object.unless_default("obligations", obligations)?;
    object.some("spent", spent.as_ref())?;
    object.text("inputs_hash", inputs_hash);
    object.value("at", at)
}

fn write_result(object: &mut Object<'_>, result: &CallResult, record: &Record) -> Written {
    let CallResult {
        envelope_version,
        call_id,
        run_id,
        trace_id,
        capability_id,
        status,
        outcome,
        summary,
        lossy,
        facts,
        artifacts,
        views,
        result_hash,
        evidence,
        mutation_refs,
        findings,
        error,
        policy_decision_id,
        approval_id,
        deduplicated,
        cleaning,
        metrics,
        provenance,
    } = result;
    let call = &record.call;
    object.unless("envelope_version", envelope_version, RESULT_VERSION);
    object.unless("call_id", call_id.as_str(), call.call_id.as_str());
    object.unless("run_id", run_id.as_str(), call.run_id.as_str());
    object.unless("trace_id", trace_id.as_str(), call.trace_id.as_str());
    object.unless_twin("capability_id", capability_id.as_ref(), text(call.capability_id.as_ref()));
    object.text("status", status.as_str());
    object.value("outcome", outcome)?;
    if record.answer.as_ref().and_then(first_text) != Some(summary) {
        object.text("summary", summary);
    }
    object.unless_default("lossy", lossy)?;
    object.unless_default("facts", facts)?;
    object.unless_default("artifacts", artifacts)?;
    object.unless_default("views", views)?;
    object.some_text("result_hash", result_hash.as_ref());
    object.unless_default("evidence", evidence)?;
    object.unless_default("mutation_refs", mutation_refs)?;
    object.unless_default("findings", findings)?;
    object.some("error", error.as_ref())?;
    let decided = text(call.policy_decision_id.as_ref());
    object.unless_twin("policy_decision_id", policy_decision_id.as_ref(), decided);
    object.unless_twin("approval_id", approval_id.as_ref(), text(record.approval_id.as_ref()));
    object.unless_default("deduplicated", deduplicated)?;
    object.value("cleaning", cleaning)?;
    object.value("metrics", metrics)?;
    object.object("provenance", |object| write_provenance(object, provenance))
}

fn write_principal(object: &mut Object<'_>, principal: &Principal) {
    let Principal { kind, id, tenant_id } = principal;
    object.text("kind", kind.as_str());
    object.text("id", id);
    object.some_text("tenant_id", tenant_id.as_ref());
}

fn write_provenance(object: &mut Object<'_>, provenance: &Provenance) -> Written {
    let Provenance { upstream, tool, protocol, content_annotations } = provenance;
    object.text("upstream", upstream);
    object.text("tool", tool);
    object.text("protocol", protocol);
    object.unless_default("content_annotations", content_annotations)
}

fn text<T: AsRef<str>>(value: Option<&T>) -> Option<&str> {
    value.map(AsRef::as_ref)
}

/// A short answer is its own summary.
fn first_text(answer: &Answer) -> Option<&str> {
    answer.content.first()?.get("text")?.as_str()
}

/// Puts back what [`write`] left out.
pub(super) fn complete(entry: &mut Map<String, Value>) {
    let Some(Value::Object(record)) = entry.get_mut("record") else { return };
    let mut call = take(record, "call");
    let mut decision = take(record, "decision");
    let mut result = take(record, "result");

    if let Some(call) = &mut call {
        let number = record.get("record_id").and_then(Value::as_str);
        let number = number.and_then(|id| id.strip_prefix(RECORD)).unwrap_or_default();
        put(call, "envelope_version", CALL_VERSION);
        put(call, "call_id", [CALL, number].concat());
        put(call, "run_id", [RUN, number].concat());
        put(call, "trace_id", number);
        put(call, "dry_run", false);
        put_twin(call, "started_at", record.get("opened_at"));
        let decided = decision.as_ref().and_then(|decision| decision.get("policy_decision_id"));
        put_twin(call, "policy_decision_id", decided);
    }
    if let (Some(decision), Some(call)) = (&mut decision, &call) {
        let policy = call.get("lineage").and_then(|lineage| lineage.get("policy_hash"));
        put_twin(decision, "policy_hash", policy);
        put_twin(decision, "effective_mode", call.get("mode_effective"));
    }
    if let (Some(result), Some(call)) = (&mut result, &call) {
        put(result, "envelope_version", RESULT_VERSION);
        for name in ["call_id", "run_id", "trace_id", "capability_id", "policy_decision_id"] {
            put_twin(result, name, call.get(name));
        }
        put_twin(
            result,
            "summary",
            record.get("answer").and_then(|it| it.pointer("/content/0/text")),
        );
        put(result, "lossy", false);
        put(result, "facts", Vec::<Value>::new());
        put_twin(result, "approval_id", record.get("approval_id"));
        put(result, "deduplicated", false);
    }
    let at = record.get("closed_at").or_else(|| record.get("opened_at")).cloned();

    for (name, part) in [("call", call), ("decision", decision), ("result", result)] {
        if let Some(part) = part {
            record.insert(name.to_owned(), Value::Object(part));
        }
    }
    put_twin(entry, "at", at.as_ref());
}

fn take(record: &mut Map<String, Value>, name: &str) -> Option<Map<String, Value>> {
    match record.swap_remove(name)? {
        Value::Object(part) => Some(part),
        _ => None,
    }
}

fn put(object: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    if !object.contains_key(name) {
        object.insert(name.to_owned(), value.into());
    }
}

fn put_twin(object: &mut Map<String, Value>, name: &str, twin: Option<&Value>) {
    if let Some(twin) = twin
        && !object.contains_key(name)
    {
        object.insert(name.to_owned(), twin.clone());
    }
}
