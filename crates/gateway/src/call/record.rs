//! Stages 5 and 12: the entry exists before any effect and is closed whatever happens.
//!
//! For a call that only reads, the opening stays in memory and the closing holds everything; for
//! one that writes, `admit` makes the opening durable first.

use std::sync::Arc;
use std::time::Instant;

use context::Cleared;
use model::fault::WireError;
use model::result::{CallResult, Cleaning, Metrics, Provenance};
use model::task::TaskState;
use model::{
    Answer, Call, CallId, CallStatus, Code, Fault, Finding, Lineage, Outcome, Record, RecordId,
    RecordStatus, RunId, Timestamp, TraceId, call, canonical, result,
};
use policy::Rules;
use serde_json::Value;
use store::{Claim, ClaimEnd, ClaimOutcome, Closing, failpoint};

use super::inspect::Inspected;
use super::measure::{Status, measure};
use super::{CallRequest, Done, keep};
use crate::gateway::Gateway;
use crate::questions;
use crate::rounds::SoFar;
use crate::runs::{self, Wish};
use crate::settings::Reads;
use crate::tasks;

/// A record in the making, and what closing it must know.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) record: Box<Record>,
    /// The key this call holds, if it holds one.
    pub(super) claim: Option<Claim>,
    /// The upstream may have seen this call.
    pub(super) dispatched: bool,
    /// Nothing of this call is durable before its closing, and nothing need be.
    pub(super) only_reads: bool,
    /// The raw answer, kept for whoever sends the same key again.
    pub(super) answer: Option<Answer>,
    pub(super) deduplicated: bool,
    pub(super) upstream_ms: u64,
    /// How the upstream answered, if it was asked.
    pub(super) upstream_status: Option<Status>,
    /// Attempts beyond the first.
    pub(super) repeats: u32,
    pub(super) provenance: Provenance,
    /// The rules this call is judged by, whatever comes into force meanwhile.
    pub(super) rules: Arc<Rules>,
    /// The run whose budget this call counts towards, where there is one, and the tool it counts for.
    pub(super) run: Option<(String, String)>,
    /// The key this call goes by, as the caller gave it; what is kept of it is in the record.
    pub(super) key: Option<String>,
    /// What a later round of this call is bound to, where its arguments have since got a key.
    pub(super) bound_to: Option<String>,
    /// What the caller was asked, this round and before.
    pub(super) so_far: SoFar,
    /// What happened on the way that is worth a line in the record.
    pub(super) findings: Vec<Finding>,
    started: Instant,
}

impl Entry {
    /// Notes that a stage has begun, so that the record shows how far a call came.
    pub(super) fn stage(&mut self, name: &'static str) {
        self.record.stages.push(name.into());
    }
}

/// Stages of a call that goes all the way.
const STAGES: usize = 12;

/// Begins the record of a call that nobody has judged yet.
pub(super) fn open(gateway: &Gateway, request: &CallRequest) -> Entry {
    let now = gateway.clock.now();
    let rules = gateway.rules();
    let call = asked(gateway, request, &rules, now);
    let mut entry = Entry {
        record: Box::new(Record {
            record_id: RecordId::of(&call.call_id),
            status: RecordStatus::Open,
            call,
            decision: None,
            approval_id: None,
            result: None,
            answer: None,
            scorecard: None,
            redacted: false,
            replay_rule: None,
            opened_at: now,
            closed_at: None,
            stages: Vec::with_capacity(STAGES),
        }),
        claim: None,
        dispatched: false,
        only_reads: false,
        answer: None,
        deduplicated: false,
        upstream_ms: 0,
        upstream_status: None,
        repeats: 0,
        provenance: Provenance::default(),
        rules,
        run: None,
        key: None,
        bound_to: None,
        so_far: request.so_far,
        findings: Vec::new(),
        started: Instant::now(),
    };
    keep::arguments(gateway, &request.args, &mut entry);
    keep::words(gateway, request, &mut entry);
    entry
}

/// The envelope of a call, as far as it is known before anything is looked up.
fn asked(gateway: &Gateway, request: &CallRequest, rules: &Rules, now: Timestamp) -> Call {
    let catalogue = gateway.catalogue();
    let call_id = CallId::fresh(now);
    Call {
        envelope_version: call::ENVELOPE_VERSION.into(),
        run_id: request.run_id.as_deref().map_or_else(|| RunId::of(&call_id), RunId::from_string),
        trace_id: match &request.trace {
            Some(trace) => trace.trace_id.clone(),
            None => TraceId::of(&call_id),
        },
        call_id,
        parent_span_id: request.trace.as_ref().map(|trace| trace.parent.clone()),
        session_id: request.caller.session.clone(),
        parent_call_id: None,
        method: (!request.method.is_tool_call()).then(|| request.method.as_str().to_owned()),
        asked_name: model::fault::one_line(&request.name, keep::NAME_CHARS_MAX),
        item_key: None,
        capability_id: None,
        args: Value::Null,
        args_hash: canonical::hash(&request.args),
        principal_chain: request.caller.chain(),
        acts_for: request.caller.acts_for.as_deref().cloned(),
        evidence_refs: request.evidence.clone(),
        roles: request.caller.roles.clone(),
        grants: request.caller.grants.clone(),
        ceiling: request.caller.ceiling,
        scopes: None,
        intent: request.intent.clone(),
        mode_effective: None,
        policy_decision_id: None,
        idempotency_key: None,
        dry_run: false,
        started_at: now,
        deadline: now.after(gateway.settings.call_timeout),
        lineage: Lineage {
            generation: catalogue.generation(),
            catalogue_hash: catalogue.hash().to_owned(),
            policy_hash: rules.hash().to_owned(),
            gateway_version: env!("CARGO_PKG_VERSION").into(),
            ..Lineage::default()
        },
    }
}

/// Puts on record what is no call, and so has neither a decision nor a result.
pub(super) async fn note(gateway: &Gateway, request: &CallRequest) -> Result<RecordId, Fault> {
    let mut record = open(gateway, request).record;
    record.status = RecordStatus::Completed;
    record.closed_at = Some(gateway.clock.now());
    let closing = Closing { record, claim: None };
    gateway.store.close_record(&closing).await?;
    Ok(closing.record.record_id)
}

/// A call that came to its end, and is not on record yet.
pub(super) struct Ended {
    pub(super) record: Box<Record>,
    pub(super) fault: Option<Fault>,
    /// It only read, and such calls leave no record here.
    pub(super) unrecorded: bool,
    cleared: Cleared,
    claim: Option<ClaimOutcome>,
    dispatched: bool,
}

/// What came of the call, in the words of the record and of the client.
pub(super) fn end(gateway: &Gateway, mut entry: Entry, outcome: Result<Inspected, Fault>) -> Ended {
    let claim = claim_outcome(&mut entry, outcome.as_ref());
    let (mut result, status, cleared, fault) = match outcome {
        Ok(inspected) => {
            let (result, status, cleared) = result_of(&entry, inspected);
            (result, status, cleared, None)
        }
        Err(fault) => {
            let fault = gateway.settings.redactor.fault(fault);
            log(&entry, &fault);
            let (status, call_status) = RecordStatus::of(&fault);
            (failed(&entry, call_status, &fault), status, gateway.refuse(&fault), Some(fault))
        }
    };
    measure(gateway, &entry, &mut result.metrics);
    let Entry { mut record, dispatched, only_reads, .. } = entry;
    record.status = status;
    // What was put away is looked into by what its record says of it.
    // What a person or a model was asked is on record wherever it was asked.
    let asked = result.findings.iter().any(|finding| finding.rule == questions::RULE);
    let light = only_reads && result.artifacts.is_empty() && !asked;
    record.result = Some(result);
    let unrecorded = gateway.settings.reads == Reads::Skip && light && dispatched;
    Ended { record, fault, unrecorded, cleared, claim, dispatched }
}

/// Lets an answer go of which nothing is kept.
pub(super) fn let_go(gateway: &Gateway, ended: Ended) -> Done {
    let Ended { mut record, fault, cleared, .. } = ended;
    record.closed_at = Some(gateway.clock.now());
    gateway.tell_of(&record);
    let refused = refused(gateway, fault.as_ref());
    Done { record_id: None, cleared, result: record.result, fault, refused }
}

/// Closes the record and lets the answer go only once the closing is durable.
pub(super) async fn close(gateway: &Gateway, ended: Ended) -> Done {
    let Ended { mut record, fault, cleared, claim, dispatched, .. } = ended;
    record.closed_at = Some(gateway.clock.now());
    gateway.tell_of(&record);
    let closing = Closing { record, claim };
    let closed = gateway.store.close_record(&closing).await;
    let Record { record_id, result, .. } = *closing.record;
    match closed {
        Ok(()) => {
            failpoint::pass("call.closed");
            let refused = refused(gateway, fault.as_ref());
            Done { record_id: Some(record_id), cleared, result, fault, refused }
        }
        Err(unwritten) => {
            let fault = if dispatched { unwritten.indeterminate() } else { unwritten };
            Done { record_id: Some(record_id), ..unopened(gateway, fault) }
        }
    }
}

/// Tells the budget of the run what came of the call.
pub(super) async fn settle(gateway: &Gateway, entry: &Entry, outcome: Result<&Inspected, &Fault>) {
    let (Some(runs), Some((run, tool))) = (&gateway.runs, &entry.run) else { return };
    let wish = Wish { tool, args_hash: &entry.record.call.args_hash, writes: false };
    let answer = outcome.map(|inspected| inspected.clearing.cleared.get());
    let counted = runs.counts_bytes() || runs.counts_tokens();
    let text = answer.ok().filter(|_| counted);
    let text = text.map(|answer| serde_json::to_string(answer).unwrap_or_default());
    let text = text.unwrap_or_default();
    let tokens = if runs.counts_tokens() { context::tokens::count(&text) } else { 0 };
    let outcome = runs::Outcome {
        failed: answer.is_ok_and(|answer| answer.is_error) || answer.is_err(),
        repeats: entry.repeats,
        bytes: text.len() as u64,
        tokens: tokens as u64,
    };
    runs.settle(run, wish, outcome).await;
}

/// A call refused before it could be recorded.
pub(super) fn unopened(gateway: &Gateway, fault: Fault) -> Done {
    let cleared = gateway.refuse(&fault);
    Done { record_id: None, cleared, result: None, fault: Some(fault), refused: None }
}

fn refused(gateway: &Gateway, fault: Option<&Fault>) -> Option<Cleared<WireError>> {
    let error = fault?.upstream.as_deref()?;
    Some(context::pass_error(error, &gateway.settings.redactor))
}

/// What becomes of the key: kept with the answer, freed, or left for a person to look at.
fn claim_outcome(entry: &mut Entry, outcome: Result<&Inspected, &Fault>) -> Option<ClaimOutcome> {
    let claim = entry.claim.take()?;
    let end = match (outcome, entry.answer.take()) {
        // The next round makes the call, under the same key.
        (_, Some(asks)) if asks.waits_for_input() => ClaimEnd::Released,
        (_, Some(answer)) if !answer.is_error => ClaimEnd::Done(answer),
        (_, Some(_tool_said_no)) => ClaimEnd::Released,
        (Err(fault), None) if entry.dispatched && fault.indeterminate => ClaimEnd::Unknown,
        (_, None) => ClaimEnd::Released,
    };
    Some(claim.ended(end))
}

fn result_of(entry: &Entry, inspected: Inspected) -> (CallResult, RecordStatus, Cleared) {
    let Inspected { clearing, artifacts, outcome, evidence, mutation_refs, mut findings } =
        inspected;
    findings.extend_from_slice(&entry.findings);
    let answer = clearing.cleared.get();
    let state = answer.interim().or_else(|| tasks::told(&entry.record.call, answer));
    let (status, outcome, record_status) = match state {
        _ if answer.is_error => (CallStatus::Failed, Outcome::Error, RecordStatus::Failed),
        Some(TaskState::Working | TaskState::InputRequired) => {
            (CallStatus::Paused, outcome, state.map_or(RecordStatus::Deferred, Into::into))
        }
        Some(TaskState::Failed) => (CallStatus::Failed, Outcome::Error, RecordStatus::Failed),
        Some(TaskState::Cancelled) => {
            (CallStatus::Cancelled, Outcome::Error, RecordStatus::Cancelled)
        }
        Some(TaskState::Completed) | None => {
            (CallStatus::Completed, outcome, RecordStatus::Completed)
        }
    };
    let result = CallResult {
        outcome,
        error: (state == Some(TaskState::Failed)).then(|| tasks::failure(answer)),
        summary: clearing.summary,
        lossy: clearing.lossy,
        facts: clearing.facts,
        artifacts,
        views: clearing.views,
        result_hash: Some(clearing.result_hash),
        evidence,
        mutation_refs,
        findings,
        cleaning: clearing.cleaning,
        ..envelope(entry, status)
    };
    (result, record_status, clearing.cleared)
}

fn failed(entry: &Entry, status: CallStatus, fault: &Fault) -> CallResult {
    CallResult {
        summary: fault.message.clone(),
        error: Some(fault.clone()),
        ..envelope(entry, status)
    }
}

/// What every result says, whatever came of the call.
fn envelope(entry: &Entry, status: CallStatus) -> CallResult {
    let call = &entry.record.call;
    let latency_ms = u64::try_from(entry.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    CallResult {
        envelope_version: result::ENVELOPE_VERSION.into(),
        call_id: call.call_id.clone(),
        run_id: call.run_id.clone(),
        trace_id: call.trace_id.clone(),
        capability_id: call.capability_id.clone(),
        status,
        outcome: Outcome::Error,
        summary: String::new(),
        lossy: false,
        facts: Vec::new(),
        artifacts: Vec::new(),
        views: Vec::new(),
        result_hash: None,
        evidence: Vec::new(),
        mutation_refs: Vec::new(),
        findings: entry.findings.clone(),
        error: None,
        policy_decision_id: call.policy_decision_id.clone(),
        approval_id: entry.record.approval_id.clone(),
        deduplicated: entry.deduplicated,
        cleaning: Cleaning::default(),
        metrics: Metrics {
            latency_ms,
            upstream_ms: entry.upstream_ms,
            retry_count: entry.repeats,
            ..Metrics::default()
        },
        provenance: entry.provenance.clone(),
    }
}

/// A failure is logged once, here, with both of its messages.
fn log(entry: &Entry, fault: &Fault) {
    let call = &entry.record.call;
    let (call_id, tool) = (call.call_id.as_str(), call.asked_name.as_str());
    let detail = fault.log.as_deref().unwrap_or_default();
    if fault.code == Code::Internal {
        tracing::error!(call.id = call_id, tool.name = tool, %fault, detail, "call failed");
    } else {
        tracing::info!(call.id = call_id, tool.name = tool, %fault, detail, "call refused or failed");
    }
}
