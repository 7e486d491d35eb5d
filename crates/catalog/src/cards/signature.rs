//! A tool as a call is written: `create_issue(owner, repo, body?)`.
//!
//! What tokens cost adds up across single spaces, because the vocabulary never joins what a space
//! parts. So each parameter is counted once, however many signatures are tried.

use super::shape::Shape;
use crate::{limits, tokens};

pub(super) struct Params<'a> {
    name: &'a str,
    written: Vec<&'a str>,
    required: usize,
    /// What each costs with a comma behind it; the first with the name before it.
    costs: Vec<usize>,
    /// What all of them cost, closed.
    whole: usize,
}

const REST: &str = " …)";

impl<'a> Params<'a> {
    pub(super) fn new(name: &'a str, shape: &'a Shape) -> Self {
        let written: Vec<&str> = shape.written().collect();
        let mut room = String::new();
        let mut cost = |place: usize, param: &str, end: &str| {
            room.clear();
            if place == 0 {
                room.extend([name, "(", param, end]);
                return tokens::count(&room);
            }
            room.extend([" ", param, end]);
            tokens::of_word(&room)
        };
        let rows = written.iter().enumerate();
        let costs: Vec<usize> = rows.map(|(place, param)| cost(place, param, ",")).collect();
        let last = written.len().saturating_sub(1);
        let before: usize = costs.iter().take(last).sum();
        let whole = before + cost(last, written.last().copied().unwrap_or_default(), ")");
        Self { name, costs, whole, written, required: shape.required }
    }

    /// As many parameters as cost at most so many tokens, and what they cost.
    pub(super) fn within(&self, tokens_max: usize) -> (String, usize) {
        self.first(self.fitting(tokens_max).min(limits::SIGNATURE_PARAMS_MAX))
    }

    /// The same, but with every required parameter if a card has room for them.
    pub(super) fn with_all_required(&self, tokens_max: usize) -> (String, usize) {
        let fitting = self.fitting(tokens_max).min(self.required.max(limits::SIGNATURE_PARAMS_MAX));
        let possible = self.fitting(limits::CARD_TOKENS_MAX - limits::CARD_MARK_TOKENS_MAX);
        self.first(fitting.max(possible.min(self.required)))
    }

    /// How many of the parameters, in their order, fit into so many tokens.
    fn fitting(&self, tokens_max: usize) -> usize {
        let rest = tokens::of_word(REST);
        let mut total = 0;
        let kept = self.costs.iter().take_while(|cost| {
            total += *cost;
            total + rest <= tokens_max
        });
        let kept = kept.count();
        // Without an ellipsis behind it, the last one may just fit.
        let all = self.written.len();
        if kept + 1 >= all && self.whole <= tokens_max { all } else { kept }
    }

    fn first(&self, count: usize) -> (String, usize) {
        let Self { name, written, costs, whole, .. } = self;
        let kept = written.get(..count).unwrap_or(written).join(", ");
        if count >= written.len() {
            return (format!("{name}({kept})"), *whole);
        }
        if count == 0 {
            let signature = format!("{name}(…)");
            let cost = tokens::count(&signature);
            return (signature, cost);
        }
        let cost = costs.iter().take(count).sum::<usize>() + tokens::of_word(REST);
        (format!("{name}({kept},{REST}"), cost)
    }
}
