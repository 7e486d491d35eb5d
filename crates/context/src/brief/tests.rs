//! What is chosen, in which order, and that the books always balance.

use super::*;
use crate::session::load_session;
use proptest::prelude::*;

fn briefed(items: &[SessionItem], phase: Phase, query: &str, budget_tokens: usize) -> Brief {
    let (floor, redactor) = (Class::Confidential, &Redactor::default());
    brief(items, &BriefRules { phase, query, budget_tokens, floor, redactor })
}

fn item(id: &str, kind: EventKind, text: &str, parent: Option<&str>) -> SessionItem {
    SessionItem {
        id: id.to_owned(),
        kind,
        text: text.to_owned(),
        parent_id: parent.map(str::to_owned),
        class: Class::Public,
        artifacts: Vec::new(),
    }
}

/// CW-37, CW-39
#[test]
fn the_example_session_becomes_a_prompt_in_the_order_it_happened() {
    let items = load_session(include_str!("../../examples/session.jsonl")).unwrap();
    let brief = briefed(&items, Phase::Answer, "invoice status", 6_000);
    insta::assert_snapshot!(brief.prompt);
    assert_eq!(brief.included.len(), items.len());
    assert_eq!(brief.tokens, tokens(&brief.prompt));
}

#[test]
fn each_phase_reads_its_own_kinds() {
    let items = [
        item("u", EventKind::UserTurn, "ask", None),
        item("c", EventKind::ToolCall, "call", Some("u")),
        item("r", EventKind::ToolResult, "result", Some("c")),
    ];
    let check = |phase: Phase, included: &[&str]| {
        assert_eq!(briefed(&items, phase, "", 999).included, included, "{phase:?}");
    };
    check(Phase::Route, &["u"]);
    check(Phase::Call, &["u", "c"]);
    check(Phase::Interpret, &["u", "c", "r"]);
    check(Phase::Answer, &["u", "c", "r"]);
}

#[test]
fn what_is_sensitive_or_said_twice_is_dropped_and_counted() {
    let mut items = vec![
        item("a", EventKind::UserTurn, "same words", None),
        item("b", EventKind::UserTurn, " same  words ", None),
        item("s", EventKind::AgentMsg, "secret", None),
    ];
    items[2].class = Class::Restricted;
    let brief = briefed(&items, Phase::Answer, "", 999);
    assert_eq!(brief.included, ["a"]);
    let why = |id: &str| brief.dropped[id];
    assert_eq!((why("b"), why("s")), (Dropped::Duplicate, Dropped::Sensitive));
}

/// A result is not kept while its call is dropped, nor a call while its result is.
#[test]
fn a_call_and_its_result_come_or_go_together() {
    let long = "order shipped ".repeat(40);
    let items = [
        item("u", EventKind::UserTurn, "hello", None),
        item("c", EventKind::ToolCall, "list()", Some("u")),
        item("r", EventKind::ToolResult, &long, Some("c")),
    ];
    assert_eq!(briefed(&items, Phase::Answer, "", 30).included, ["u"]);
    assert_eq!(briefed(&items, Phase::Answer, "", 300).included, ["u", "c", "r"]);
}

proptest! {
    /// included + dropped = candidates; framing counted; never above budget; in order.
    #[test]
    fn the_books_balance(
        texts in prop::collection::vec(("[a-d ]{0,30}", 0_usize..5, prop::option::of(0_usize..8)), 0..9),
        budget in 0_usize..80,
    ) {
        use EventKind::{AgentMsg, MemoryFact, ToolCall, ToolResult, UserTurn};
        let kinds = [UserTurn, ToolCall, ToolResult, AgentMsg, MemoryFact];
        let items: Vec<_> = texts.iter().enumerate().map(|(n, (text, kind, parent))| {
            item(&n.to_string(), kinds[*kind], text, parent.map(|p| p.to_string()).as_deref())
        }).collect();
        let brief = briefed(&items, Phase::Answer, "a b", budget);
        prop_assert_eq!(brief.included.len() + brief.dropped.len(), brief.candidates);
        prop_assert!(brief.tokens <= budget && brief.tokens == tokens(&brief.prompt));
        let places: Vec<usize> = brief.included.iter().map(|id| id.parse().unwrap()).collect();
        prop_assert!(places.is_sorted());
        for place in &places {
            let parent = items[*place].parent_id.clone().filter(|id| items.iter().any(|i| i.id == *id));
            prop_assert!(parent.is_none_or(|id| brief.included.contains(&id) || brief.dropped.get(&id) != Some(&Dropped::Budget)));
        }
    }
}
