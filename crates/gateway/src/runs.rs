//! What each run has used up, and the call too many. Counted in memory, by this gate alone, and only
//! where a budget is set.
//!
//! A call without a run counts towards the run that its caller and session are.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use model::run::RunBudget;
use model::{Code, Fault, Timestamp};
use policy::Spent;

use crate::call::CallRequest;
use crate::gateway::Gateway;

/// Runs remembered; beyond that the one idle longest is forgotten.
const RUNS_MAX: usize = 10_000;
/// Different calls remembered in one run.
const CALLS_MAX: usize = 1_000;

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

    fn cost(&self, tool: &str) -> u64 {
        let fitting = self.costs.iter().filter(|(pattern, _)| model::glob::matches(pattern, tool));
        fitting.map(|(_, cost)| *cost).max().unwrap_or_default()
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
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
}

#[derive(Debug)]
pub(crate) struct Runs {
    limits: RunLimits,
    known: Mutex<HashMap<String, Run>>,
}

#[derive(Debug)]
struct Run {
    began: Timestamp,
    last: Timestamp,
    calls: u64,
    writes: u64,
    tokens: u64,
    cost: u64,
    retries: u64,
    iterations: u64,
    bytes: u64,
    elicitations: u64,
    samples: u64,
    /// By tool and arguments: how often, and whether it failed last.
    made: HashMap<String, (u64, bool)>,
}

impl Runs {
    /// Nothing, where nothing is bounded.
    pub(crate) fn new(limits: &RunLimits) -> Option<Self> {
        let limits = limits.clone();
        (!limits.is_unbounded()).then(|| Self { limits, known: Mutex::default() })
    }

    pub(crate) fn counts_tokens(&self) -> bool {
        self.limits.budget.max_tokens.is_some()
    }

    /// Counts the call, or refuses it. What is refused is not counted.
    pub(crate) fn admit(&self, run: &str, wish: Wish<'_>, now: Timestamp) -> Result<(), Fault> {
        self.with(run, now, |run| {
            let key = format!("{} {}", wish.tool, wish.args_hash);
            let (times, failed) = run.made.get(&key).copied().unwrap_or_default();
            let (retry, cost) = (u64::from(failed), self.limits.cost(wish.tool));
            if let Some(most) = self.limits.same_call.filter(|most| times >= *most) {
                return Err(looping(most));
            }
            let budget = &self.limits.budget;
            let wall = u64::try_from(now.since(run.began).as_millis()).unwrap_or(u64::MAX);
            let writes = u64::from(wish.writes);
            for (what, used, more, most) in [
                ("calls", run.calls, 1, budget.max_calls),
                ("write calls", run.writes, writes, budget.max_write_calls.filter(|_| wish.writes)),
                ("retries", run.retries, retry, budget.max_retries.filter(|_| failed)),
                ("cost", run.cost, cost, budget.max_cost_minor.filter(|_| cost > 0)),
                ("milliseconds", wall, 1, budget.max_wall_ms),
                ("tokens", run.tokens, 1, budget.max_tokens),
                ("result bytes", run.bytes, 1, budget.max_result_bytes),
            ] {
                within(what, used, more, most)?;
            }
            run.calls += 1;
            run.writes += writes;
            run.retries += retry;
            run.cost += cost;
            if run.made.len() < CALLS_MAX || run.made.contains_key(&key) {
                run.made.insert(key, (times + 1, false));
            }
            Ok(())
        })
    }

    /// Adds what came of a call that was admitted.
    pub(crate) fn settle(&self, run: &str, wish: Wish<'_>, outcome: Outcome, now: Timestamp) {
        self.with(run, now, |run| {
            run.bytes += outcome.bytes;
            run.tokens += outcome.tokens;
            if let Some(made) = run.made.get_mut(&format!("{} {}", wish.tool, wish.args_hash)) {
                made.1 = outcome.failed;
            }
        });
    }

    /// Counts a question of an upstream, or refuses it.
    pub(crate) fn ask(&self, run: &str, asks: Asks, now: Timestamp) -> Result<(), Fault> {
        let budget = &self.limits.budget;
        self.with(run, now, |run| {
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
        })
    }

    pub(crate) fn spent(&self, run: &str) -> Spent {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = known.get(run).map(|run| Spent { calls: run.calls, writes: run.writes });
        spent.unwrap_or_default()
    }

    fn with<T>(&self, run: &str, now: Timestamp, change: impl FnOnce(&mut Run) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= RUNS_MAX && !known.contains_key(run) {
            let idle = known.iter().min_by_key(|(name, run)| (run.last, (*name).clone()));
            if let Some(idle) = idle.map(|(name, _)| name.clone()) {
                known.remove(&idle);
            }
        }
        let run = known.entry(run.to_owned()).or_insert_with(|| Run::new(now));
        run.last = now;
        change(run)
    }
}

impl Run {
    fn new(now: Timestamp) -> Self {
        Self {
            began: now,
            last: now,
            calls: 0,
            writes: 0,
            tokens: 0,
            cost: 0,
            retries: 0,
            iterations: 0,
            bytes: 0,
            elicitations: 0,
            samples: 0,
            made: HashMap::new(),
        }
    }
}

impl Gateway {
    /// What the run of this call has used up, where runs have budgets.
    pub(crate) fn spent(&self, request: &CallRequest) -> Option<Spent> {
        self.runs.as_ref().map(|runs| runs.spent(&key(request)))
    }
}

/// Whose run it is: nobody can use up another's budget.
pub(crate) fn key(request: &CallRequest) -> String {
    let caller = &request.caller;
    let tenant = caller.principal.tenant_id.as_deref().unwrap_or_default();
    let run = match (&request.run_id, &caller.session) {
        (Some(run), _) => format!("run {run}"),
        (None, Some(session)) => format!("session {session}"),
        (None, None) => String::new(),
    };
    format!("{tenant}/{} {run}", caller.principal)
}

fn within(what: &str, used: u64, more: u64, most: Option<u64>) -> Result<(), Fault> {
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
mod tests {
    use super::*;

    const READ: Wish<'_> = Wish { tool: "shelf/peek", args_hash: "a", writes: false };
    const WRITE: Wish<'_> = Wish { tool: "shelf/put", args_hash: "b", writes: true };

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn runs(budget: RunBudget) -> Runs {
        Runs::new(&RunLimits { budget, ..RunLimits::default() }).unwrap()
    }

    fn used_up(result: Result<(), Fault>) -> Option<String> {
        let fault = result.err()?;
        assert_eq!(fault.code, Code::BudgetExceeded);
        fault.details.get("budget")?.as_str().map(str::to_owned)
    }

    #[test]
    fn what_is_not_bounded_is_not_counted() {
        assert!(Runs::new(&RunLimits::default()).is_none());
        let costs = vec![("*".to_owned(), 5)];
        assert!(Runs::new(&RunLimits { costs, ..RunLimits::default() }).is_none());
    }

    #[test]
    fn each_budget_refuses_the_call_too_many_and_only_in_its_run() {
        let check = |budget: RunBudget, first: Wish<'_>, second: Wish<'_>, what: Option<&str>| {
            let runs = runs(budget);
            assert_eq!(used_up(runs.admit("a", first, at(0))), None);
            let outcome = Outcome { failed: true, bytes: 10, tokens: 10 };
            runs.settle("a", first, outcome, at(0));
            let got = used_up(runs.admit("a", second, at(100)));
            assert_eq!(got.as_deref(), what);
            assert_eq!(used_up(runs.admit("b", second, at(100))), None);
        };
        let none = RunBudget::default;
        check(RunBudget { max_calls: Some(1), ..none() }, READ, WRITE, Some("calls"));
        check(RunBudget { max_calls: Some(2), ..none() }, READ, WRITE, None);
        check(RunBudget { max_write_calls: Some(1), ..none() }, WRITE, WRITE, Some("write calls"));
        check(RunBudget { max_write_calls: Some(1), ..none() }, WRITE, READ, None);
        check(RunBudget { max_retries: Some(0), ..none() }, READ, READ, Some("retries"));
        check(RunBudget { max_retries: Some(0), ..none() }, READ, WRITE, None);
        check(RunBudget { max_wall_ms: Some(100), ..none() }, READ, READ, Some("milliseconds"));
        check(RunBudget { max_wall_ms: Some(101), ..none() }, READ, READ, None);
        check(RunBudget { max_tokens: Some(10), ..none() }, READ, READ, Some("tokens"));
        check(RunBudget { max_tokens: Some(11), ..none() }, READ, READ, None);
        check(RunBudget { max_result_bytes: Some(10), ..none() }, READ, READ, Some("result bytes"));
    }

    #[test]
    fn what_a_call_costs_is_what_the_dearest_fitting_pattern_says() {
        let costs = vec![("shelf/*".to_owned(), 2), ("shelf/put".to_owned(), 5)];
        let budget = RunBudget { max_cost_minor: Some(8), ..RunBudget::default() };
        let runs = Runs::new(&RunLimits { budget, same_call: None, costs }).unwrap();
        assert_eq!(used_up(runs.admit("a", WRITE, at(0))), None);
        assert_eq!(used_up(runs.admit("a", WRITE, at(0))).as_deref(), Some("cost"));
        assert_eq!(used_up(runs.admit("a", READ, at(0))), None);
        assert_eq!(used_up(runs.admit("a", READ, at(0))).as_deref(), Some("cost"));
        let free = Wish { tool: "lamp/on", ..READ };
        assert_eq!(used_up(runs.admit("a", free, at(0))), None);
    }

    #[test]
    fn questions_are_counted_by_their_kind() {
        let budget = RunBudget {
            max_elicitations: Some(1),
            max_samples: Some(2),
            max_iterations: Some(3),
            ..RunBudget::default()
        };
        let runs = runs(budget);
        let ask = |asks| used_up(runs.ask("a", asks, at(0)));
        assert_eq!(ask(Asks::Elicitation), None);
        assert_eq!(ask(Asks::Elicitation).as_deref(), Some("elicitations"));
        assert_eq!(ask(Asks::Sample), None);
        assert_eq!(ask(Asks::Sample), None);
        assert_eq!(ask(Asks::Sample).as_deref(), Some("iterations"));
        assert_eq!(ask(Asks::Other).as_deref(), Some("iterations"));
    }

    /// D11: of a thousand identical calls, so many are made.
    #[test]
    fn a_run_that_repeats_itself_is_stopped() {
        let limits = RunLimits { same_call: Some(7), ..RunLimits::default() };
        let runs = Runs::new(&limits).unwrap();
        let made = (0..1_000).filter(|_| runs.admit("a", READ, at(0)).is_ok()).count();
        assert_eq!(made, 7);
        assert_eq!(runs.admit("a", READ, at(0)).unwrap_err().code, Code::LoopGuard);
        assert!(runs.admit("a", Wish { args_hash: "c", ..READ }, at(0)).is_ok());
        assert_eq!(runs.spent("a"), Spent { calls: 8, writes: 0 });
    }

    #[test]
    fn runs_without_end_do_not_fill_the_memory() {
        let runs = runs(RunBudget { max_calls: Some(1), ..RunBudget::default() });
        for run in 0..=RUNS_MAX {
            let now = at(i64::try_from(run).unwrap());
            runs.admit(&run.to_string(), READ, now).unwrap();
        }
        assert_eq!(runs.known.lock().unwrap().len(), RUNS_MAX);
        assert_eq!(runs.spent("0"), Spent::default());
    }
}
