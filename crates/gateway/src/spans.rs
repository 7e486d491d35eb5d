//! One span of `OpenTelemetry` for each call that has ended, made from its record. Arguments and
//! results are never in it; who wants those reads the record it names.

use manifest::{Metric, Observability};
use model::{ApprovalMode, Call, Fault, Record, Timestamp};
use serde_json::{Value, json};

use crate::gateway::Gateway;

/// What the specification calls the span of a server.
const KIND_SERVER: u8 = 2;
const STATUS_ERROR: u8 = 2;

impl Gateway {
    /// Tells of a call that has ended, if anybody wants to hear of it.
    pub(crate) fn tell_of(&self, record: &Record) {
        let Some(spans) = &self.settings.spans else { return };
        let key = record.call.item_key.as_ref();
        let manifest = key.and_then(|key| self.manifest(&key.upstream));
        let wanted = manifest.as_ref().and_then(|manifest| manifest.observability.as_ref());
        if !spans.tell(span(record, wanted)) {
            tracing::debug!(record.id = %record.record_id, "a span was dropped: too many wait");
        }
    }
}

fn span(record: &Record, wanted: Option<&Observability>) -> Value {
    let call = &record.call;
    let prefix = wanted.and_then(|wanted| wanted.span_name_prefix.as_deref());
    let name = format!("{} {}", method(call), target(call));
    let mut span = json!({
        "traceId": call.trace_id,
        "spanId": call.span_id(),
        "name": prefix.map_or_else(|| name.clone(), |prefix| format!("{prefix} {name}")),
        "kind": KIND_SERVER,
        "startTimeUnixNano": nanos(record.opened_at),
        "endTimeUnixNano": nanos(record.closed_at.unwrap_or(record.opened_at)),
        "attributes": attributes(record, wanted),
    });
    let parent = call.parent_span_id.as_ref().map(|parent| ("parentSpanId", json!(parent)));
    let status = error(record)
        .map(|fault| ("status", json!({"code": STATUS_ERROR, "message": fault.message})));
    if let Some(fields) = span.as_object_mut() {
        let more = parent.into_iter().chain(status);
        fields.extend(more.map(|(key, value)| (key.to_owned(), value)));
    }
    span
}

fn method(call: &Call) -> &str {
    call.method.as_deref().unwrap_or("tools/call")
}

fn target(call: &Call) -> &str {
    call.item_key.as_ref().map_or(call.asked_name.as_str(), |key| key.name.as_str())
}

fn error(record: &Record) -> Option<&Fault> {
    record.result.as_ref()?.error.as_ref()
}

/// The names of the conventions for MCP and tools where there are any, ours for the rest.
fn attributes(record: &Record, wanted: Option<&Observability>) -> Vec<Value> {
    let call = &record.call;
    let (decision, result) = (record.decision.as_ref(), record.result.as_ref());
    let metrics = result.map(|result| &result.metrics);
    let who = call.principal_chain.first().map(ToString::to_string);
    let evidence = result.map(|result| {
        let refs = result.evidence.iter().map(|evidence| evidence.evidence_ref.as_str());
        refs.collect::<Vec<_>>()
    });
    let texts = [
        ("mcp.method.name", Some(method(call))),
        ("mcp.session.id", call.session_id.as_ref().map(AsRef::as_ref)),
        ("gen_ai.tool.name", Some(target(call))),
        ("gen_ai.tool.call.id", Some(call.call_id.as_str())),
        ("error.type", error(record).map(|fault| fault.code.as_str())),
        ("toolgate.record_id", Some(record.record_id.as_str())),
        ("toolgate.run_id", Some(call.run_id.as_str())),
        ("toolgate.status", Some(record.status.as_str())),
        ("toolgate.principal", who.as_deref()),
        ("toolgate.upstream", call.item_key.as_ref().map(|key| key.upstream.as_str())),
        ("toolgate.capability_id", call.capability_id.as_ref().map(AsRef::as_ref)),
        ("toolgate.mode", call.mode_effective.map(ApprovalMode::as_str)),
        ("toolgate.policy_decision_id", call.policy_decision_id.as_ref().map(AsRef::as_ref)),
        ("toolgate.policy.action", decision.map(|decision| decision.action.as_str())),
        ("toolgate.policy.hash", decision.map(|decision| decision.policy_hash.as_str())),
        ("toolgate.approval_id", record.approval_id.as_ref().map(AsRef::as_ref)),
        ("toolgate.idempotency_key", call.idempotency_key.as_deref()),
        // On record only where the manifest lists it.
        ("toolgate.upstream_status", metrics.and_then(|told| told.upstream_status.as_deref())),
    ];
    let counts = wanted.is_some_and(|wanted| wanted.metrics.contains(&Metric::RetryCount));
    let numbers = metrics.map(|metrics| {
        [
            ("toolgate.latency_ms", Some(metrics.latency_ms)),
            ("toolgate.upstream_ms", Some(metrics.upstream_ms)),
            ("toolgate.retry_count", counts.then_some(u64::from(metrics.retry_count))),
            ("toolgate.cost_cents", metrics.cost_cents),
        ]
    });
    let rules = decision.map(|decision| &decision.matched_rule_ids);
    let lists = [
        ("toolgate.policy.rules", rules.map(|rules| json!(rules))),
        ("toolgate.evidence", evidence.filter(|refs| !refs.is_empty()).map(|refs| json!(refs))),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some(text_of(key, text?)));
    // OTLP writes integers of 64 bits as text.
    let numbers = numbers
        .into_iter()
        .flatten()
        .filter_map(|(key, number)| Some((key, number?)))
        .map(|(key, number)| json!({"key": key, "value": {"intValue": number.to_string()}}));
    let lists = lists.into_iter().filter_map(|(key, list)| Some(list_of(key, &list?)));
    texts.chain(numbers).chain(lists).collect()
}

fn text_of(key: &str, text: &str) -> Value {
    json!({"key": key, "value": {"stringValue": text}})
}

fn list_of(key: &str, texts: &Value) -> Value {
    let texts = texts.as_array().into_iter().flatten();
    let values: Vec<Value> = texts.map(|text| json!({"stringValue": text})).collect();
    json!({"key": key, "value": {"arrayValue": {"values": values}}})
}

fn nanos(at: Timestamp) -> String {
    format!("{}000000", at.as_millis())
}
