//! From a query to an order: words, meaning and names in one score, over what the caller may see.
//!
//! Words give the share of the query's rarity that a document earns, meaning the cosine of two
//! vectors; both lie between zero and one whatever the catalogue, so one threshold can say that
//! nothing fits. Rank fusion and z-scores were measured too: the one loses recall, the other leans
//! on words more the larger the catalogue is, where words are the weaker of the two.

use crate::index::Index;
use crate::query::{Reading, read};
use crate::score::{coverage, places_of, score};
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

/// Of queries nothing answers, two in three fall below; of those with an answer, one in fifteen.
/// `bench search` has the curve.
pub(crate) const FITS_MIN: f32 = 0.30;

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
        let mut found = in_order(self, &reading, scores.found(&sight), ask.top_k);
        let fits = found.first().is_some_and(|(best, _)| *best >= FITS_MIN);
        if let Some(counts) = ask.counts {
            nudge(&mut found, counts);
        }
        found.truncate(ask.top_k);
        let hits =
            found.into_iter().map(|(score, doc)| Hit { doc: place(doc), score: score.into() });
        Ranking { hits: hits.collect(), unmatched: reading.unmatched, fits }
    }
}

/// The leading documents with what their names add, in order; then, where more are wanted, the
/// others in theirs.
///
/// A common word in a short name should decide between neighbours, not lift strangers, so only
/// leaders get it. What is added is never less than nothing, so no other overtakes a leader.
pub(crate) fn in_order(
    index: &Index,
    reading: &Reading,
    mut found: Vec<(f32, u32)>,
    wanted: usize,
) -> Vec<(f32, u32)> {
    const LEADING: usize = 64;
    if found.len() > LEADING {
        found.select_nth_unstable_by(LEADING, order);
    }
    if wanted <= LEADING {
        found.truncate(LEADING);
    }
    let leading = LEADING.min(found.len());
    let (leaders, others) = found.split_at_mut(leading);
    let places = places_of(index, &reading.words);
    for (score, doc) in &mut *leaders {
        *score += coverage(index, &places, *doc);
    }
    leaders.sort_unstable_by(order);
    others.sort_unstable_by(order);
    found
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "sorting hands out references")]
fn order(a: &(f32, u32), b: &(f32, u32)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

fn place(doc: u32) -> usize {
    usize::try_from(doc).unwrap_or(usize::MAX)
}

/// Among scores that are nearly the same, what was used more goes first.
fn nudge(found: &mut [(f32, u32)], counts: &dyn Fn(usize) -> u32) {
    const STEP: f32 = 0.01;
    #[expect(clippy::cast_possible_truncation, reason = "scores are small")]
    let step = |score: f32| (score / STEP).floor() as i32;
    found.sort_by_key(|(score, doc)| std::cmp::Reverse((step(*score), counts(place(*doc)))));
}

#[cfg(test)]
mod tests;
