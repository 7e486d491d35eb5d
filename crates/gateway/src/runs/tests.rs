//! Each budget, by itself and on one run.

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn fresh() -> Turn {
    Turn { spending: Spending::begun(at(0)), made: (0, false) }
}

fn used_up(result: Result<(), Fault>) -> Option<String> {
    let fault = result.err()?;
    assert_eq!(fault.code, Code::BudgetExceeded);
    fault.details.get("budget")?.as_str().map(str::to_owned)
}

#[test]
fn what_is_bounded_by_nothing_is_not_counted() {
    let costs = vec![("*".to_owned(), 5)];
    assert!(RunLimits { costs, ..RunLimits::default() }.is_unbounded());
    assert!(!RunLimits { same_call: Some(1), ..RunLimits::default() }.is_unbounded());
}

#[test]
fn each_budget_refuses_the_call_too_many() {
    #[derive(Clone, Copy, PartialEq)]
    enum Call {
        Read,
        Write,
    }
    use Call::{Read, Write};
    let check = |budget: RunBudget, first: Call, second: Call, what: Option<&str>| {
        let limits = RunLimits { budget, ..RunLimits::default() };
        let mut turn = fresh();
        assert_eq!(used_up(admit(&limits, &mut turn, 0, first == Write, at(0))), None);
        turn.spending.result_bytes += 10;
        turn.spending.tokens += 10;
        // The first call failed; another one has not been made before.
        turn.made = if first == second { (1, true) } else { (0, false) };
        let got = used_up(admit(&limits, &mut turn, 0, second == Write, at(100)));
        assert_eq!(got.as_deref(), what);
    };
    let none = RunBudget::default;
    check(RunBudget { max_calls: Some(1), ..none() }, Read, Write, Some("calls"));
    check(RunBudget { max_calls: Some(2), ..none() }, Read, Write, None);
    check(RunBudget { max_write_calls: Some(1), ..none() }, Write, Write, Some("write calls"));
    check(RunBudget { max_write_calls: Some(1), ..none() }, Write, Read, None);
    check(RunBudget { max_retries: Some(0), ..none() }, Read, Read, Some("retries"));
    check(RunBudget { max_retries: Some(0), ..none() }, Read, Write, None);
    check(RunBudget { max_wall_ms: Some(100), ..none() }, Read, Read, Some("milliseconds"));
    check(RunBudget { max_wall_ms: Some(101), ..none() }, Read, Read, None);
    check(RunBudget { max_tokens: Some(10), ..none() }, Read, Read, Some("tokens"));
    check(RunBudget { max_tokens: Some(11), ..none() }, Read, Read, None);
    check(RunBudget { max_result_bytes: Some(10), ..none() }, Read, Read, Some("result bytes"));
}

#[test]
fn what_a_call_costs_is_what_the_dearest_fitting_pattern_says() {
    let costs = vec![("shelf/*".to_owned(), 2), ("shelf/put".to_owned(), 5)];
    let budget = RunBudget { max_cost_minor: Some(8), ..RunBudget::default() };
    let limits = RunLimits { budget, same_call: None, costs };
    let mut turn = fresh();
    let mut pay = |tool: &str| {
        used_up(admit(&limits, &mut turn, limits.cost(tool).unwrap_or_default(), false, at(0)))
    };
    assert_eq!(pay("shelf/put"), None);
    assert_eq!(pay("shelf/put").as_deref(), Some("cost"));
    assert_eq!(pay("shelf/peek"), None);
    assert_eq!(pay("shelf/peek").as_deref(), Some("cost"));
    assert_eq!(pay("lamp/on"), None);
}

#[test]
fn questions_are_counted_by_their_kind() {
    let budget = RunBudget {
        max_elicitations: Some(1),
        max_samples: Some(2),
        max_iterations: Some(3),
        ..RunBudget::default()
    };
    let mut spending = fresh().spending;
    let mut ask = |asks| used_up(ask(&budget, &mut spending, asks));
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
    let mut turn = fresh();
    let made = (0..1_000).filter(|_| admit(&limits, &mut turn, 0, false, at(0)).is_ok()).count();
    assert_eq!((made, turn.spending.calls), (7, 7));
    let fault = admit(&limits, &mut turn, 0, false, at(0)).unwrap_err();
    assert_eq!(fault.code, Code::LoopGuard);
}
