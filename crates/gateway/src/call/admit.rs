//! Stage 9: identity, rate, time and egress; then opening entry, approval and claim in one.
//!
//! After this stage an effect may happen, so everything that must survive a crash is durable here.

use std::time::Duration;

use catalog::Entry as Tool;
use model::{Answer, Code, Fault, Record, Timestamp};
use policy::Permit;
use store::{Claim, Opened, Opening, failpoint};
use tokio::sync::OwnedSemaphorePermit;

use super::again::Again;
use super::record::Entry;
use super::{CallRequest, claim};
use crate::gateway::Gateway;
use crate::pace::{Place, Rate, Rates};
use crate::runs::{self, Wish};

/// A call that may now be made, and how long it may take.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) permit: Permit,
    pub(super) timeout: Duration,
    pub(super) again: Again,
    /// The answer this key got before; then nothing is sent.
    pub(super) stored: Option<Answer>,
    pub(super) _place: OwnedSemaphorePermit,
    pub(super) _places: Vec<Place>,
}

pub(super) async fn admit(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    permit: Permit,
    claim: Option<Claim>,
    entry: &mut Entry,
) -> Result<Admitted, Fault> {
    entry.stage("identity");
    identity(request)?;
    entry.stage("limits");
    let now = gateway.clock.now();
    rate(gateway, request, tool, now)?;
    let place = gateway.pace.place()?;
    let places = rates(gateway, request, tool, now)?;
    session(gateway, request, tool).await?;
    budget(gateway, request, tool, &permit, entry).await?;
    let timeout = timeout(gateway, request, tool);
    entry.record.call.deadline = entry.record.call.started_at.after(timeout);
    egress(gateway, &permit)?;
    let stored = open(gateway, &permit, claim, entry).await?;
    let again = Again::new(tool, &permit, entry);
    Ok(Admitted { permit, timeout, again, stored, _place: place, _places: places })
}

/// What this stage would refuse, as things stand. Nothing is counted, taken or written.
pub(super) async fn foresee(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    permit: &Permit,
    entry: &mut Entry,
) -> Result<(), Fault> {
    entry.stage("identity");
    identity(request)?;
    entry.stage("limits");
    let (now, pace) = (gateway.clock.now(), &gateway.pace);
    let (who_on_what, per_minute) = rate_of(gateway, request, tool);
    pace.could_count(&who_on_what, per_minute, now)?;
    pace.place().map(drop)?;
    for_each_rate(gateway, request, tool, |rate, whose, what| {
        pace.could_take(rate, whose, what, now)
    })?;
    if let Some(runs) = &gateway.runs {
        let key = tool.item.key.to_string();
        let wish = Wish { writes: permit.effect().is_write(), ..wish(&key, request, tool, entry) };
        let foreseen = Box::pin(runs.foresee(&runs::key(request), wish, now)).await;
        foreseen.map_err(|fault| fault.at(&tool.shown_name))?;
    }
    egress(gateway, permit)
}

/// Somebody must answer for the call.
fn identity(request: &CallRequest) -> Result<(), Fault> {
    if request.caller.principal.id.is_empty() {
        return Err(Fault::new(Code::AuthRequired, "nobody is named as the caller"));
    }
    Ok(())
}

fn rate(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    now: Timestamp,
) -> Result<(), Fault> {
    let (who_on_what, per_minute) = rate_of(gateway, request, tool);
    gateway.pace.count(&who_on_what, per_minute, now)
}

/// Who calls what, and how often that may be.
fn rate_of(gateway: &Gateway, request: &CallRequest, tool: &Tool) -> (String, u32) {
    let declared = tool.capability.as_ref().and_then(|capability| capability.limits.per_minute);
    let per_minute = declared.unwrap_or(gateway.settings.calls_per_minute);
    let (who, key) = (request.caller.principal.account(), &tool.item.key);
    ([&who, " ", key.upstream.as_str(), "/", &key.name].concat(), per_minute)
}

fn rates(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    now: Timestamp,
) -> Result<Vec<Place>, Fault> {
    let mut places = Vec::new();
    for_each_rate(gateway, request, tool, |rate, whose, what| {
        places.extend(gateway.pace.take(rate, whose, what, now)?);
        Ok(())
    })?;
    Ok(places)
}

/// Bounds on the caller, the tool and the upstream, each where it is set.
fn for_each_rate(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    mut work: impl FnMut(Rate, &str, &str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let Rates { per_caller, per_tool, per_upstream } = gateway.settings.rates;
    let mut each = |rate: Rate, whose: &dyn Fn() -> String, what: &str| {
        if rate == Rate::default() { Ok(()) } else { work(rate, &whose(), what) }
    };
    let principal = &request.caller.principal;
    let tenant = principal.tenant_id.as_deref().unwrap_or_default();
    each(per_caller, &|| format!("caller {tenant}/{principal}"), "of this caller")?;
    each(per_tool, &|| format!("tool {}", tool.item.key), "of this tool by all")?;
    each(per_upstream, &|| format!("upstream {}", tool.item.key.upstream), "of this upstream")
}

/// Calls of this tool in one session, where its manifest bounds them. They are counted in the store:
/// neither a restart nor another gate gives any back.
async fn session(gateway: &Gateway, request: &CallRequest, tool: &Tool) -> Result<(), Fault> {
    let declared = tool.capability.as_ref().and_then(|capability| capability.limits.per_session);
    let Some(most) = declared.filter(|_| request.method.is_tool_call()) else { return Ok(()) };
    let key = format!("{} {}", runs::session(request), tool.item.key);
    let count = move |turn: &mut store::Turn| {
        if turn.spending.calls >= u64::from(most) {
            let message = format!("the manifest allows {most} calls of this tool in a session");
            return Err(Fault::new(Code::BudgetExceeded, message));
        }
        turn.spending.calls += 1;
        Ok(())
    };
    let counted = Box::pin(gateway.store.spend(&key, None, count)).await;
    counted.map_err(|fault| fault.at(&tool.shown_name))
}

/// What the run may still use. Counted from here on, whatever comes of the call.
async fn budget(
    gateway: &Gateway,
    request: &CallRequest,
    tool: &Tool,
    permit: &Permit,
    entry: &mut Entry,
) -> Result<(), Fault> {
    let Some(runs) = &gateway.runs else { return Ok(()) };
    let key = tool.item.key.to_string();
    let wish = Wish { writes: permit.effect().is_write(), ..wish(&key, request, tool, entry) };
    let run = runs::key(request);
    let admitted = Box::pin(runs.admit(&run, wish, gateway.clock.now())).await;
    admitted.map_err(|fault| fault.at(&tool.shown_name))?;
    entry.run = Some((run, key));
    Ok(())
}

/// The call as budgets see it, before anybody has permitted it.
pub(super) fn wish<'a>(
    key: &'a str,
    request: &CallRequest,
    tool: &Tool,
    entry: &'a Entry,
) -> Wish<'a> {
    let declared = tool.capability.as_ref();
    let writes =
        !request.method.only_looks() && declared.is_none_or(manifest::Capability::is_write);
    Wish { tool: key, args_hash: &entry.record.call.args_hash, writes }
}

/// The shortest patience of caller, manifest, upstream and gate.
fn timeout(gateway: &Gateway, request: &CallRequest, tool: &Tool) -> Duration {
    let declared = tool.capability.as_ref().and_then(|capability| capability.limits.timeout_ms);
    let member = gateway.upstreams.member(&tool.item.key.upstream);
    let upstream = member.and_then(|member| member.timeout_of(&tool.item.key.name));
    let ours = upstream.unwrap_or(gateway.settings.call_timeout);
    [request.timeout, declared.map(Duration::from_millis)]
        .into_iter()
        .flatten()
        .fold(ours, Duration::min)
}

/// The upstream's host must be one the operator lets calls reach.
fn egress(gateway: &Gateway, permit: &Permit) -> Result<(), Fault> {
    let Some(allowed) = &gateway.settings.egress_allow else { return Ok(()) };
    let member = gateway.upstreams.member(permit.upstream());
    let Some(host) = member.and_then(|member| member.connector.endpoint_host()) else {
        return Ok(());
    };
    if allowed.iter().any(|pattern| host_matches(pattern, host)) {
        return Ok(());
    }
    Err(Fault::new(Code::EgressDenied, format!("calls may not reach `{host}`")).at(permit.tool()))
}

pub(crate) fn host_matches(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (pattern.to_ascii_lowercase(), host.to_ascii_lowercase());
    match pattern.strip_prefix("*.") {
        Some(suffix) => host.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.')),
        None => pattern == host,
    }
}

/// Makes opening, approval and claim durable together, where an effect may follow.
async fn open(
    gateway: &Gateway,
    permit: &Permit,
    claim: Option<Claim>,
    entry: &mut Entry,
) -> Result<Option<Answer>, Fault> {
    let redeem = permit.approval_id().cloned();
    if !permit.effect().is_write() && redeem.is_none() && claim.is_none() {
        entry.only_reads = true;
        return Ok(None);
    }
    let opening = Opening { record: Record::clone(&entry.record), redeem, claim: claim.clone() };
    let opened = Box::pin(open_patiently(gateway, opening)).await?;
    failpoint::pass("call.opened");
    match opened {
        Opened::Stored(answer) => Ok(Some(answer)),
        Opened::Fresh => {
            entry.claim = claim;
            Ok(None)
        }
    }
}

/// Two calls with one key may both have found it free: the second waits for the first.
async fn open_patiently(gateway: &Gateway, opening: Opening) -> Result<Opened, Fault> {
    loop {
        let fault = match gateway.store.open_record(opening.clone()).await {
            Err(fault) if claim::is_running(&fault) => fault,
            other => return other,
        };
        let Some(claim) = &opening.claim else { return Err(fault) };
        if gateway.settings.in_flight_wait.is_zero() {
            return Err(fault);
        }
        if let Some(answer) = claim::patiently(gateway, claim).await? {
            return Ok(Opened::Stored(answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_allowed_by_name_or_by_suffix() {
        let check = |pattern: &str, host: &str, matches: bool| {
            assert_eq!(host_matches(pattern, host), matches, "{pattern} {host}");
        };
        check("api.example.com", "API.example.com", true);
        check("api.example.com", "evil-api.example.com", false);
        check("*.example.com", "api.example.com", true);
        check("*.example.com", "a.b.example.com", true);
        check("*.example.com", "example.com", false);
        check("*.example.com", "badexample.com", false);
    }
}
