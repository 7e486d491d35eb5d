//! What of an answer a decision may cite: fields the manifest names, and resources that were read.

use catalog::Entry as Tool;
use context::{ResourceRead, Witness};
use model::evidence::{Evidence, EvidenceSource, Freshness, FreshnessKind, Integrity};
use model::{Answer, Class, Finding, Outcome, glob};
use serde_json::Value;

use super::class;
use crate::call::record::Entry;
use crate::gateway::Gateway;

/// The facts the manifest wants cited, and whether every one of them is there.
pub(super) fn fields(
    gateway: &Gateway,
    tool: &Tool,
    answer: &Answer,
    entry: &Entry,
    valid: bool,
) -> (Vec<Evidence>, Outcome) {
    let wanted = tool.capability.as_ref().map(|c| c.evidence_keys.as_slice()).unwrap_or_default();
    if wanted.is_empty() {
        return (Vec::new(), Outcome::Ok);
    }
    let integrity =
        if valid && tool.has_output_schema() { Integrity::Verified } else { Integrity::Unverified };
    let witness = witness(gateway, tool, entry, class(tool), integrity);
    let found = context::evidence(answer.structured.as_ref(), wanted, &witness);
    let outcome = if found.len() == wanted.len() { Outcome::Ok } else { Outcome::Partial };
    (found, outcome)
}

/// What a write says it has made or changed, where its manifest says how it says so.
pub(super) fn mutations(gateway: &Gateway, tool: &Tool, answer: &Answer) -> Vec<String> {
    let keys = tool.capability.as_ref().map(|c| c.mutation_keys.as_slice()).unwrap_or_default();
    if keys.is_empty() || answer.is_error {
        return Vec::new();
    }
    context::mutation_refs(answer.structured.as_ref(), keys, &gateway.settings.redactor)
}

/// What was read of resources, and what is odd about it.
pub(super) fn resources(
    gateway: &Gateway,
    tool: &Tool,
    answer: &Answer,
    entry: &Entry,
) -> (Vec<Evidence>, Vec<Finding>) {
    let contents = answer.rest.get("contents").and_then(Value::as_array);
    let (mut evidence, mut findings) = (Vec::new(), Vec::new());
    for content in contents.into_iter().flatten() {
        let uri = content.get("uri").and_then(Value::as_str).unwrap_or_default();
        let (class, bytes_max) = rule(gateway, tool, uri);
        let witness = witness(gateway, tool, entry, class, Integrity::Unverified);
        if let Some(ResourceRead { evidence: fact, findings: odd, .. }) =
            context::resource(content, &witness, bytes_max)
        {
            evidence.push(fact);
            findings.extend(odd);
        }
    }
    (evidence, findings)
}

/// How sensitive the manifest says a resource is, and how long it may be.
fn rule(gateway: &Gateway, tool: &Tool, uri: &str) -> (Class, Option<u64>) {
    let manifest = gateway.manifest(&tool.item.key.upstream);
    let rules = manifest.iter().flat_map(|manifest| &manifest.resources);
    let mut fitting = rules.filter(|rule| glob::matches(&rule.uri_pattern, uri));
    fitting.next().map_or((Class::default(), None), |rule| (rule.class, rule.max_bytes))
}

fn witness<'g>(
    gateway: &'g Gateway,
    tool: &Tool,
    entry: &Entry,
    class: Class,
    integrity: Integrity,
) -> Witness<'g> {
    let call = &entry.record.call;
    let value = gateway.clock.now().to_string();
    Witness {
        source: EvidenceSource {
            upstream: tool.item.key.upstream.clone(),
            uri: None,
            capability_id: call.capability_id.clone(),
            call_id: call.call_id.clone(),
        },
        freshness: Some(Freshness { kind: FreshnessKind::Timestamp, value }),
        class,
        integrity,
        redactor: &gateway.settings.redactor,
    }
}
