//! What words give: how much of the query's rarity each document earns.

use crate::index::Index;
use crate::part::Posting;
use crate::query::{Sense, Via, Word};
use crate::rank::at;
use crate::score::Best;
use crate::sight::Sight;

#[derive(Debug)]
pub(super) struct Earned {
    /// One place a document.
    pub(super) all: Vec<f32>,
    /// What it is held against.
    pub(super) whole: f32,
    /// The visible documents that earn the most, in no order.
    pub(super) leading: Vec<u32>,
}

impl Earned {
    pub(super) fn share(&self, earned: f32) -> f32 {
        earned / self.whole
    }
}

/// Held against all that could be earned, drawn a little towards the most that anyone visible does:
/// against all alone, a long query would leave words no say.
pub(super) fn by_words(index: &Index, sight: &Sight<'_>, words: &[Word], count: usize) -> Earned {
    /// Keeps a single common word from counting as a whole answer.
    const DOUBT: f32 = 3.0;
    const MOST_MIN: f32 = 0.5;
    let mut earned = vec![0.0; index.len()];
    let mut best = Vec::new();
    let mut all = DOUBT;
    for word in words {
        all += add_word(index, sight, word, &mut best, &mut earned);
    }
    let leading = leading(&earned, sight, count);
    let most = leading.iter().fold(MOST_MIN, |most, (earned, _)| most.max(*earned));
    let leading = leading.into_iter().map(|(_, doc)| doc).collect();
    Earned { all: earned, whole: (all * (all * most).sqrt()).sqrt(), leading }
}

fn leading(earned: &[f32], sight: &Sight<'_>, count: usize) -> Vec<(f32, u32)> {
    let mut best = Best::new(count);
    for ((doc, earned), seen) in (0_u32..).zip(earned).zip(sight.all()) {
        if *earned > best.bar().max(0.0) && *seen {
            best.offer(*earned, doc);
        }
    }
    best.rows()
}

/// Adds the best sense of a word to each document that has one; gives what could be had at most.
///
/// `best` is room to work in, empty or all zeros before and after.
fn add_word(
    index: &Index,
    sight: &Sight<'_>,
    word: &Word,
    best: &mut Vec<f32>,
    earned: &mut [f32],
) -> f32 {
    let Some((first, others)) = word.senses.split_first() else { return 0.0 };
    let own = rarity(index, sight, first);
    // A synonym tells no more than the word itself would.
    let cap = if first.via == Via::Synonym { f32::MAX } else { own };
    if others.is_empty() {
        for posting in index.postings(&first.stem) {
            if let Some(place) = earned.get_mut(at(posting.doc)) {
                *place += first.weight * own * posting.earned();
            }
        }
        return own;
    }
    best.resize(earned.len(), 0.0);
    for sense in &word.senses {
        let worth = sense.weight * rarity(index, sight, sense).min(cap);
        for posting in index.postings(&sense.stem) {
            if let Some(place) = best.get_mut(at(posting.doc)) {
                *place = place.max(worth * posting.earned());
            }
        }
    }
    for sense in &word.senses {
        move_over(index.postings(&sense.stem), best, earned);
    }
    own
}

fn move_over(postings: &[Posting], best: &mut [f32], earned: &mut [f32]) {
    for doc in postings.iter().map(|posting| at(posting.doc)) {
        if let Some((best, earned)) = best.get_mut(doc).zip(earned.get_mut(doc)) {
            *earned += std::mem::take(best);
        }
    }
}

fn rarity(index: &Index, sight: &Sight<'_>, sense: &Sense) -> f32 {
    sight.rarity(sight.holders(index.postings(&sense.stem)))
}
