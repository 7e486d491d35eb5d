//! A brief: what of a session goes into a prompt, within a budget counted in real tokens.
//!
//! Items that belong together come or go together: a result with its call, a call with its turn.
//! What is chosen is told in the order it happened. Counting tokens is slow; nothing on the road
//! of a call comes here.

use std::collections::{BTreeMap, BTreeSet};

use model::Class;
use serde::{Deserialize, Serialize};

use crate::redact::Redactor;
use crate::sanitise::Cleaner;
use crate::tokens::count as tokens;
use crate::window::{EventKind, SessionItem};

/// What the prompt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Route,
    Call,
    Interpret,
    Answer,
}

impl Phase {
    pub const ALL: [Self; 4] = [Self::Route, Self::Call, Self::Interpret, Self::Answer];

    /// Tokens, when nobody says otherwise.
    pub const fn budget(self) -> usize {
        match self {
            Self::Route => 2_000,
            Self::Call => 3_000,
            Self::Interpret => 4_000,
            Self::Answer => 6_000,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Call => "call",
            Self::Interpret => "interpret",
            Self::Answer => "answer",
        }
    }

    const fn wants(self, kind: EventKind) -> bool {
        use EventKind::{AgentMsg, PlanState, Policy, ToolCall, UserTurn};
        match self {
            Self::Route => matches!(kind, UserTurn | PlanState | Policy),
            Self::Call => matches!(kind, UserTurn | PlanState | Policy | AgentMsg | ToolCall),
            Self::Interpret | Self::Answer => true,
        }
    }
}

#[derive(Clone, Debug)]
pub struct BriefRules<'a> {
    pub phase: Phase,
    pub query: &'a str,
    pub budget_tokens: usize,
    /// Items classed this or above stay out.
    pub floor: Class,
    pub redactor: &'a Redactor,
}

/// Why an item is not in the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dropped {
    Kind,
    Sensitive,
    Duplicate,
    Budget,
}

/// INVARIANT: `included` and `dropped` together are the candidates, and `tokens` is the count of
/// the whole `prompt`, framing included, never above the budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Brief {
    pub prompt: String,
    pub tokens: usize,
    pub budget_tokens: usize,
    pub candidates: usize,
    pub included: Vec<String>,
    pub dropped: BTreeMap<String, Dropped>,
}

pub fn brief(items: &[SessionItem], rules: &BriefRules<'_>) -> Brief {
    let mut dropped = BTreeMap::new();
    let eligible = eligible(items, rules, &mut dropped);
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    for group in ranked(items, &eligible, rules.query) {
        let mut wider = chosen.clone();
        wider.extend(&group);
        if tokens(&render(items, &wider, rules)) <= rules.budget_tokens {
            chosen = wider;
        }
    }
    for index in eligible.iter().filter(|index| !chosen.contains(index)) {
        dropped.extend(items.get(*index).map(|item| (item.id.clone(), Dropped::Budget)));
    }
    let prompt = render(items, &chosen, rules);
    Brief {
        tokens: tokens(&prompt),
        prompt,
        budget_tokens: rules.budget_tokens,
        candidates: items.len(),
        included: chosen.iter().filter_map(|index| Some(items.get(*index)?.id.clone())).collect(),
        dropped,
    }
}

/// What may go in at all, and why the rest may not.
fn eligible(
    items: &[SessionItem],
    rules: &BriefRules<'_>,
    dropped: &mut BTreeMap<String, Dropped>,
) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let mut eligible = Vec::new();
    for (index, item) in items.iter().enumerate() {
        // What is said once more, by the same kind of speaker, adds nothing.
        let words = (item.kind.label(), item.text.split_whitespace().collect::<Vec<_>>().join(" "));
        let why = if !rules.phase.wants(item.kind) {
            Some(Dropped::Kind)
        } else if item.class >= rules.floor {
            Some(Dropped::Sensitive)
        } else if !item.kind.is_step() && !seen.insert(words) {
            Some(Dropped::Duplicate)
        } else {
            None
        };
        match why {
            Some(why) => drop(dropped.insert(item.id.clone(), why)),
            None => eligible.push(index),
        }
    }
    eligible
}

/// Groups that come or go together, the most useful first.
fn ranked(items: &[SessionItem], eligible: &[usize], query: &str) -> Vec<BTreeSet<usize>> {
    let places: BTreeMap<&str, usize> =
        eligible.iter().filter_map(|at| Some((items.get(*at)?.id.as_str(), *at))).collect();
    let mut groups: Vec<(u64, usize, BTreeSet<usize>)> = Vec::new();
    for &index in eligible {
        let Some(item) = items.get(index) else { continue };
        let mut group = BTreeSet::from([index]);
        let mut parent = item.parent_id.as_deref();
        while let Some(&at) = parent.and_then(|id| places.get(id)).filter(|at| group.insert(**at)) {
            parent = items.get(at).and_then(|item| item.parent_id.as_deref());
        }
        // A call is nothing without its result, where it has one.
        let answered = item.kind == EventKind::ToolCall
            && items.iter().any(|other| {
                other.parent_id.as_deref() == Some(item.id.as_str())
                    && places.contains_key(other.id.as_str())
            });
        if !answered {
            groups.push((score(item, index, items.len(), query), index, group));
        }
    }
    groups.sort_by_key(|(score, index, _)| (u64::MAX - score, usize::MAX - index));
    groups.into_iter().map(|(_, _, group)| group).collect()
}

/// In thousandths: how late it was, how much of the query it mentions, what kind it is.
fn score(item: &SessionItem, index: usize, count: usize, query: &str) -> u64 {
    let recency = 300 * (index + 1) / count.max(1);
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|w| w.len() > 1)
            .map(str::to_lowercase)
            .collect()
    };
    let (asked, said) = (words(query), words(&item.text));
    let overlap = 350 * asked.intersection(&said).count() / asked.len().max(1);
    (recency + overlap) as u64 + item.kind.priority()
}

fn render(items: &[SessionItem], chosen: &BTreeSet<usize>, rules: &BriefRules<'_>) -> String {
    let cleaner = Cleaner::strict(rules.redactor);
    let block = |index: &usize| {
        let item = items.get(*index)?;
        let aside: Vec<_> =
            item.artifacts.iter().map(|handle| format!(" artifact:{handle}")).collect();
        Some(format!("[{}{}]\n{}", item.kind.label(), aside.concat(), cleaner.text(&item.text)))
    };
    chosen.iter().filter_map(block).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests;
