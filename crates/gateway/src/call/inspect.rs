//! Stage 11: what came back is checked, kept and cleaned before anybody reads it.

mod judge;

use bytes::Bytes;
use catalog::{Entry as Tool, menu::Mode};
use context::{Clearing, Rules, Size, Witness, clear};
use model::evidence::{Evidence, EvidenceSource, Freshness, FreshnessKind, Integrity};
use model::{Answer, ArtifactRef, Class, Fault, Finding, Handle, Outcome};
use store::NewArtifact;

use super::CallRequest;
use super::record::Entry;
use crate::gateway::Gateway;

/// An answer that may go out, and what was kept of it.
#[derive(Debug)]
pub(super) struct Inspected {
    pub(super) clearing: Clearing,
    pub(super) artifacts: Vec<ArtifactRef>,
    pub(super) outcome: Outcome,
    pub(super) evidence: Vec<Evidence>,
    pub(super) findings: Vec<Finding>,
}

pub(super) async fn inspect(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    mut answer: Answer,
    entry: &mut Entry,
) -> Result<Inspected, Fault> {
    let output = gateway.settings.output(&tool.item.key.upstream);
    if !request.method.is_tool_call() || answer.is_interim() {
        return Ok(pass(gateway, request, tool, answer, entry));
    }
    // Clients count on a list of content; some servers leave it out where they have none.
    if std::mem::take(&mut answer.bare) {
        answer.written = None;
    }
    entry.stage("output");
    let findings = judge::check(output, tool, &answer)?;
    entry.stage("evidence");
    let (evidence, outcome) = evidence(gateway, tool, &answer, entry, findings.is_empty());
    entry.stage("sanitise");
    let rules = Rules {
        source: &entry.provenance,
        profile: output.profile,
        size: size(gateway),
        redactor: &gateway.settings.redactor,
    };
    let clearing = clear(answer, &rules);
    judge::check_cleaned(tool, &clearing, findings.is_empty())?;
    let artifacts = keep(gateway, request, &clearing, entry).await?;
    Ok(Inspected { clearing, artifacts, outcome, evidence, findings })
}

/// What is no tool's last word: nothing to hold it against and nothing to cut, but cleaned all the
/// same.
fn pass(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    answer: Answer,
    entry: &mut Entry,
) -> Inspected {
    entry.stage("sanitise");
    gateway.tasks.note(&answer, tool, &request.caller);
    let rules = Rules {
        source: &entry.provenance,
        profile: gateway.settings.output(&tool.item.key.upstream).profile,
        size: Size::Whole,
        redactor: &gateway.settings.redactor,
    };
    Inspected {
        clearing: clear(answer, &rules),
        artifacts: Vec::new(),
        outcome: Outcome::Ok,
        evidence: Vec::new(),
        findings: Vec::new(),
    }
}

/// The facts the manifest wants cited, and whether every one of them is there.
fn evidence(
    gateway: &Gateway,
    tool: &Tool,
    answer: &Answer,
    entry: &Entry,
    valid: bool,
) -> (Vec<Evidence>, Outcome) {
    let wanted = tool.capability.as_ref().map(|c| c.evidence_keys.as_slice()).unwrap_or_default();
    let call = &entry.record.call;
    let value = gateway.clock.now().to_string();
    let witness = Witness {
        source: EvidenceSource {
            upstream: tool.item.key.upstream.clone(),
            uri: None,
            capability_id: call.capability_id.clone(),
            call_id: call.call_id.clone(),
        },
        freshness: Some(Freshness { kind: FreshnessKind::Timestamp, value }),
        class: Class::default(),
        integrity: if valid && tool.has_output_schema() {
            Integrity::Verified
        } else {
            Integrity::Unverified
        },
        redactor: &gateway.settings.redactor,
    };
    let found = context::evidence(answer.structured.as_ref(), wanted, &witness);
    let outcome = if found.len() == wanted.len() { Outcome::Ok } else { Outcome::Partial };
    (found, outcome)
}

/// Only modes with a way to look into an artifact put one in the place of a long text.
fn size(gateway: &Gateway) -> Size {
    match gateway.settings.mode {
        Mode::Native => Size::Whole,
        Mode::Transparent | Mode::Gateway => Size::Firewall {
            inline_chars: gateway.settings.inline_chars,
            handle: Handle::fresh(gateway.clock.now()),
        },
    }
}

async fn keep(
    gateway: &Gateway,
    request: &CallRequest,
    clearing: &Clearing,
    entry: &Entry,
) -> Result<Vec<ArtifactRef>, Fault> {
    let mut kept = Vec::new();
    for blob in &clearing.blobs {
        let new = NewArtifact {
            handle: blob.handle.clone(),
            principal: request.caller.principal.to_string(),
            call_id: entry.record.call.call_id.clone(),
            kind: blob.kind,
            media_type: blob.media_type.clone(),
            label: blob.label.clone(),
            class: Class::default(),
            bytes: Bytes::from(blob.bytes.clone()),
        };
        kept.push(gateway.store.put_artifact(new).await?);
    }
    Ok(kept)
}
