//! Between 7 and 8: the key that keeps a call from taking effect twice.
//!
//! Looked up before a human is asked: a client that lost an answer and tries again must get that
//! answer, not a second question. The key is taken later, together with the opening entry.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use catalog::Entry as Tool;
use manifest::{DedupScope, Idempotency};
use model::{Answer, Code, Fault};
use serde_json::Value;
use store::Claim;

use super::record::Entry;
use super::{CallRequest, keep, oblige};
use crate::gateway::Gateway;

/// Between two looks at a key that another call holds.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// What holds for a tool whose manifest says nothing of keys, or that has none.
static USUAL: LazyLock<Idempotency> = LazyLock::new(Idempotency::default);

/// The call with its key in the argument that the tool declares for it (C35), if it stands only in
/// the envelope. Done before anything is judged: what is sent is what was judged.
pub(super) fn with_key(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    entry: &mut Entry,
) -> Option<CallRequest> {
    let arg = declared(tool)?.arg.as_ref()?;
    let key = request.idempotency_key.as_ref()?;
    let mut args = request.args.as_object().filter(|args| !args.contains_key(arg))?.clone();
    args.insert(arg.clone(), key.as_str().into());
    entry.bound_to = request.client.rounds.then(|| crate::rounds::bound_to(request));
    let written = request.written.as_deref().and_then(|text| with_field(text, arg, key));
    let keyed = CallRequest { args: args.into(), written, ..request.clone() };
    entry.record.call.args_hash = model::canonical::hash(&keyed.args);
    keep::arguments(gateway, &keyed.args, entry);
    Some(keyed)
}

/// The text of an object with one more field, as the value above has it.
fn with_field(object: &str, name: &str, text: &str) -> Option<String> {
    let head = object.trim_end().strip_suffix('}')?;
    let comma = if head.trim_end().ends_with('{') { "" } else { "," };
    Some(format!("{head}{comma}{}:{}}}", Value::from(name), Value::from(text)))
}

/// The claim this call will make, with a key from the envelope or the arguments.
pub(super) fn claim(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    entry: &mut Entry,
) -> Result<Option<Claim>, Fault> {
    let rule = rule(request, tool, entry).filter(|_| request.method.is_tool_call());
    let Some(rule) = rule else { return Ok(None) };
    entry.stage("idempotency");
    let Some(key) = key(request, rule).map_err(|fault| fault.at(&tool.shown_name))? else {
        return Ok(None);
    };
    let claim = Claim {
        scope: format!("{} {}", owner(request, rule), tool.item.key),
        secret: matches!(gateway.settings.redactor.redact(&key), Cow::Owned(_)),
        key: key.clone(),
        args_hash: model::canonical::hash(&request.args),
        expires_at: gateway.clock.now().after(Duration::from_secs(rule.dedup_window_seconds)),
    };
    entry.record.call.idempotency_key = Some(claim.kept().into_owned());
    entry.record.redacted |= claim.secret;
    entry.key = Some(key);
    // What only reads may be read anew; the key goes on to whoever makes something of it.
    let repeatable = declared(tool).is_none() && !may_write(tool);
    Ok((!repeatable).then_some(claim))
}

/// What this key was answered with before, if it was.
///
/// Only for keys of the caller's own: an answer that others could share must not go out before this
/// caller has passed the gate too.
pub(super) async fn recall(
    gateway: &Gateway,
    tool: &Tool,
    claim: Option<&Claim>,
    entry: &mut Entry,
) -> Result<Option<Answer>, Fault> {
    let own = declared(tool).unwrap_or(&USUAL).scope == DedupScope::Principal;
    let Some(claim) = claim.filter(|_| own) else { return Ok(None) };
    let stored = Box::pin(patiently(gateway, claim)).await?;
    if let Some(answer) = &stored {
        keep::given_again(gateway, answer, entry);
    }
    Ok(stored)
}

/// Waits a while for a call with the same key that is under way.
pub(super) async fn patiently(gateway: &Gateway, claim: &Claim) -> Result<Option<Answer>, Fault> {
    let until = Instant::now() + gateway.settings.in_flight_wait;
    loop {
        match gateway.store.recall(claim).await {
            Err(fault) if is_running(&fault) && Instant::now() < until => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            other => return other,
        }
    }
}

pub(super) fn is_running(fault: &Fault) -> bool {
    fault.details.get("state").is_some_and(|state| state == "running")
}

/// The manifest's rule; the usual one where it has none and the call comes with a key, or must.
fn rule<'t>(request: &CallRequest, tool: &'t Tool, entry: &Entry) -> Option<&'t Idempotency> {
    let owed = || entry.record.decision.as_ref().is_some_and(oblige::owes_key);
    declared(tool).or_else(|| (request.idempotency_key.is_some() || owed()).then_some(&*USUAL))
}

fn declared(tool: &Tool) -> Option<&Idempotency> {
    tool.capability.as_ref()?.idempotency.as_ref()
}

fn may_write(tool: &Tool) -> bool {
    tool.capability.as_ref().is_none_or(manifest::Capability::is_write)
}

fn key(request: &CallRequest, rule: &Idempotency) -> Result<Option<String>, Fault> {
    let arg = rule.arg.as_deref().unwrap_or("idempotency_key");
    let in_args = request.args.get(arg).and_then(Value::as_str).map(str::to_owned);
    let key = match (request.idempotency_key.clone(), in_args) {
        (Some(outer), Some(inner)) if outer != inner => {
            let message = format!("the call's key and its argument `{arg}` differ");
            return Err(Fault::new(Code::ArgsInvalid, message));
        }
        (outer, inner) => outer.or(inner),
    };
    match (&key, &rule.key_pattern) {
        (None, _) if rule.required => {
            Err(Fault::new(Code::IdempotencyMissing, format!("this call needs a key in `{arg}`")))
        }
        (Some(given), Some(pattern)) if !pattern.is_match(given) => {
            let message = format!("the key in `{arg}` must match `{}`", pattern.as_str());
            Err(Fault::new(Code::ArgsInvalid, message))
        }
        _ => Ok(key),
    }
}

/// Whose keys can meet this one.
fn owner(request: &CallRequest, rule: &Idempotency) -> String {
    let principal = &request.caller.principal;
    let tenant = principal.tenant_id.clone().unwrap_or_default();
    match rule.scope {
        DedupScope::Principal => format!("{tenant}/{principal}"),
        DedupScope::Tenant => tenant,
        DedupScope::Global => String::new(),
    }
}
