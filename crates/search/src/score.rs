//! The score of every document: the part of words, the part of meaning, and what was named.

use crate::embed::{Needle, embed};
use crate::index::{Field, Index, Posting, real};
use crate::names::is_identifier;
use crate::query::{Reading, Sense, Via, Word};
use crate::sight::Sight;

/// All vectors have one place a document.
#[derive(Debug)]
pub(crate) struct Scores {
    pub(crate) words: Vec<f32>,
    pub(crate) meaning: Vec<f32>,
    pub(crate) named: Vec<f32>,
    /// Only of the documents that lead without it.
    pub(crate) covered: Vec<f32>,
    pub(crate) total: Vec<f32>,
    best: f32,
}

/// A cosine below which a document without any common word is no hit.
const MEANING_MIN: f32 = 0.25;
const NAMED_AS_WRITTEN: f32 = 2.0;
const NAMED_SQUASHED: f32 = 1.0;
const NAMED_WITHIN: f32 = 0.4;
const NAMESPACE_SAID: f32 = 0.06;

pub(crate) fn score(index: &Index, sight: &Sight, query: &str, reading: &Reading) -> Scores {
    let words = by_words(index, sight, &reading.words);
    let meaning = by_meaning(index, reading);
    let named = by_name(index, query, reading);
    let lean = lean_on_words(sight.count, query, reading);
    let parts = words.iter().zip(&meaning).zip(&named);
    let mut total: Vec<f32> = parts
        .map(|((words, meaning), named)| (lean * words + meaning.max(0.0)) / (1.0 + lean) + named)
        .collect();
    let covered = by_coverage(index, sight, &reading.words, &total);
    for (total, covered) in total.iter_mut().zip(&covered) {
        *total += covered;
    }
    let mut scores = Scores { words, meaning, named, covered, total, best: 0.0 };
    scores.best = scores.found(sight).fold(0.0, |best, (score, _)| best.max(score));
    scores
}

impl Scores {
    /// Visible documents that have anything to do with the query, with their scores.
    pub(crate) fn found(&self, sight: &Sight) -> impl Iterator<Item = (f32, usize)> {
        let likeness = self.words.iter().zip(&self.meaning).zip(&self.named);
        let rows = likeness.zip(self.total.iter().zip(sight.all())).enumerate();
        rows.filter_map(|(doc, (((words, meaning), named), (total, seen)))| {
            let hit = *words > 0.0 || *named > 0.0 || *meaning >= MEANING_MIN;
            (*seen && hit && *total > 0.0).then_some((*total, doc))
        })
    }

    pub(crate) fn best(&self) -> f32 {
        self.best
    }
}

/// How much words count against meaning. Meaning tells more apart the more there is to tell apart;
/// a name half remembered is a matter of words.
pub(crate) fn lean_on_words(count: usize, query: &str, reading: &Reading) -> f32 {
    const SMALL: f32 = 1.2;
    const PER_TENFOLD: f32 = 0.3;
    const FLOOR: f32 = 0.4;
    let tenfolds =
        crate::log::ln(f64::from(real(count.max(100))) / 100.0) / std::f64::consts::LN_10;
    #[expect(clippy::cast_possible_truncation, reason = "a small number")]
    let lean = (SMALL - PER_TENFOLD * tenfolds as f32).max(FLOOR);
    let like_a_name = reading.texts.len() <= 3 && is_identifier(query.trim());
    if like_a_name { lean * 2.0 } else { lean }
}

/// How much of the query's rarity each document earns.
///
/// Held against all that could be earned, drawn a little towards the most that anyone visible does:
/// against all alone, a long query would leave words no say.
fn by_words(index: &Index, sight: &Sight, words: &[Word]) -> Vec<f32> {
    /// Keeps a single common word from counting as a whole answer.
    const DOUBT: f32 = 2.0;
    const MOST_MIN: f32 = 0.5;
    let mut earned = vec![0.0; index.len()];
    let mut best = vec![0.0; index.len()];
    let mut all = DOUBT;
    for word in words {
        all += add_word(index, sight, word, &mut best, &mut earned);
    }
    let seen = earned.iter().zip(sight.all()).filter(|(_, seen)| **seen);
    let most = seen.fold(MOST_MIN, |most, (earned, _)| most.max(*earned));
    let whole = (all * (all * most).sqrt()).sqrt();
    for earned in &mut earned {
        *earned /= whole;
    }
    earned
}

/// Adds the best sense of a word to each document that has one; gives what could be had at most.
fn add_word(
    index: &Index,
    sight: &Sight,
    word: &Word,
    best: &mut [f32],
    earned: &mut [f32],
) -> f32 {
    let Some((first, others)) = word.senses.split_first() else { return 0.0 };
    let own = rarity(index, sight, first);
    // A synonym tells no more than the word itself would.
    let cap = if first.via == Via::Synonym { f32::MAX } else { own };
    let postings = index.postings(&first.stem);
    if others.is_empty() {
        for (place, posting) in places(postings, earned) {
            *place += first.weight * own * posting.earned;
        }
        return own;
    }
    let mut touched: Vec<u32> = Vec::new();
    for sense in &word.senses {
        let worth = sense.weight * rarity(index, sight, sense).min(cap);
        for (place, posting) in places(index.postings(&sense.stem), best) {
            if *place <= 0.0 {
                touched.push(posting.doc);
            }
            *place = place.max(worth * posting.earned);
        }
    }
    for doc in touched {
        let doc = usize::try_from(doc).unwrap_or(usize::MAX);
        if let Some((best, earned)) = best.get_mut(doc).zip(earned.get_mut(doc)) {
            *earned += std::mem::take(best);
        }
    }
    own
}

fn places<'p, 'e>(
    postings: &'p [Posting],
    scores: &'e mut [f32],
) -> impl Iterator<Item = (&'e mut f32, &'p Posting)> + use<'p, 'e> {
    // INVARIANT: postings stand in order of documents, each once.
    let mut rest = scores.iter_mut();
    let mut next = 0_u32;
    postings.iter().filter_map(move |posting| {
        let skip = usize::try_from(posting.doc.checked_sub(next)?).ok()?;
        next = posting.doc.checked_add(1)?;
        rest.nth(skip).map(|place| (place, posting))
    })
}

fn rarity(index: &Index, sight: &Sight, sense: &Sense) -> f32 {
    sight.rarity(sight.holders(index.postings(&sense.stem)))
}

fn by_meaning(index: &Index, reading: &Reading) -> Vec<f32> {
    let texts = reading.texts.iter().map(|(text, weight)| (text.as_str(), *weight));
    let needle = Needle::new(&embed(&index.table, texts));
    if needle.is_nothing() {
        return vec![0.0; index.len()];
    }
    index.vectors.cosines(&needle).collect()
}

/// How much of its name the query says, for the leading documents only: a common word in a short
/// name should decide between neighbours, not lift strangers.
fn by_coverage(index: &Index, sight: &Sight, words: &[Word], total: &[f32]) -> Vec<f32> {
    const COVERED: f32 = 0.13;
    const LEADING: usize = 64;
    let scored = (0_u32..).zip(total).filter(|(doc, score)| **score > 0.0 && sight.sees(*doc));
    let mut leading: Vec<(f32, u32)> = scored.map(|(doc, score)| (*score, doc)).collect();
    if leading.len() > LEADING {
        leading.select_nth_unstable_by(LEADING, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        leading.truncate(LEADING);
    }
    let mut covered = vec![0.0; total.len()];
    for (_, doc) in leading {
        let said: f32 = words.iter().map(|word| in_name(index, word, doc)).sum();
        let place = usize::try_from(doc).unwrap_or(usize::MAX);
        if let Some((covered, label)) = covered.get_mut(place).zip(index.labels.get(place)) {
            *covered = COVERED * (said / label.name_words.max(1.0)).min(1.0);
        }
    }
    covered
}

fn in_name(index: &Index, word: &Word, doc: u32) -> f32 {
    let named = word.senses.iter().filter(|sense| {
        let posting = index.posting(&sense.stem, doc);
        posting.is_some_and(|posting| posting.fields & Field::Name.bit() != 0)
    });
    named.fold(0.0, |best, sense| best.max(sense.weight))
}

fn by_name(index: &Index, query: &str, reading: &Reading) -> Vec<f32> {
    let mut lifts = vec![0.0_f32; index.len()];
    let mut lift = |docs: &[u32], by: f32| {
        for doc in docs.iter().filter_map(|doc| usize::try_from(*doc).ok()) {
            if let Some(lift) = lifts.get_mut(doc) {
                *lift += by;
            }
        }
    };
    lift(index.names.written(query), NAMED_AS_WRITTEN);
    lift(index.names.squashed(query), NAMED_SQUASHED);
    for name in &reading.identifiers {
        lift(index.names.squashed(name), NAMED_WITHIN);
    }
    let mut said: Vec<&str> = reading.texts.iter().map(|(text, _)| text.as_str()).collect();
    said.sort_unstable();
    said.dedup();
    for word in said {
        lift(index.names.namespace(word), NAMESPACE_SAID);
    }
    lifts
}
