//! Stage 11: what came back is checked, kept and cleaned before anybody reads it.

mod cite;
mod judge;
mod retell;

use bytes::Bytes;
use catalog::{Entry as Tool, menu::Mode};
use context::{Blob, Clearing, Rules, Size, clear};
use model::evidence::{Evidence, EvidenceKind};
use model::{Answer, ArtifactRef, CallId, Class, Fault, Finding, Handle, Outcome};
use store::NewArtifact;

use super::record::Entry;
use super::{CallRequest, Via};
use crate::gateway::Gateway;
use crate::{rounds, tasks};

/// An answer that may go out, and what was kept of it.
#[derive(Debug)]
pub(super) struct Inspected {
    pub(super) clearing: Clearing,
    pub(super) artifacts: Vec<ArtifactRef>,
    pub(super) outcome: Outcome,
    pub(super) evidence: Vec<Evidence>,
    pub(super) mutation_refs: Vec<String>,
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
    if !request.method.is_tool_call() && request.via == Via::Argument && !answer.is_interim() {
        return Box::pin(retold(gateway, request, tool, &answer, entry)).await;
    }
    if !request.method.is_tool_call() || answer.is_interim() {
        return pass(gateway, request, tool, answer, entry).await;
    }
    // Clients count on a list of content; some servers leave it out where they have none.
    if std::mem::take(&mut answer.bare) {
        answer.written = None;
    }
    entry.stage("output");
    judge::bounded(tool, &answer)?;
    let findings = judge::check(output, tool, &answer)?;
    entry.stage("evidence");
    let (evidence, outcome) = cite::fields(gateway, tool, &answer, entry, findings.is_empty());
    let mutation_refs = cite::mutations(gateway, tool, &answer);
    entry.stage("sanitise");
    let rules = Rules {
        source: &entry.provenance,
        profile: output.profile,
        size: size(gateway),
        redactor: &gateway.settings.redactor,
    };
    let mut clearing = clear(answer, &rules);
    judge::check_cleaned(tool, &clearing, findings.is_empty())?;
    let mut findings = findings;
    findings.append(&mut clearing.findings);
    entry.provenance.content_annotations = std::mem::take(&mut clearing.content_annotations);
    let blobs = std::mem::take(&mut clearing.blobs);
    let owner = Owner { request, call_id: &entry.record.call.call_id, class: class(tool) };
    let artifacts = keep(gateway, &owner, blobs, &evidence).await?;
    Ok(Inspected { clearing, artifacts, outcome, evidence, mutation_refs, findings })
}

/// What is no tool's last word: nothing to hold it against and nothing to cut, but cleaned all the
/// same.
async fn pass(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    mut answer: Answer,
    entry: &mut Entry,
) -> Result<Inspected, Fault> {
    entry.stage("sanitise");
    tasks::note(gateway, request, &mut answer, tool, &entry.record.call).await;
    let bound = entry.bound_to.take();
    let round = rounds::Sealing { upstream: &tool.item.key.upstream, bound, so_far: entry.so_far };
    rounds::seal(gateway, request, round, &mut answer).await?;
    let rules = Rules {
        source: &entry.provenance,
        profile: gateway.settings.output(&tool.item.key.upstream).profile,
        size: Size::Whole,
        redactor: &gateway.settings.redactor,
    };
    let (evidence, findings) = cite::resources(gateway, tool, &answer, entry);
    let clearing = clear(answer, &rules);
    let artifacts = Vec::new();
    let mutation_refs = Vec::new();
    Ok(Inspected { clearing, artifacts, outcome: Outcome::Ok, evidence, mutation_refs, findings })
}

/// What one of our own tools was asked to fetch: cut and kept like a tool's answer.
async fn retold(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    answer: &Answer,
    entry: &mut Entry,
) -> Result<Inspected, Fault> {
    entry.stage("sanitise");
    let rules = Rules {
        source: &entry.provenance,
        profile: gateway.settings.output(&tool.item.key.upstream).profile,
        size: size(gateway),
        redactor: &gateway.settings.redactor,
    };
    let (evidence, mut findings) = cite::resources(gateway, tool, answer, entry);
    let mut clearing = clear(retell::retell(&request.method, answer), &rules);
    findings.append(&mut clearing.findings);
    let blobs = std::mem::take(&mut clearing.blobs);
    let owner = Owner { request, call_id: &entry.record.call.call_id, class: class(tool) };
    let artifacts = keep(gateway, &owner, blobs, &evidence).await?;
    let mutation_refs = Vec::new();
    Ok(Inspected { clearing, artifacts, outcome: Outcome::Ok, evidence, mutation_refs, findings })
}

/// Only modes with a way to look into an artifact put one in the place of a long text.
fn size(gateway: &Gateway) -> Size {
    match gateway.mode() {
        Mode::Native => Size::Whole,
        Mode::Transparent | Mode::Gateway => Size::Firewall {
            inline_chars: gateway.settings.inline_chars,
            budget_tokens: gateway.settings.budget_tokens,
            handle: Handle::fresh(gateway.clock.now()),
        },
    }
}

/// How sensitive the manifest says the tool's answers are.
fn class(tool: &Tool) -> Class {
    tool.capability.as_ref().and_then(|capability| capability.data_class).unwrap_or_default()
}

/// Whose artifacts these become.
struct Owner<'a> {
    request: &'a CallRequest,
    call_id: &'a CallId,
    class: Class,
}

/// INVARIANT: what evidence rests on is kept for as long as the record that cites it.
async fn keep(
    gateway: &Gateway,
    owner: &Owner<'_>,
    blobs: Vec<Blob>,
    evidence: &[Evidence],
) -> Result<Vec<ArtifactRef>, Fault> {
    let caller = &owner.request.caller;
    let mut kept = Vec::new();
    for blob in blobs {
        let bytes = Bytes::from(blob.bytes);
        let new = NewArtifact {
            handle: blob.handle,
            cited: evidence.iter().any(|fact| rests_on(fact, blob.alias.as_ref())),
            alias: blob.alias,
            principal: caller.principal.account(),
            session: caller.session.as_ref().map(ToString::to_string),
            call_id: owner.call_id.clone(),
            kind: blob.kind,
            media_type: blob.media_type,
            label: blob.label,
            class: owner.class,
            bytes,
        };
        kept.push(Box::pin(gateway.store.put_artifact(new)).await?);
    }
    Ok(kept)
}

/// Evidence of an answer is taken from its structured content and nowhere else.
fn rests_on(fact: &Evidence, alias: Option<&Handle>) -> bool {
    let structured = alias.is_some_and(|a| a.as_str().ends_with(":structured_content"));
    fact.kind == EvidenceKind::ResultField && structured
}
