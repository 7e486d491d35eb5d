//! Between 7 and 8: the key that keeps a call from taking effect twice.
//!
//! Looked up before a human is asked: a client that lost an answer and tries again must get that
//! answer, not a second question. The key is taken later, together with the opening entry.

use std::time::Duration;

use catalog::Entry as Tool;
use manifest::DedupScope;
use model::{Answer, Code, Fault};
use store::Claim;

use super::CallRequest;
use super::record::Entry;
use crate::gateway::Gateway;

/// The claim this call will make, with a key from the envelope or the arguments.
pub(super) fn claim(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
) -> Result<Option<Claim>, Fault> {
    let Some(rule) =
        tool.capability.as_ref().and_then(|capability| capability.idempotency.as_ref())
    else {
        return Ok(None);
    };
    let arg = rule.arg.as_deref().unwrap_or("idempotency_key");
    let in_args = request.args.get(arg).and_then(serde_json::Value::as_str).map(str::to_owned);
    let key = match (request.idempotency_key.clone(), in_args) {
        (Some(outer), Some(inner)) if outer != inner => {
            let message = format!("the call's key and its argument `{arg}` differ");
            return Err(Fault::new(Code::ArgsInvalid, message).at(&tool.shown_name));
        }
        (outer, inner) => outer.or(inner),
    };
    let Some(key) = key else {
        let missing =
            Fault::new(Code::IdempotencyMissing, format!("this call needs a key in `{arg}`"));
        return if rule.required { Err(missing.at(&tool.shown_name)) } else { Ok(None) };
    };
    let principal = &request.caller.principal;
    let tenant = principal.tenant_id.clone().unwrap_or_default();
    let owner = match rule.scope {
        DedupScope::Principal => format!("{tenant}/{principal}"),
        DedupScope::Tenant => tenant,
        DedupScope::Global => String::new(),
    };
    Ok(Some(Claim {
        scope: format!("{owner} {}", tool.item.key),
        key,
        args_hash: model::canonical::hash(&request.args),
        expires_at: gateway.clock.now().after(Duration::from_secs(rule.dedup_window_seconds)),
    }))
}

/// What this key was answered with before, if it was.
pub(super) async fn recall(
    gateway: &Gateway,
    claim: Option<&Claim>,
    entry: &mut Entry,
) -> Result<Option<Answer>, Fault> {
    let Some(claim) = claim else { return Ok(None) };
    entry.record.call.idempotency_key = Some(claim.key.clone());
    let stored = gateway.store.recall(claim).await?;
    if stored.is_some() {
        entry.stage("stored");
        entry.deduplicated = true;
    }
    Ok(stored)
}
