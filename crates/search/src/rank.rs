//! From a query to an order: fielded BM25 over the documents the caller may see.

use std::collections::BTreeMap;

use crate::index::{FIELDS, Index, Posting, WEIGHTS};
use crate::limits;
use crate::words::{is_filler, words};

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Position in the slice the index was built from.
    pub doc: usize,
    pub score: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// Best first; equal scores in the order of the documents.
    pub hits: Vec<Hit>,
    /// The query's words that no visible document contains, as the caller spelt them.
    pub unmatched: Vec<String>,
}

impl Index {
    /// The `top_k` best documents among those `allowed` lets through.
    ///
    /// A document whose name is the query, in any case, comes first whatever else matches.
    pub fn rank(&self, query: &str, top_k: usize, allowed: &dyn Fn(usize) -> bool) -> Ranking {
        let sight = Sight::new(self, allowed);
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let mut unmatched = Vec::new();
        for spoken in query_words(query) {
            let mut found = false;
            for word in unique(words(&spoken)) {
                let postings = sight.postings(self, &word);
                found |= !postings.is_empty();
                sight.add(self, &postings, &mut scores);
            }
            if !found && !unmatched.contains(&spoken) {
                unmatched.push(spoken);
            }
        }
        lift_exact(self, query, &sight, &mut scores);
        let mut hits: Vec<Hit> =
            scores.into_iter().map(|(doc, score)| Hit { doc, score }).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        hits.truncate(top_k);
        Ranking { hits, unmatched }
    }
}

/// What the caller may see, and the averages over just that.
struct Sight {
    visible: Vec<bool>,
    count: f64,
    mean_lengths: [f64; FIELDS],
}

impl Sight {
    fn new(index: &Index, allowed: &dyn Fn(usize) -> bool) -> Self {
        let visible: Vec<bool> = (0..index.len()).map(allowed).collect();
        let mut totals = [0_usize; FIELDS];
        for (lengths, _) in index.lengths.iter().zip(&visible).filter(|(_, seen)| **seen) {
            for (total, length) in totals.iter_mut().zip(lengths) {
                *total += length;
            }
        }
        let count = real(visible.iter().filter(|seen| **seen).count());
        Self { visible, count, mean_lengths: totals.map(|total| real(total) / count.max(1.0)) }
    }

    fn sees(&self, doc: usize) -> bool {
        self.visible.get(doc).copied().unwrap_or(false)
    }

    fn postings<'i>(&self, index: &'i Index, word: &str) -> Vec<&'i Posting> {
        let all = index.postings.get(word).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter(|posting| self.sees(posting.doc)).collect()
    }

    fn add(&self, index: &Index, postings: &[&Posting], scores: &mut BTreeMap<usize, f64>) {
        const SATURATION: f64 = 1.2;
        let holders = real(postings.len());
        let rarity = (1.0 + (self.count - holders + 0.5) / (holders + 0.5)).ln();
        for posting in postings {
            let frequency = self.frequency(index, posting);
            *scores.entry(posting.doc).or_default() +=
                rarity * frequency / (SATURATION + frequency);
        }
    }

    fn frequency(&self, index: &Index, posting: &Posting) -> f64 {
        const LENGTH_MATTERS: f64 = 0.6;
        let lengths = index.lengths.get(posting.doc).copied().unwrap_or_default();
        let rows = posting.counts.iter().zip(lengths).zip(self.mean_lengths).zip(WEIGHTS);
        rows.map(|(((count, length), mean), weight)| {
            let stretch = 1.0 - LENGTH_MATTERS + LENGTH_MATTERS * real(length) / mean.max(1.0);
            weight * real(*count) / stretch
        })
        .sum()
    }
}

/// The words as the caller spelt them; filler only when there is nothing else.
fn query_words(query: &str) -> Vec<String> {
    let spoken = || query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let telling: Vec<String> = spoken()
        .filter(|word| !is_filler(&word.to_lowercase()))
        .take(limits::QUERY_WORDS_MAX)
        .map(str::to_owned)
        .collect();
    if telling.is_empty() {
        return spoken().take(limits::QUERY_WORDS_MAX).map(str::to_owned).collect();
    }
    telling
}

fn unique(mut words: Vec<String>) -> Vec<String> {
    words.sort();
    words.dedup();
    words
}

fn lift_exact(index: &Index, query: &str, sight: &Sight, scores: &mut BTreeMap<usize, f64>) {
    let wanted = query.trim().to_lowercase();
    let best = scores.values().copied().fold(0.0, f64::max);
    for (doc, name) in index.names.iter().enumerate() {
        if *name == wanted && sight.sees(doc) {
            *scores.entry(doc).or_default() += best + 1.0;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and tools are far below 2^52")]
fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
