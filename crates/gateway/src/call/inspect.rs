//! Stage 11: what came back is checked, kept and cleaned before anybody reads it.

use bytes::Bytes;
use catalog::{Entry as Tool, menu::Mode};
use context::{Clearing, Profile, Rules, Size, clear};
use model::{Answer, ArtifactRef, Class, Code, Fault, Handle, Outcome, Violation};
use store::NewArtifact;

use super::CallRequest;
use super::record::Entry;
use crate::gateway::Gateway;
use crate::settings::OutputCheck;

/// An answer that may go out, and what was kept of it.
#[derive(Debug)]
pub(super) struct Inspected {
    pub(super) clearing: Clearing,
    pub(super) artifacts: Vec<ArtifactRef>,
    pub(super) outcome: Outcome,
}

pub(super) async fn inspect(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    answer: Answer,
    entry: &mut Entry,
) -> Result<Inspected, Fault> {
    entry.stage("output");
    check_output(gateway, tool, &answer)?;
    entry.stage("evidence");
    let outcome = evidence(tool, &answer);
    entry.stage("sanitise");
    let rules = Rules { source: &entry.provenance, profile: Profile::Plain, size: size(gateway) };
    let clearing = clear(answer, &rules);
    let artifacts = keep(gateway, request, &clearing, entry).await?;
    Ok(Inspected { clearing, artifacts, outcome })
}

/// Holds the answer against the tool's output schema. A tool's own error answer has none.
fn check_output(gateway: &Gateway, tool: &Tool, answer: &Answer) -> Result<(), Fault> {
    if answer.is_error {
        return Ok(());
    }
    let broken: Vec<Violation> = tool.check_output(answer.structured.as_ref());
    let Some(first) = broken.first() else { return Ok(()) };
    let tool_name = tool.shown_name.as_str();
    match gateway.settings.output_check {
        OutputCheck::Warn => {
            tracing::warn!(
                tool.name = tool_name,
                violation = first.message,
                "output breaks its schema"
            );
            Ok(())
        }
        OutputCheck::Block => Err(Fault::new(
            Code::OutputInvalid,
            format!("the tool ran, but its answer breaks its output schema: {}", first.message),
        )
        .at(tool_name)
        .violating(broken)),
    }
}

/// Whether every fact the manifest wants cited is in the answer.
fn evidence(tool: &Tool, answer: &Answer) -> Outcome {
    let wanted = tool.capability.as_ref().map(|c| c.evidence_keys.as_slice()).unwrap_or_default();
    let given = |key: &String| answer.structured.as_ref().is_some_and(|s| s.get(key).is_some());
    if wanted.iter().all(given) { Outcome::Ok } else { Outcome::Partial }
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
