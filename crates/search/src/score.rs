//! The score of a document: the part of words, the part of meaning, and what was named; and which
//! documents have the best ones.

mod best;
mod earned;

use crate::doc::Field;
use crate::embed::{Needle, embed};
use crate::index::{Index, find};
use crate::names::is_identifier;
use crate::outside;
use crate::part::{Posting, real};
use crate::query::{Reading, Word};
use crate::rank::{Ask, at};
use crate::sight::Sight;

pub(crate) use best::Best;
use earned::{Earned, by_words};

/// What scores are made of; a document's own is worked out when it is asked for.
#[derive(Debug)]
pub(crate) struct Scores {
    earned: Earned,
    meaning: Meaning,
    /// One place a document, or none where nothing was named.
    named: Vec<f32>,
    /// Likeness below which a document without any common word is no hit.
    least: f32,
    /// How much words count against meaning.
    pub(crate) lean: f32,
}

#[derive(Debug)]
enum Meaning {
    /// By the built-in table.
    Needle(Needle),
    /// One place a document.
    Given(Vec<f32>),
}

/// Of the built-in table.
const MEANING_MIN: f32 = 0.25;
/// More than the cosine of two rounded vectors of length one can be.
const MEANING_MAX: f32 = 1.05;
const NAMED_AS_WRITTEN: f32 = 2.0;
const NAMED_SQUASHED: f32 = 1.0;
const NAMED_WITHIN: f32 = 0.4;
const NAMESPACE_SAID: f32 = 0.03;

/// With the meaning the query brings, else by the built-in table; `count` documents are wanted.
pub(crate) fn score(
    index: &Index,
    sight: &Sight<'_>,
    ask: &Ask<'_>,
    reading: &Reading,
    count: usize,
) -> Scores {
    let given = ask.meaning.and_then(|vector| outside::from_outside(index, sight, vector));
    Scores {
        least: if given.is_some() { outside::MEAN } else { MEANING_MIN },
        earned: by_words(index, sight, &reading.words, count),
        meaning: given.map_or_else(|| Meaning::Needle(needle(index, reading)), Meaning::Given),
        named: by_name(index, ask.query, reading),
        lean: lean_on_words(sight.count, ask.query, reading),
    }
}

impl Scores {
    /// The best so many visible documents that have anything to do with the query, in no order.
    ///
    /// Most documents have too few of the query's words to be among them whatever they mean, and
    /// their meaning is not looked at. How many that are is known early: the documents with the
    /// most words are looked at first.
    pub(crate) fn leading(
        &self,
        index: &Index,
        sight: &Sight<'_>,
        count: usize,
    ) -> Vec<(f32, u32)> {
        let mut early = Best::new(count);
        for doc in &self.earned.leading {
            self.offer(*doc, self.meaning(index, *doc), &mut early);
        }
        let mut best = Best::above(early.last_bar(), count);
        match &self.meaning {
            Meaning::Given(given) => {
                self.scan(0, given.iter(), |meaning| *meaning, sight, &mut best);
            }
            Meaning::Needle(needle) => {
                for (first, vectors) in index.vectors() {
                    self.scan(first, vectors.rows(), |row| needle.cosine(row), sight, &mut best);
                }
            }
        }
        best.rows()
    }

    /// The share of the query's words, by rarity, that a document earns.
    pub(crate) fn words(&self, doc: u32) -> f32 {
        self.earned.share(read(&self.earned.all, at(doc)))
    }

    pub(crate) fn meaning(&self, index: &Index, doc: u32) -> f32 {
        match &self.meaning {
            Meaning::Given(given) => read(given, at(doc)),
            Meaning::Needle(needle) => index.cosine(at(doc), needle),
        }
    }

    pub(crate) fn named(&self, doc: u32) -> f32 {
        read(&self.named, at(doc))
    }

    /// Offers what can be among the best of rows that belong to neighbouring documents.
    fn scan<R>(
        &self,
        first: usize,
        rows: impl Iterator<Item = R>,
        meaning: impl Fn(R) -> f32,
        sight: &Sight<'_>,
        best: &mut Best,
    ) {
        let earned = self.earned.all.iter().zip(sight.all()).enumerate().skip(first);
        let mut needed = self.needed(best.bar());
        let per_earned = self.lean / self.earned.whole;
        for ((doc, (earned, seen)), row) in earned.zip(rows) {
            let is_named = read(&self.named, doc) > 0.0;
            let words = per_earned * earned;
            if !seen || (!is_named && words + MEANING_MAX < needed) {
                continue;
            }
            let meaning = meaning(row);
            if !is_named && words + meaning.max(0.0) < needed {
                continue;
            }
            let Ok(doc) = u32::try_from(doc) else { return };
            if self.offer(doc, meaning, best) {
                needed = self.needed(best.bar());
            }
        }
    }

    /// Whether it raised the bar.
    fn offer(&self, doc: u32, meaning: f32, best: &mut Best) -> bool {
        let (words, named) = (self.words(doc), self.named(doc));
        let is_hit = words > 0.0 || meaning >= self.least || named > 0.0;
        let likeness = (self.lean * words + meaning.max(0.0)) / (1.0 + self.lean);
        is_hit && best.offer(likeness + named, doc)
    }

    /// What words and meaning must come to, weighed against each other, to reach a score; a little
    /// less, so that rounding leaves nobody out.
    fn needed(&self, score: f32) -> f32 {
        const ROUNDING: f32 = 1e-4;
        (score - ROUNDING) * (1.0 + self.lean)
    }
}

fn read(values: &[f32], doc: usize) -> f32 {
    values.get(doc).copied().unwrap_or_default()
}

/// Each word's senses with their postings, looked up once.
pub(crate) type Places<'i> = Vec<Vec<(f32, &'i [Posting])>>;

pub(crate) fn places_of<'i>(index: &'i Index, words: &[Word]) -> Places<'i> {
    let senses = |word: &Word| {
        word.senses.iter().map(|sense| (sense.weight, index.postings(&sense.stem))).collect()
    };
    words.iter().map(senses).collect()
}

/// The share of a document's name that the query says, and the neighbouring words of the query that
/// both stand in it, times what that is worth.
pub(crate) fn coverage(index: &Index, places: &Places<'_>, doc: u32) -> f32 {
    const COVERED: f32 = 0.08;
    const PAIR: f32 = 0.025;
    const PAIRS_MAX: usize = 2;
    let said: Vec<f32> = places.iter().map(|senses| in_name(senses, doc)).collect();
    let pairs = said.windows(2).filter(|pair| pair.iter().all(|said| *said > 0.0)).count();
    let label = usize::try_from(doc).ok().and_then(|doc| index.label(doc));
    let words = label.map_or(1.0, |label| label.name_words.max(1.0));
    let share = said.iter().fold(0.0, |sum, said| sum + said) / words;
    COVERED * share.min(1.0) + PAIR * real(pairs.min(PAIRS_MAX))
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
    const PER_TENFOLD: f32 = 0.2;
    const FLOOR: f32 = 0.4;
    let tenfolds =
        crate::log::ln(f64::from(real(count.max(100))) / 100.0) / std::f64::consts::LN_10;
    #[expect(clippy::cast_possible_truncation, reason = "a small number")]
    let lean = (SMALL - PER_TENFOLD * tenfolds as f32).max(FLOOR);
    let like_a_name = reading.texts.len() <= 3 && is_identifier(query.trim());
    if like_a_name { lean * 2.0 } else { lean }
}

fn needle(index: &Index, reading: &Reading) -> Needle {
    let texts = reading.texts.iter().map(|(text, weight)| (text.as_str(), *weight));
    Needle::new(&embed(index.table(), texts))
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

#[cfg(test)]
mod tests;
