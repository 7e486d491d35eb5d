//! How good a ranking is, and averages of that.

use serde_json::{Value, json};

use super::sets::Query;

/// Each between zero and one.
#[derive(Clone, Copy, Default)]
pub(super) struct Figures {
    pub(super) recall_1: f64,
    pub(super) recall_5: f64,
    pub(super) recall_10: f64,
    pub(super) ndcg_10: f64,
    pub(super) mrr: f64,
}

impl Figures {
    pub(super) fn of(ranked: &[usize], gold: &[usize]) -> Self {
        let recall = |first: usize| {
            let found = ranked.iter().take(first).filter(|doc| gold.contains(doc)).count();
            real(found) / real(gold.len().max(1))
        };
        let gain = |place: usize| 1.0 / (real(place) + 2.0).log2();
        let hits = ranked.iter().take(10).enumerate().filter(|(_, doc)| gold.contains(doc));
        let gained: f64 = hits.map(|(place, _)| gain(place)).sum();
        let ideal: f64 = (0..gold.len().min(10)).map(gain).sum();
        let first = ranked.iter().position(|doc| gold.contains(doc));
        Self {
            recall_1: recall(1),
            recall_5: recall(5),
            recall_10: recall(10),
            ndcg_10: if ideal > 0.0 { gained / ideal } else { 0.0 },
            mrr: first.map_or(0.0, |place| 1.0 / (real(place) + 1.0)),
        }
    }

    pub(super) fn mean(all: &[Self]) -> Self {
        let mean =
            |part: fn(&Self) -> f64| all.iter().map(part).sum::<f64>() / real(all.len().max(1));
        Self {
            recall_1: mean(|one| one.recall_1),
            recall_5: mean(|one| one.recall_5),
            recall_10: mean(|one| one.recall_10),
            ndcg_10: mean(|one| one.ndcg_10),
            mrr: mean(|one| one.mrr),
        }
    }

    pub(super) fn json(&self) -> Value {
        let round = |x: f64| (x * 10_000.0).round() / 10_000.0;
        json!({
            "r1": round(self.recall_1), "r5": round(self.recall_5), "r10": round(self.recall_10),
            "ndcg10": round(self.ndcg_10), "mrr": round(self.mrr),
        })
    }
}

/// Averages a ranker over queries.
pub(super) fn judge(queries: &[Query], rank: &mut dyn FnMut(&str) -> Vec<usize>) -> Figures {
    let each: Vec<Figures> =
        queries.iter().map(|query| Figures::of(&rank(&query.text), &query.gold)).collect();
    Figures::mean(&each)
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
pub(super) fn real(count: usize) -> f64 {
    count as f64
}
