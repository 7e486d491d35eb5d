//! The score of every document: the part of words, the part of meaning, and what was named.

use crate::doc::Field;
use crate::embed::{Needle, embed};
use crate::index::{Index, find};
use crate::names::is_identifier;
use crate::outside;
use crate::part::{Posting, real};
use crate::query::{Reading, Sense, Via, Word};
use crate::sight::Sight;

/// All vectors have one place a document; `named` has none where nothing was named.
#[derive(Debug)]
pub(crate) struct Scores {
    pub(crate) words: Vec<f32>,
    pub(crate) meaning: Vec<f32>,
    named: Vec<f32>,
    /// Likeness below which a document without any common word is no hit.
    least: f32,
    /// How much words count against meaning.
    pub(crate) lean: f32,
}

/// Of the built-in table.
const MEANING_MIN: f32 = 0.25;
const NAMED_AS_WRITTEN: f32 = 2.0;
const NAMED_SQUASHED: f32 = 1.0;
const NAMED_WITHIN: f32 = 0.4;
const NAMESPACE_SAID: f32 = 0.03;

/// With the meanings given, else with those of the built-in table.
pub(crate) fn score(
    index: &Index,
    sight: &Sight,
    query: &str,
    reading: &Reading,
    meaning: Option<Vec<f32>>,
) -> Scores {
    Scores {
        least: if meaning.is_some() { outside::MEAN } else { MEANING_MIN },
        words: by_words(index, sight, &reading.words),
        meaning: meaning.unwrap_or_else(|| by_meaning(index, reading)),
        named: by_name(index, query, reading),
        lean: lean_on_words(sight.count, query, reading),
    }
}

impl Scores {
    /// Visible documents that have anything to do with the query, with their scores.
    pub(crate) fn found(&self, sight: &Sight) -> Vec<(f32, u32)> {
        let rows = (0_u32..).zip(self.words.iter().zip(&self.meaning)).zip(sight.all());
        let hits = rows.filter_map(|((doc, (words, meaning)), seen)| {
            let named = if self.named.is_empty() { 0.0 } else { self.named(doc) };
            let hit = *words > 0.0 || *meaning >= self.least || named > 0.0;
            let likeness = (self.lean * words + meaning.max(0.0)) / (1.0 + self.lean);
            (*seen && hit).then_some((likeness + named, doc))
        });
        hits.collect()
    }

    pub(crate) fn named(&self, doc: u32) -> f32 {
        usize::try_from(doc).ok().and_then(|doc| self.named.get(doc)).copied().unwrap_or_default()
    }
}

/// Each word's senses with their postings, looked up once.
pub(crate) type Places<'i> = Vec<Vec<(f32, &'i [Posting])>>;

pub(crate) fn places_of<'i>(index: &'i Index, words: &[Word]) -> Places<'i> {
    let senses = |word: &Word| {
        word.senses.iter().map(|sense| (sense.weight, index.postings(&sense.stem))).collect()
    };
    words.iter().map(senses).collect()
}

/// The share of a document's name that the query says, times what that is worth.
pub(crate) fn coverage(index: &Index, places: &Places<'_>, doc: u32) -> f32 {
    const COVERED: f32 = 0.095;
    let said: f32 = places.iter().map(|senses| in_name(senses, doc)).sum();
    let label = usize::try_from(doc).ok().and_then(|doc| index.label(doc));
    label.map_or(0.0, |label| COVERED * (said / label.name_words.max(1.0)).min(1.0))
}

fn in_name(senses: &[(f32, &[Posting])], doc: u32) -> f32 {
    let named = senses.iter().filter(|(_, postings)| {
        let posting = find(postings, doc);
        posting.is_some_and(|posting| posting.fields & Field::Name.bit() != 0)
    });
    named.fold(0.0, |best, (weight, _)| best.max(*weight))
}

/// How much words count against meaning. Meaning tells more apart the more there is to tell apart;
/// a name half remembered is a matter of words.
fn lean_on_words(count: usize, query: &str, reading: &Reading) -> f32 {
    const SMALL: f32 = 1.8;
    const PER_TENFOLD: f32 = 0.1;
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
            *place += first.weight * own * posting.earned();
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
            *place = place.max(worth * posting.earned());
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
    let needle = Needle::new(&embed(index.table(), texts));
    if needle.is_nothing() {
        return vec![0.0; index.len()];
    }
    index.cosines(&needle)
}

fn by_name(index: &Index, query: &str, reading: &Reading) -> Vec<f32> {
    let within =
        reading.identifiers.iter().map(|name| (index.names().squashed(name), NAMED_WITHIN));
    let spaces = reading.places.iter().map(|said| (index.names().place(said), NAMESPACE_SAID));
    let whole = [
        (index.names().written(query), NAMED_AS_WRITTEN),
        (index.names().squashed(query), NAMED_SQUASHED),
    ];
    let mut lifts = Vec::new();
    for (docs, by) in whole.into_iter().chain(within).chain(spaces) {
        if !docs.is_empty() {
            lifts.resize(index.len(), 0.0);
        }
        for doc in docs.iter().filter_map(|doc| usize::try_from(*doc).ok()) {
            if let Some(lift) = lifts.get_mut(doc) {
                *lift += by;
            }
        }
    }
    lifts
}
