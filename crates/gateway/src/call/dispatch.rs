//! Stage 10: the permit goes to its upstream, within the time and until the caller gives up.

use std::sync::Arc;
use std::time::Instant;

use model::{Answer, Code, Fault, trace};
use policy::Permit;
use serde_json::{Map, Value};
use store::failpoint;
use upstream::Errand;

use super::admit::Admitted;
use super::again::Again;
use super::measure::Status;
use super::record::Entry;
use super::{CallRequest, Watch, keep};
use crate::gateway::Gateway;
use crate::questions::{self, Judge, Patience};

/// Where a key travels in `_meta`, from clients to us and from us to upstreams.
const META_KEY: &str = "toolgate/idempotency_key";

/// Makes the call: one attempt, and more only as its capability says. A key that was answered before
/// makes none.
pub(super) async fn dispatch(
    gateway: &Gateway,
    request: &CallRequest,
    admitted: &mut Admitted,
    watch: &Watch,
    entry: &mut Entry,
) -> Result<Answer, Fault> {
    if let Some(answer) = admitted.stored.take() {
        keep::given_again(gateway, &answer, entry);
        return Ok(answer);
    }
    entry.stage("invoke");
    entry.findings.extend_from_slice(&request.noted);
    let traceparent = traceparent(gateway, request, entry);
    let policy = Arc::clone(&entry.rules);
    let judge = |permit: &Permit| Judge::new(gateway, request, permit, policy.hash());
    // A client that answers nothing is asked nothing.
    let asked = request.client.answers().then(|| Arc::new(judge(&admitted.permit)));
    let errand = Errand {
        cancel: watch.cancel.clone(),
        timeout: admitted.timeout,
        idempotency_key: entry.key.clone(),
        news: watch.news.as_ref().map(|news| crate::news::listener(gateway, news, asked.as_ref())),
        owner: request.caller.principal.account(),
        client: Arc::clone(&request.client),
        report: watch.progress,
        time: Arc::default(),
        course: Arc::default(),
        meta: meta(request, &admitted.permit, traceparent.as_deref(), entry),
        traceparent,
    };
    if let Some(claim) = &entry.claim {
        gateway.store.dispatch(claim, &entry.record.record_id).await?;
    }
    failpoint::pass("call.dispatched");
    let began = Instant::now();
    entry.dispatched = true;
    // If the gate stops first, the call is dropped and its connector tells the upstream.
    let answer = tokio::select! {
        answer = attempts(gateway, &admitted.permit, &mut admitted.again, &errand) => answer,
        () = gateway.stopping().cancelled() => {
            Err(Fault::new(Code::Cancelled, "the gate closed before the upstream answered"))
        }
    };
    entry.findings.extend(asked.as_ref().map(|judge| judge.told()).unwrap_or_default());
    entry.repeats = admitted.again.repeats();
    entry.upstream_status = Some(Status::of(answer.as_ref(), errand.http_status()));
    entry.upstream_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    match answer {
        Ok(mut answer) => {
            failpoint::pass("call.answered");
            // A task's questions come with the look at it.
            let asks = || answer.task_id().is_some() && answer.rest.contains_key("inputRequests");
            if answer.is_interim() || asks() {
                let judge = judge(&admitted.permit);
                let fitting = Box::pin(in_rounds(&judge, &mut answer)).await;
                entry.findings.extend(judge.told());
                entry.so_far = judge.so_far();
                fitting?;
            }
            keep::answer(gateway, &answer, entry);
            Ok(answer)
        }
        Err(fault) => {
            let doubted = is_doubtful(&fault, admitted.permit.effect().is_write());
            let fault = match questions::in_refusal(&fault) {
                visits if visits.is_empty() => fault,
                visits => {
                    let judge = judge(&admitted.permit);
                    let fault = Box::pin(sent_away(&judge, request, visits, fault)).await;
                    entry.findings.extend(judge.told());
                    fault
                }
            };
            Err(if doubted { fault.indeterminate() } else { fault })
        }
    }
}

/// A refusal until its user has been somewhere, as far as the client may be told where. Only clients
/// that wait get it; others are asked.
async fn sent_away(
    judge: &Judge,
    request: &CallRequest,
    visits: Vec<Map<String, Value>>,
    refusal: Fault,
) -> Fault {
    const METHOD: &str = "elicitation/create";
    for params in visits {
        let settled = match judge.weigh(METHOD, &params) {
            _ if !request.client.can_answer(METHOD, &params) => {
                Err(Fault::new(Code::UpstreamError, "this client cannot be sent there"))
            }
            Ok(due) => judge.settle(due, METHOD, &params, Patience::None).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = settled {
            let why = &fault.message;
            let message = format!(
                "the upstream wants its user to visit an address first, not passed on: {why}"
            );
            return Fault { message, upstream: None, ..refusal };
        }
        judge.asked(METHOD, params);
    }
    refusal
}

/// What an answer that is not the last asks of a client that takes part in rounds.
async fn in_rounds(judge: &Judge, answer: &mut Answer) -> Result<(), Fault> {
    judge.begin_round()?;
    // What is asked may be changed on its way.
    answer.written = None;
    for (method, params) in questions::in_answer(&mut answer.rest) {
        let settled = match judge.weigh(&method, params) {
            Ok(due) => judge.settle(due, &method, params, Patience::None).await,
            Err(fault) => Err(fault),
        };
        settled.map_err(|fault| {
            let why = &fault.message;
            let message = format!("the upstream asks for `{method}`, not passed on: {why}");
            Fault { message, ..fault }
        })?;
        let asked = judge.asked(&method, std::mem::take(params));
        *params = asked;
    }
    Ok(())
}

/// Each attempt has the whole time, and the caller may give up during the pause, too.
async fn attempts(
    gateway: &Gateway,
    permit: &Permit,
    again: &mut Again,
    errand: &Errand,
) -> Result<Answer, Fault> {
    let mut doubted = false;
    loop {
        let fault = match make(gateway, permit, errand).await {
            // Whatever the last attempt came to, an earlier one may have taken effect.
            Err(fault) if doubted => fault.indeterminate(),
            Err(fault) => fault,
            answer => return answer,
        };
        doubted |= is_doubtful(&fault, permit.effect().is_write());
        let Some(pause) = again.after(&fault, permit, gateway) else {
            return Err(fault);
        };
        tracing::info!(%fault, pause_ms = pause.as_millis(), "a call is made again");
        let given_up = errand.cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_none();
        if given_up {
            return Err(Fault::new(Code::Cancelled, "the caller cancelled this call"));
        }
    }
}

/// A tool's answer has a shape of its own; every other result is passed on as it is.
async fn make(gateway: &Gateway, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
    if permit.method().is_tool_call() {
        return gateway.upstreams.call(permit, errand).await;
    }
    gateway.upstreams.ask(permit, errand).await
}

/// Our span as the parent of the upstream's, for whoever follows traces.
fn traceparent(gateway: &Gateway, request: &CallRequest, entry: &Entry) -> Option<String> {
    let followed = request.trace.is_some() || gateway.settings.spans.is_some();
    followed.then(|| trace::traceparent(&entry.record.call, request.trace.as_ref()))
}

/// What the client sent along, our place in its trace, and the key, for upstreams that guard against
/// repeats themselves. Nobody was shown what the client sends along, so a call that somebody approved
/// goes without it.
fn meta(
    request: &CallRequest,
    permit: &Permit,
    traceparent: Option<&str>,
    entry: &Entry,
) -> Map<String, Value> {
    let key = entry.key.as_deref();
    let ours = [("traceparent", traceparent), (META_KEY, key)];
    let ours = ours
        .into_iter()
        .filter_map(|(key, value)| value.map(|value| (key.to_owned(), value.into())));
    let mut meta = if permit.approval_id().is_none() { request.meta.clone() } else { Map::new() };
    meta.extend(ours);
    meta
}

/// A write that got no answer, or none that can be read, may have happened all the same.
fn is_doubtful(fault: &Fault, writes: bool) -> bool {
    let unanswered = match fault.code {
        Code::UpstreamTimeout | Code::UpstreamUnavailable | Code::Cancelled => true,
        // Its own words in the protocol's channel, and a status that says no, are answers.
        Code::UpstreamError => fault.upstream.is_none() && !says_no(fault),
        _ => fault.indeterminate,
    };
    writes && unanswered
}

/// Whether the upstream turned the request itself down, by a status below 500.
fn says_no(fault: &Fault) -> bool {
    let status = fault.details.get("status").and_then(Value::as_u64);
    status.is_some_and(|status| status < 500)
}
