//! What of a call is kept for ever: arguments and answer without secrets, and not too much.

use std::borrow::Cow;

use context::{holds_secret, without_secrets};
use model::fault::one_line;
use model::{Answer, Item, ItemKey, ItemKind, RunId, canonical};
use serde_json::Value;

use super::CallRequest;
use super::record::Entry;
use crate::gateway::Gateway;
use crate::settings::Reads;

/// What is kept of the name a caller asked for.
pub(super) const NAME_CHARS_MAX: usize = 256;

/// Takes the secrets out of the arguments on record. Their hash stays that of what was sent.
pub(super) fn arguments(gateway: &Gateway, args: &Value, entry: &mut Entry) {
    let (kept, redacted) = without_secrets(args, &gateway.settings.redactor);
    entry.record.call.args = kept;
    entry.record.redacted |= redacted;
}

/// The same for whatever else the caller says: an address may carry a token, and so may any name.
pub(super) fn words(gateway: &Gateway, request: &CallRequest, entry: &mut Entry) {
    let redactor = &gateway.settings.redactor;
    let call = &mut entry.record.call;
    let mut found = false;
    if let Cow::Owned(clean) = redactor.redact(&request.name) {
        call.asked_name = one_line(&clean, NAME_CHARS_MAX);
        found = true;
    }
    let said = call.intent.iter_mut().chain(&mut call.method).chain(&mut call.evidence_refs);
    for text in said {
        if let Cow::Owned(clean) = redactor.redact(text) {
            *text = clean;
            found = true;
        }
    }
    if let Some(Cow::Owned(_)) = request.run_id.as_deref().map(|run| redactor.redact(run)) {
        // Two runs that differ in a secret alone are still two.
        let whole = request.run_id.as_deref().unwrap_or_default();
        call.run_id = RunId::from_string(format!("sha256:{}", canonical::hash(&whole.into())));
        found = true;
    }
    entry.record.redacted |= found;
}

/// Notes what the call is about. The names of tools are their upstreams' own; an address that nobody
/// need have listed is the caller's word, and one that was listed may hold a password.
pub(super) fn item(gateway: &Gateway, item: &Item, entry: &mut Entry) {
    let redactor = &gateway.settings.redactor;
    let ItemKey { upstream, name, kind } = &item.key;
    let clean = |text: &str| match kind {
        ItemKind::Tool => text.to_owned(),
        _ => redactor.redact(text).into_owned(),
    };
    let kept = ItemKey { upstream: upstream.clone(), name: clean(name), kind: *kind };
    entry.provenance.upstream = upstream.text();
    entry.provenance.tool = clean(&item.name).into();
    entry.record.redacted |= kept.name != *name;
    entry.record.call.item_key = Some(kept);
}

/// Notes that this is the answer of an earlier call, and keeps it like one of its own.
pub(super) fn given_again(gateway: &Gateway, given: &Answer, entry: &mut Entry) {
    entry.stage("stored");
    entry.deduplicated = true;
    answer(gateway, given, entry);
}

/// Keeps the answer with the record, so that it can be replayed, unless it is too long; and, however
/// long, for whoever sends the same key again, who may read no secret in it either.
pub(super) fn answer(gateway: &Gateway, answer: &Answer, entry: &mut Entry) {
    let max = gateway.settings.answer_bytes;
    let unrecorded = gateway.settings.reads == Reads::Skip && entry.only_reads;
    let replayed = !unrecorded && answer_weight(answer, max) <= max;
    if !replayed && entry.claim.is_none() {
        return;
    }
    let (kept, redacted) = clean(gateway, answer);
    entry.answer = entry.claim.is_some().then(|| kept.clone());
    if replayed {
        entry.record.answer = Some(kept);
        entry.record.redacted |= redacted;
    }
}

/// The answer without its secrets, and whether there were any. Without any it stays as its upstream
/// wrote it, to the digit.
fn clean(gateway: &Gateway, answer: &Answer) -> (Answer, bool) {
    let redactor = &gateway.settings.redactor;
    let parts = answer.content.iter().chain(&answer.structured).chain(answer.rest.values());
    if !parts.into_iter().any(|part| holds_secret(part, redactor)) {
        return (answer.clone(), false);
    }
    let keep = |value: &Value| without_secrets(value, redactor).0;
    let kept = Answer {
        content: answer.content.iter().map(keep).collect(),
        structured: answer.structured.as_ref().map(keep),
        is_error: answer.is_error,
        rest: answer.rest.iter().map(|(key, value)| (key.clone(), keep(value))).collect(),
        bare: answer.bare,
        places: answer.places,
        written: None,
    };
    (kept, true)
}

fn answer_weight(answer: &Answer, max: usize) -> usize {
    let parts = answer.content.iter().chain(&answer.structured).map(|value| (0, value));
    sum(parts.chain(answer.rest.iter().map(|(key, value)| (key.len() + 4, value))), max)
}

/// Roughly the bytes of the value in JSON; counting ends once there are more than `max`.
fn weight(value: &Value, max: usize) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => sum(items.iter().map(|item| (0, item)), max),
        Value::Object(fields) => sum(fields.iter().map(|(key, field)| (key.len() + 4, field)), max),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

fn sum<'v>(parts: impl Iterator<Item = (usize, &'v Value)>, max: usize) -> usize {
    let mut bytes = 2_usize;
    for (name, part) in parts {
        bytes = bytes.saturating_add(name).saturating_add(weight(part, max));
        if bytes > max {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_answers_weigh_more_than_the_bound() {
        assert!(weight(&json!({"a": "short"}), 100) < 100);
        assert!(weight(&json!({"a": ["x".repeat(60), "y".repeat(60)]}), 100) > 100);
    }
}
