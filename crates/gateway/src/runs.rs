//! What each run may use, and the call too many. Counted in the store, by every gate on it together,
//! and only where a budget is set.
//!
//! A call without a run counts towards the run that its caller and session are.

use std::sync::Arc;

use model::run::{RunBudget, Spending};
use model::{Code, Fault, Timestamp, canonical};
use policy::Spent;
use store::{Store, Turn};

use crate::call::CallRequest;
use crate::gateway::Gateway;

/// What a run may use, and how often it may repeat itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLimits {
    pub budget: RunBudget,
    /// The same call with the same arguments, so often.
    pub same_call: Option<u64>,
    /// What one call costs, in the smallest unit, by a pattern for `upstream/tool`; the dearest
    /// that fits counts.
    pub costs: Vec<(String, u64)>,
}

impl RunLimits {
    fn is_unbounded(&self) -> bool {
        self.budget == RunBudget::default() && self.same_call.is_none()
    }

    /// What one call of `upstream/tool` costs, where that is said.
    pub(crate) fn cost(&self, tool: &str) -> Option<u64> {
        let fitting = self.costs.iter().filter(|(pattern, _)| model::glob::matches(pattern, tool));
        fitting.map(|(_, cost)| *cost).max()
    }
}

/// A call as far as budgets care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) tool: &'a str,
    pub(crate) args_hash: &'a str,
    pub(crate) writes: bool,
}

/// What an upstream asks of the client in the course of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Elicitation,
    Sample,
    Other,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) failed: bool,
    /// Attempts beyond the first that the gate made by itself.
    pub(crate) repeats: u32,
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
}

#[derive(Debug)]
pub(crate) struct Runs {
    limits: Arc<RunLimits>,
    store: Store,
}

impl Runs {
    /// Nothing, where nothing is bounded.
    pub(crate) fn new(limits: &RunLimits, store: &Store) -> Option<Self> {
        let bounded = !limits.is_unbounded();
        bounded.then(|| Self { limits: Arc::new(limits.clone()), store: store.clone() })
    }

    pub(crate) fn bounds_samples(&self) -> bool {
        self.limits.budget.max_samples.is_some()
    }

    pub(crate) fn counts_tokens(&self) -> bool {
        self.limits.budget.max_tokens.is_some()
    }

    pub(crate) fn counts_bytes(&self) -> bool {
        self.limits.budget.max_result_bytes.is_some()
    }

    /// Counts the call, or refuses it. What is refused is not counted.
    pub(crate) async fn admit(
        &self,
        run: &str,
        wish: Wish<'_>,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let limits = Arc::clone(&self.limits);
        let (cost, writes) = (limits.cost(wish.tool).unwrap_or_default(), wish.writes);
        let call = self.call(wish);
        let admit = move |turn: &mut Turn| admit(&limits, turn, cost, writes, now);
        self.store.spend(run, call.as_deref(), admit).await
    }

    /// Whether the call would be admitted, as things stand. Nothing is counted.
    pub(crate) async fn foresee(
        &self,
        run: &str,
        wish: Wish<'_>,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let call = self.call(wish);
        let mut turn = self.store.turn(run, call.as_deref()).await?;
        let cost = self.limits.cost(wish.tool).unwrap_or_default();
        admit(&self.limits, &mut turn, cost, wish.writes, now)
    }

    /// Adds what came of a call that was admitted, where that counts.
    pub(crate) async fn settle(&self, run: &str, wish: Wish<'_>, outcome: Outcome) {
        let counts = self.limits.budget.max_retries.is_some();
        let (failed, repeats) = (outcome.failed && counts, u64::from(outcome.repeats));
        let repeated = repeats > 0 && counts;
        if !failed && !repeated && !self.counts_tokens() && !self.counts_bytes() {
            return;
        }
        let call = self.call(wish).filter(|_| failed);
        let settle = move |turn: &mut Turn| {
            turn.spending.result_bytes += outcome.bytes;
            turn.spending.tokens += outcome.tokens;
            turn.spending.retries += if repeated { repeats } else { 0 };
            turn.made.1 |= failed;
            Ok(())
        };
        if let Err(fault) = self.store.spend(run, call.as_deref(), settle).await {
            tracing::warn!(%fault, "what a call has used up is not counted");
        }
    }

    /// Counts a question of an upstream, or refuses it.
    pub(crate) async fn ask(&self, run: &str, asks: Asks) -> Result<(), Fault> {
        let limits = Arc::clone(&self.limits);
        self.store.spend(run, None, move |turn| ask(&limits.budget, &mut turn.spending, asks)).await
    }

    async fn spent(&self, run: &str) -> Result<Spent, Fault> {
        let known = self.store.spending(run).await?;
        let spent = known.map(|known| Spent { calls: known.calls, writes: known.writes });
        Ok(spent.unwrap_or_default())
    }

    /// By which name the same call is known again, where anybody asks whether it is the same.
    fn call(&self, wish: Wish<'_>) -> Option<String> {
        let counted = self.limits.same_call.is_some() || self.limits.budget.max_retries.is_some();
        counted.then(|| format!("{} {}", wish.tool, wish.args_hash))
    }
}

fn admit(
    limits: &RunLimits,
    turn: &mut Turn,
    cost: u64,
    writes: bool,
    now: Timestamp,
) -> Result<(), Fault> {
    let (times, failed) = turn.made;
    if let Some(most) = limits.same_call.filter(|most| times >= *most) {
        return Err(looping(most));
    }
    let (run, budget) = (&mut turn.spending, &limits.budget);
    let wall = u64::try_from(now.since(run.began).as_millis()).unwrap_or(u64::MAX);
    let (retry, write) = (u64::from(failed), u64::from(writes));
    for (what, used, more, most) in [
        ("calls", run.calls, 1, budget.max_calls),
        ("write calls", run.writes, write, budget.max_write_calls.filter(|_| writes)),
        ("retries", run.retries, retry, budget.max_retries.filter(|_| failed)),
        ("cost", run.cost, cost, budget.max_cost_minor.filter(|_| cost > 0)),
        ("milliseconds", wall, 1, budget.max_wall_ms),
        ("tokens", run.tokens, 1, budget.max_tokens),
        ("result bytes", run.result_bytes, 1, budget.max_result_bytes),
    ] {
        within(what, used, more, most)?;
    }
    run.calls += 1;
    run.writes += write;
    run.retries += retry;
    run.cost += cost;
    turn.made = (times + 1, false);
    Ok(())
}

fn ask(budget: &RunBudget, run: &mut Spending, asks: Asks) -> Result<(), Fault> {
    within("iterations", run.iterations, 1, budget.max_iterations)?;
    match asks {
        Asks::Elicitation => {
            within("elicitations", run.elicitations, 1, budget.max_elicitations)?;
            run.elicitations += 1;
        }
        Asks::Sample => {
            within("samples", run.samples, 1, budget.max_samples)?;
            run.samples += 1;
        }
        Asks::Other => {}
    }
    run.iterations += 1;
    Ok(())
}

impl Gateway {
    /// What the run of this call has used up, where runs have budgets and a policy may look at it.
    pub(crate) async fn spent(&self, request: &CallRequest) -> Result<Option<Spent>, Fault> {
        match &self.runs {
            Some(runs) if !self.rules().is_indifferent() => {
                Box::pin(runs.spent(&key(request))).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Whose run it is: nobody can use up another's budget. Of one length, whatever a caller names.
pub(crate) fn key(request: &CallRequest) -> String {
    let caller = &request.caller;
    let tenant = caller.principal.tenant_id.as_deref().unwrap_or_default();
    let run = match (&request.run_id, &caller.session) {
        (Some(run), _) => ["run", run.as_str()],
        (None, Some(session)) => ["session", session.as_str()],
        (None, None) => ["", ""],
    };
    canonical::hash(&serde_json::json!([tenant, caller.principal.to_string(), run]))
}

/// Whose session it is; without one, the run stands in for it.
pub(crate) fn session(request: &CallRequest) -> String {
    let caller = &request.caller;
    let named = caller.session.as_ref().map(model::SessionId::as_str);
    let named = named.or(request.run_id.as_deref()).unwrap_or_default();
    canonical::hash(&serde_json::json!(["session", caller.principal.account(), named]))
}

pub(crate) fn within(what: &str, used: u64, more: u64, most: Option<u64>) -> Result<(), Fault> {
    match most.filter(|most| used.saturating_add(more) > *most) {
        None => Ok(()),
        Some(most) => {
            let message = format!("the run's budget of {most} {what} is used up");
            Err(Fault::new(Code::BudgetExceeded, message)
                .with("budget", what)
                .with("limit", most)
                .with("used", used))
        }
    }
}

fn looping(most: u64) -> Fault {
    let message = format!("this run has made the same call {most} times; do something else");
    Fault::new(Code::LoopGuard, message).with("limit", most)
}

#[cfg(test)]
mod tests;
