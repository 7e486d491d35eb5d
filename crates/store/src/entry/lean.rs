//! The body of an entry, in which nothing is said twice.
//!
//! A call, its decision and its result repeat each other's ids, hashes and times, nearly a third of a
//! plain record. What the rest tells is left out by [`write`] and put back by [`complete`]. A field
//! without a value whose twin has one is `null`.
//!
//! Of what is left, most is the same in every call of a tool: that is the form, and an entry whose
//! form is known only names it. What callers choose is never part of it, so that forms are few.

use model::call::ServerLineage;
use model::result::Provenance;
use model::{Answer, Call, CallResult, Decision, ItemKey, Lineage, Principal, Record, Timestamp};
use serde_json::{Map, Value};

use super::Phase;
use super::object::{Halves, Object, Written};

pub(super) const VERSION: &str = "toolgate.entry.v3";
/// As the third version, but without a form.
pub(super) const FORMLESS: &str = "toolgate.entry.v2";

const BEGUN: &str = r#"{"version":"toolgate.entry.v3","#;
const NAMED: &str = r#","form":""#;

pub(super) const RECORD: &str = "rec_";
pub(super) const CALL: &str = "call_";
pub(super) const RUN: &str = "run_";

/// What an envelope that names no version has, whichever is current when it is read.
const CALL_VERSION: &str = "toolgate.call.v1";
const RESULT_VERSION: &str = "toolgate.result.v1";

/// Writes the form of an entry to `form`, and the rest to `own`, which [`end`] then ends.
pub(super) fn write(
    own: &mut Vec<u8>,
    form: &mut Vec<u8>,
    (phase, at): (Phase, Timestamp),
    record: &Record,
) -> Written {
    let mut entry = Object::begin(own);
    entry.text("version", VERSION);
    entry.text("phase", phase.as_str());
    if at != latest(record) {
        entry.value("at", &at)?;
    }
    entry.half("record", form, |halves| write_record(halves, record))
}

/// The end of a body: the name of its form, or the form itself.
pub(super) fn end(own: &mut Vec<u8>, name: Option<&str>, form: &[u8]) {
    if let Some(name) = name {
        own.extend_from_slice(NAMED.as_bytes());
        own.extend_from_slice(name.as_bytes());
        own.extend_from_slice(b"\"}");
    } else {
        own.extend_from_slice(b",\"form\":");
        own.extend_from_slice(form);
        own.push(b'}');
    }
}

/// The form that a body names.
///
/// Nothing but [`end`] writes that at the end of a body; whether the body is one, its hash tells.
pub(super) fn form_of(body: &str) -> Option<&str> {
    let (rest, name) = body.strip_suffix("\"}")?.rsplit_once(NAMED)?;
    rest.starts_with(BEGUN).then_some(name)
}

/// When a record was written if its entry does not say.
fn latest(record: &Record) -> Timestamp {
    record.closed_at.unwrap_or(record.opened_at)
}

fn write_record(halves: &mut Halves<'_>, record: &Record) -> Written {
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
    halves.own.text("record_id", record_id.as_str());
    halves.form.text("status", status.as_str());
    halves.object("call", |halves| write_call(halves, call, record))?;
    if let Some(decision) = decision {
        halves.object("decision", |halves| write_decision(halves, decision, call))?;
    }
    halves.own.some_text("approval_id", approval_id.as_ref());
    if let Some(result) = result {
        halves.object("result", |halves| write_result(halves, result, record))?;
    }
    halves.own.some("answer", answer.as_ref())?;
    halves.own.some("scorecard", scorecard.as_ref())?;
    halves.own.unless_default("redacted", redacted)?;
    halves.form.some("replay_rule", replay_rule.as_ref())?;
    halves.own.value("opened_at", opened_at)?;
    halves.own.some("closed_at", closed_at.as_ref())?;
    halves.form.texts("stages", stages);
    Ok(())
}

fn write_call(halves: &mut Halves<'_>, call: &Call, record: &Record) -> Written {
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
    halves.form.unless("envelope_version", envelope_version, CALL_VERSION);
    halves.own.unless_numbered("call_id", call_id.as_str(), CALL, number);
    halves.own.unless_numbered("run_id", run_id.as_str(), RUN, number);
    halves.own.unless_numbered("trace_id", trace_id.as_str(), "", number);
    halves.own.some_text("parent_span_id", parent_span_id.as_ref());
    halves.own.some_text("session_id", session_id.as_ref());
    halves.own.some_text("parent_call_id", parent_call_id.as_ref());
    halves.form.some_text("method", method.as_ref());
    halves.form.text("asked_name", asked_name);
    if let Some(ItemKey { upstream, name, kind }) = item_key {
        halves.form.object("item_key", |object| {
            object.text("upstream", upstream.as_str());
            object.text("name", name);
            object.text("kind", kind.as_str());
            Ok(())
        })?;
    }
    halves.form.some_text("capability_id", capability_id.as_ref());
    halves.own.value("args", args)?;
    halves.own.text("args_hash", args_hash);
    halves.own.objects("principal_chain", principal_chain, write_principal);
    halves.own.some("acts_for", acts_for.as_ref())?;
    halves.own.unless_default("evidence_refs", evidence_refs)?;
    halves.own.unless_default("roles", roles)?;
    halves.own.unless_default("grants", grants)?;
    halves.own.some("ceiling", ceiling.as_ref())?;
    halves.own.some("scopes", scopes.as_ref())?;
    halves.own.some_text("intent", intent.as_ref());
    halves.form.some("mode_effective", mode_effective.as_ref())?;
    halves.own.unless_twin("policy_decision_id", policy_decision_id.as_ref(), decided);
    halves.own.some_text("idempotency_key", idempotency_key.as_ref());
    halves.form.unless_default("dry_run", dry_run)?;
    if *started_at != record.opened_at {
        halves.own.value("started_at", started_at)?;
    }
    halves.own.value("deadline", deadline)?;
    halves.form.object("lineage", |object| write_lineage(object, lineage))
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

fn write_decision(halves: &mut Halves<'_>, decision: &Decision, call: &Call) -> Written {
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
    halves.own.text("policy_decision_id", policy_decision_id.as_str());
    halves.form.text("action", action.as_str());
    halves.form.text("reason", reason);
    halves.form.texts("matched_rule_ids", matched_rule_ids);
    halves.form.unless("policy_hash", policy_hash, &call.lineage.policy_hash);
    if call.mode_effective != Some(*effective_mode) {
        halves.form.value("effective_mode", effective_mode)?;
    }
    halves.form.some_text("gate", gate.as_ref());
    halves.form.unless_default("obligations", obligations)?;
    halves.own.some("spent", spent.as_ref())?;
    halves.own.text("inputs_hash", inputs_hash);
    halves.own.value("at", at)
}

fn write_result(halves: &mut Halves<'_>, result: &CallResult, record: &Record) -> Written {
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
    halves.form.unless("envelope_version", envelope_version, RESULT_VERSION);
    halves.own.unless("call_id", call_id.as_str(), call.call_id.as_str());
    halves.own.unless("run_id", run_id.as_str(), call.run_id.as_str());
    halves.own.unless("trace_id", trace_id.as_str(), call.trace_id.as_str());
    let capable = text(call.capability_id.as_ref());
    halves.form.unless_twin("capability_id", capability_id.as_ref(), capable);
    halves.form.text("status", status.as_str());
    halves.form.value("outcome", outcome)?;
    if record.answer.as_ref().and_then(first_text) != Some(summary) {
        halves.own.text("summary", summary);
    }
    halves.form.unless_default("lossy", lossy)?;
    halves.own.unless_default("facts", facts)?;
    halves.own.unless_default("artifacts", artifacts)?;
    halves.own.unless_default("views", views)?;
    halves.own.some_text("result_hash", result_hash.as_ref());
    halves.own.unless_default("evidence", evidence)?;
    halves.own.unless_default("mutation_refs", mutation_refs)?;
    halves.own.unless_default("findings", findings)?;
    halves.own.some("error", error.as_ref())?;
    let decided = text(call.policy_decision_id.as_ref());
    halves.own.unless_twin("policy_decision_id", policy_decision_id.as_ref(), decided);
    halves.own.unless_twin("approval_id", approval_id.as_ref(), text(record.approval_id.as_ref()));
    halves.form.unless_default("deduplicated", deduplicated)?;
    halves.form.value("cleaning", cleaning)?;
    halves.own.value("metrics", metrics)?;
    halves.form.object("provenance", |object| write_provenance(object, provenance))
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

/// Puts the form where it belongs: into the record and its three parts.
pub(super) fn fill(entry: &mut Map<String, Value>, form: Map<String, Value>) {
    let Some(Value::Object(record)) = entry.get_mut("record") else { return };
    for (name, value) in form {
        match (record.get_mut(&name), value) {
            (Some(Value::Object(own)), Value::Object(part)) => own.extend(part),
            (_, value) => drop(record.insert(name, value)),
        }
    }
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
