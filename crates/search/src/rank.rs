//! From a query to an order: words, meaning and names in one score, over what the caller may see.
//!
//! Words give the share of the query's rarity that a document earns, meaning the cosine of two
//! vectors; both lie between zero and one whatever the catalogue, so one threshold can say that
//! nothing fits. Rank fusion and z-scores were measured too: the one loses recall, the other leans
//! on words more the larger the catalogue is, where words are the weaker of the two.

use crate::index::Index;
use crate::part::real;
use crate::query::{Reading, read};
use crate::score::{Scores, coverage, places_of, score};
use crate::sight::Sight;

/// A query and who asks it.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub query: &'a str,
    pub top_k: usize,
    /// Documents the caller may see.
    pub allowed: &'a dyn Fn(usize) -> bool,
    /// The same, one place a document, where it is known already; then nothing is asked.
    pub known: Option<&'a [bool]>,
    /// How often this caller used a document; decides between scores that are nearly the same.
    pub uses: Option<&'a dyn Fn(usize) -> u32>,
    /// The query's vector, of the kind the index got with `with_meanings`.
    pub meaning: Option<&'a [f32]>,
}

impl<'a> Ask<'a> {
    pub fn new(query: &'a str, top_k: usize, allowed: &'a dyn Fn(usize) -> bool) -> Self {
        Self { query, top_k, allowed, known: None, uses: None, meaning: None }
    }
}

impl std::fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ask").field("query", &self.query).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Position among the documents of the index.
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

/// Of queries nothing answers, nearly two in three fall below; of those with an answer, one in sixteen.
/// `bench search` has the curve.
pub(crate) const FITS_MIN: f32 = 0.28;
/// Documents that are looked at more closely.
const LEADING: usize = 64;

impl Index {
    /// The `top_k` best documents among those `allowed` lets through.
    ///
    /// A document whose name is the query, in any case or rendering, comes first whatever else
    /// matches.
    pub fn rank(&self, query: &str, top_k: usize, allowed: &dyn Fn(usize) -> bool) -> Ranking {
        self.ask(&Ask::new(query, top_k, allowed))
    }

    pub fn ask(&self, ask: &Ask<'_>) -> Ranking {
        let weighed = weigh(self, ask);
        let mut found = weighed.found;
        found.truncate(ask.top_k);
        let hits = found.into_iter().map(|(score, doc)| Hit { doc: at(doc), score: score.into() });
        Ranking { hits: hits.collect(), unmatched: weighed.reading.unmatched, fits: weighed.fits }
    }
}

/// All that a ranking and its explanation are made of.
pub(crate) struct Weighed {
    pub(crate) reading: Reading,
    pub(crate) scores: Scores,
    /// In order, at least as many as were asked for where there are.
    pub(crate) found: Vec<(f32, u32)>,
    pub(crate) fits: bool,
}

pub(crate) fn weigh(index: &Index, ask: &Ask<'_>) -> Weighed {
    let sight = Sight::new(index, ask);
    let reading = read(index, &sight, ask.query);
    let count = LEADING.max(ask.top_k);
    let scores = score(index, &sight, ask, &reading, count);
    let found = scores.leading(index, &sight, count);
    let found = in_order(index, &reading, found, ask);
    let fits = found.iter().any(|(score, doc)| score - used(ask, *doc) >= FITS_MIN);
    Weighed { reading, scores, found, fits }
}

/// What having been used adds: less than `NEARLY_THE_SAME` however often it was.
pub(crate) fn used(ask: &Ask<'_>, doc: u32) -> f32 {
    const NEARLY_THE_SAME: f32 = 0.01;
    const HALF_AT: f32 = 3.0;
    let uses = ask.uses.map_or(0, |uses| uses(at(doc)));
    let uses = real(usize::try_from(uses.min(1_000)).unwrap_or_default());
    NEARLY_THE_SAME * uses / (uses + HALF_AT)
}

/// The leading documents with what their names and their use add, in order; then, where more are
/// wanted, the others in theirs.
///
/// A common word in a short name should decide between neighbours, not lift strangers, so only
/// leaders get it. What is added is never less than nothing, so no other overtakes a leader.
fn in_order(
    index: &Index,
    reading: &Reading,
    mut found: Vec<(f32, u32)>,
    ask: &Ask<'_>,
) -> Vec<(f32, u32)> {
    found.sort_unstable_by(order);
    let places = places_of(index, &reading.words);
    let leaders = LEADING.min(found.len());
    let leaders = found.get_mut(..leaders).unwrap_or_default();
    for (score, doc) in &mut *leaders {
        *score += coverage(index, &places, *doc) + used(ask, *doc);
    }
    leaders.sort_unstable_by(order);
    found
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "sorting hands out references")]
pub(crate) fn order(a: &(f32, u32), b: &(f32, u32)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

pub(crate) fn at(doc: u32) -> usize {
    usize::try_from(doc).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
