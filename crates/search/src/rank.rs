//! From a query to an order: words, meaning and names in one score, over what the caller may see.
//!
//! Words give the share of the query's rarity that a document earns, meaning the cosine of two
//! vectors; both lie between zero and one whatever the catalogue, so one threshold can say that
//! nothing fits. Rank fusion and z-scores were measured too: the one loses recall, the other leans
//! on words more the larger the catalogue is, where words are the weaker of the two.

use crate::index::Index;
use crate::query::{Reading, read};
use crate::score::{Scores, score};
use crate::sight::Sight;

/// A query and who asks it.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub query: &'a str,
    pub top_k: usize,
    /// Documents the caller may see.
    pub allowed: &'a dyn Fn(usize) -> bool,
    /// How often this caller used a document; decides between scores that are nearly the same.
    pub counts: Option<&'a dyn Fn(usize) -> u32>,
}

impl std::fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ask").field("query", &self.query).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Position in the slice the index was built from.
    pub doc: usize,
    /// Up to one for likeness; a document that was named outright has more.
    pub score: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// Best first; equal scores in the order of the documents.
    pub hits: Vec<Hit>,
    /// The query's words that no visible document contains, as the caller spelt them.
    pub unmatched: Vec<String>,
    /// Whether the best hit is likely what was asked for. False also when there is none.
    pub fits: bool,
}

/// Chosen where saying "nothing fits" is right as often as it can be; `bench search` has the curve.
pub(crate) const FITS_MIN: f32 = 0.36;

impl Index {
    /// The `top_k` best documents among those `allowed` lets through.
    ///
    /// A document whose name is the query, in any case or rendering, comes first whatever else
    /// matches.
    pub fn rank(&self, query: &str, top_k: usize, allowed: &dyn Fn(usize) -> bool) -> Ranking {
        self.ask(&Ask { query, top_k, allowed, counts: None })
    }

    pub fn ask(&self, ask: &Ask<'_>) -> Ranking {
        let sight = Sight::new(self, ask.allowed);
        let reading = read(self, &sight, ask.query);
        let scores = score(self, &sight, ask.query, &reading);
        let hits = best(&scores, &sight, ask);
        let fits = scores.best() >= FITS_MIN;
        let Reading { unmatched, .. } = reading;
        Ranking { hits, unmatched, fits }
    }
}

fn best(scores: &Scores, sight: &Sight, ask: &Ask<'_>) -> Vec<Hit> {
    let mut found: Vec<(f32, usize)> = scores.found(sight).collect();
    let order = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    // Enough for the nudge below to look beyond the edge.
    let kept = ask.top_k.saturating_mul(2);
    if kept > 0 && found.len() > kept {
        found.select_nth_unstable_by(kept, order);
        found.truncate(kept);
    }
    found.sort_unstable_by(order);
    if let Some(counts) = ask.counts {
        nudge(&mut found, counts);
    }
    found.truncate(ask.top_k);
    found.into_iter().map(|(score, doc)| Hit { doc, score: f64::from(score) }).collect()
}

/// Among scores that are nearly the same, what was used more goes first.
fn nudge(found: &mut [(f32, usize)], counts: &dyn Fn(usize) -> u32) {
    const STEP: f32 = 0.01;
    #[expect(clippy::cast_possible_truncation, reason = "scores are small")]
    let step = |score: f32| (score / STEP).floor() as i32;
    found.sort_by_key(|(score, doc)| std::cmp::Reverse((step(*score), counts(*doc))));
}

#[cfg(test)]
mod tests;
