//! What a query says: its words, what else each may mean, and how it reads as a whole.

use crate::glossary::{english, from_chinese};
use crate::index::{Index, head};
use crate::limits;
use crate::names::is_identifier;
use crate::sight::Sight;
use crate::synonyms::synonyms;
use crate::words::{is_filler, spaced, stem, words};

/// How a word of the query led to a word of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    Itself,
    Synonym,
    Translation,
    Spelling,
}

impl Via {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Itself => "itself",
            Self::Synonym => "synonym",
            Self::Translation => "translation",
            Self::Spelling => "spelling",
        }
    }

    fn weight(self) -> f32 {
        match self {
            Self::Itself => 1.0,
            Self::Translation => 0.9,
            Self::Spelling => 0.8,
            Self::Synonym => 0.7,
        }
    }
}

/// One word to look for, with everything that may stand for it. Each sense is in the index.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) spoken: String,
    pub(crate) senses: Vec<Sense>,
}

#[derive(Clone, Debug)]
pub(crate) struct Sense {
    pub(crate) stem: String,
    pub(crate) weight: f32,
    pub(crate) via: Via,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) words: Vec<Word>,
    /// The query in English and spelt right as far as known, fillers lighter.
    pub(crate) texts: Vec<(String, f32)>,
    /// As the caller spelt them.
    pub(crate) unmatched: Vec<String>,
    /// Names as programs write them, and the query's opening word.
    pub(crate) identifiers: Vec<String>,
}

/// What a filler weighs in the meaning of a sentence.
const FILLER_MEANS: f32 = 0.3;

pub(crate) fn read(index: &Index, sight: &Sight, query: &str) -> Reading {
    let query = head(query, limits::QUERY_CHARS_MAX);
    let spoken: Vec<&str> =
        query.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()).collect();
    let only_fillers = spoken.iter().all(|run| is_filler(&run.to_lowercase()));
    let mut reading = Reading::default();
    for run in spoken.into_iter().take(limits::QUERY_WORDS_MAX * 2) {
        if !only_fillers && is_filler(&run.to_lowercase()) {
            reading.texts.push((run.to_owned(), FILLER_MEANS));
        } else {
            hear(index, sight, run, &mut reading);
        }
    }
    let marks = query.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace());
    let marks = marks.take(limits::QUERY_WORDS_MAX).map(|mark| (mark.to_string(), 1.0));
    reading.texts.extend(marks);
    if reading.words.len() > limits::SYNONYMS_WORDS_MAX {
        for word in &mut reading.words {
            let own = word.senses.iter().any(|sense| sense.via != Via::Synonym);
            word.senses.retain(|sense| !own || sense.via != Via::Synonym);
        }
    }
    reading.words.truncate(limits::QUERY_WORDS_MAX);
    let named = query.split_whitespace().filter(|word| is_identifier(word));
    reading.identifiers = named.map(str::to_owned).collect();
    reading
}

/// One run of letters and digits: its parts, and whether any of them is known.
fn hear(index: &Index, sight: &Sight, run: &str, reading: &mut Reading) {
    let mut found = false;
    let mut means: Option<String> = None;
    for (word, via) in parts(run) {
        let (senses, read_as) = senses(index, sight, &word, via);
        found |= !senses.is_empty();
        means = means.or(read_as);
        let known = |other: &Word| {
            other.senses.first().map(|sense| &sense.stem) == senses.first().map(|sense| &sense.stem)
        };
        if !senses.is_empty() && !reading.words.iter().any(known) {
            reading.words.push(Word { spoken: run.to_owned(), senses });
        }
    }
    if !found && !reading.unmatched.iter().any(|word| word == run) {
        reading.unmatched.push(run.to_owned());
    }
    reading.texts.push((means.unwrap_or_else(|| spaced(run)), 1.0));
}

fn parts(run: &str) -> Vec<(String, Via)> {
    let chinese = from_chinese(run);
    if chinese.is_empty() {
        return words(run).into_iter().map(|word| (word, Via::Itself)).collect();
    }
    chinese.into_iter().map(|word| (word.to_owned(), Via::Translation)).collect()
}

/// What a word may stand for among what is visible, and how it reads if not as written.
fn senses(index: &Index, sight: &Sight, word: &str, via: Via) -> (Vec<Sense>, Option<String>) {
    let read_as = (via != Via::Itself).then(|| word.to_owned());
    let own = with_synonyms(index, sight, word, via);
    if own.first().is_some_and(|sense| sense.via != Via::Synonym) || via != Via::Itself {
        return (own, read_as);
    }
    if let Some(english) = english(word) {
        return (with_synonyms(index, sight, english, Via::Translation), Some(english.to_owned()));
    }
    if !own.is_empty() || index.table.knows(word) {
        return (own, None);
    }
    let spellings = spellings(index, sight, word);
    let read_as = spellings.first().map(|(_, spelling)| (*spelling).to_owned());
    let mut senses: Vec<Sense> = Vec::new();
    for (_, spelling) in spellings {
        let more = with_synonyms(index, sight, spelling, Via::Spelling);
        senses.extend(more.into_iter().filter(|sense| sense.via == Via::Spelling));
    }
    (senses, read_as)
}

fn with_synonyms(index: &Index, sight: &Sight, word: &str, via: Via) -> Vec<Sense> {
    let own = stem(word).into_owned();
    let weaker = |other: &str| Sense {
        stem: other.to_owned(),
        weight: via.weight() * Via::Synonym.weight(),
        via: Via::Synonym,
    };
    let others: Vec<Sense> = synonyms(&own).iter().map(|other| weaker(other)).collect();
    let own = Sense { stem: own, weight: via.weight(), via };
    let all = std::iter::once(own).chain(others);
    let tells = |sense: &Sense| {
        let postings = index.postings(&sense.stem);
        sight.any(postings) && (sense.via != Via::Synonym || !sight.is_common(postings))
    };
    all.filter(tells).collect()
}

/// Visible words one slip away, the most common first.
fn spellings<'i>(index: &'i Index, sight: &Sight, word: &str) -> Vec<(usize, &'i str)> {
    let near = index.spellings.near(word).into_iter();
    let mut counted: Vec<(usize, &str)> =
        near.map(|other| (sight.holders(index.postings(&stem(other))), other)).collect();
    counted.retain(|(holders, _)| *holders > 0);
    counted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    counted.truncate(limits::SPELLINGS_MAX);
    counted
}
