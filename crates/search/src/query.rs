//! What a query says: its words, what else each may mean, and how it reads as a whole.

use crate::doc::head;
use crate::glossary::{english, from_chinese};
use crate::index::Index;
use crate::limits;
use crate::names::is_identifier;
use crate::sight::Sight;
use crate::synonyms::synonyms;
use crate::wordpiece::is_ideograph;
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
            Self::Synonym => 0.5,
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
    /// Names as programs write them.
    pub(crate) identifiers: Vec<String>,
    /// Words and pairs of neighbours, any of which may name a namespace.
    pub(crate) places: Vec<String>,
}

/// What a filler weighs in the meaning of a sentence.
const FILLER_MEANS: f32 = 0.4;

pub(crate) fn read(index: &Index, sight: &Sight<'_>, query: &str) -> Reading {
    let query = head(query, limits::QUERY_CHARS_MAX);
    let spoken: Vec<&str> =
        query.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()).collect();
    let telling = spoken.iter().filter(|run| !is_filler(&run.to_lowercase())).count();
    let only_fillers = telling == 0;
    let ear = Ear { index, sight, is_long: telling > limits::SYNONYMS_WORDS_MAX };
    let mut reading = Reading { places: places(&spoken), ..Reading::default() };
    for run in spoken.into_iter().take(limits::QUERY_WORDS_MAX * 2) {
        if !only_fillers && is_filler(&run.to_lowercase()) {
            reading.texts.push((run.to_owned(), FILLER_MEANS));
        } else {
            ear.hear(run, &mut reading);
        }
    }
    let marks = query.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace());
    let marks = marks.take(limits::QUERY_WORDS_MAX).map(|mark| (mark.to_string(), 1.0));
    if !reading.texts.is_empty() {
        reading.texts.extend(marks);
    }
    reading.words.truncate(limits::QUERY_WORDS_MAX);
    let named = query.split_whitespace().filter(|word| is_identifier(word));
    reading.identifiers = named.map(str::to_owned).collect();
    reading
}

/// What listening needs to know.
struct Ear<'i> {
    index: &'i Index,
    sight: &'i Sight<'i>,
    /// A long query says enough by itself.
    is_long: bool,
}

impl Ear<'_> {
    /// One run of letters and digits: its parts, and whether any of them is known.
    fn hear(&self, run: &str, reading: &mut Reading) {
        let mut found = false;
        let mut means: Option<String> = None;
        for (word, via) in parts(run) {
            let (senses, read_as) = self.senses(&word, via);
            means = means.or(read_as);
            let Some(first) = senses.first().map(|sense| &sense.stem) else { continue };
            found = true;
            let known = |other: &Word| other.senses.first().map(|sense| &sense.stem) == Some(first);
            if !reading.words.iter().any(known) {
                reading.words.push(Word { spoken: run.to_owned(), senses });
            }
        }
        let is_unknown = !found && !self.is_named(run);
        if is_unknown && !reading.unmatched.iter().any(|word| word == run) {
            reading.unmatched.push(run.to_owned());
        }
        reading.texts.push((means.unwrap_or_else(|| spaced(run)), 1.0));
    }

    /// Whether anything visible goes by this name, or lies in a place of it.
    fn is_named(&self, run: &str) -> bool {
        let names = self.index.names();
        [names.place(run), names.squashed(run)].concat().into_iter().any(|doc| self.sight.sees(doc))
    }

    /// What a word may stand for among what is visible, and how it reads if not as written.
    fn senses(&self, word: &str, via: Via) -> (Vec<Sense>, Option<String>) {
        let own = self.with_synonyms(word, via);
        if via != Via::Itself {
            return (own, Some(word.to_owned()));
        }
        if own.first().is_some_and(|sense| sense.via == Via::Itself) {
            return (own, None);
        }
        if let Some(english) = english(word) {
            return (self.with_synonyms(english, Via::Translation), Some(english.to_owned()));
        }
        if !own.is_empty() || self.index.table().knows(word) {
            return (own, None);
        }
        let spellings = self.spellings(word);
        let meant = spellings.first().map(|(_, text)| text.clone());
        let senses = spellings.into_iter().map(|(stem, _)| Sense {
            stem,
            weight: Via::Spelling.weight(),
            via: Via::Spelling,
        });
        (senses.collect(), meant)
    }

    /// The word itself first, where it is known.
    fn with_synonyms(&self, word: &str, via: Via) -> Vec<Sense> {
        let own = Sense { stem: stem(word).into_owned(), weight: via.weight(), via };
        let is_known = self.sight.any(self.index.postings(&own.stem));
        if is_known && self.is_long {
            return vec![own];
        }
        let others = synonyms(&own.stem).iter().filter(|other| {
            let postings = self.index.postings(other);
            self.sight.any(postings) && !self.sight.is_common(postings)
        });
        let others = others.map(|other| Sense {
            stem: other.clone().into_string(),
            weight: via.weight() * Via::Synonym.weight(),
            via: Via::Synonym,
        });
        let others: Vec<Sense> = others.collect();
        is_known.then_some(own).into_iter().chain(others).collect()
    }

    /// Visible words one slip away, folded and as a reader would write them, the most common first.
    ///
    /// Looked for among English words and among the folded words of the documents. Words as the
    /// documents write them would tell of hidden ones: a hidden `issues` would lead a slip to a
    /// visible `issue`.
    fn spellings(&self, word: &str) -> Vec<(String, String)> {
        let english = self.index.table().near(word).into_iter();
        let english = english.map(|other| (stem(other).into_owned(), other.to_owned()));
        let folded = stem(word);
        let listed = self.index.spellings().near(&folded).into_iter();
        let listed = listed.map(|other| (other.to_owned(), other.to_owned()));
        let counted = english
            .chain(listed)
            .map(|(stem, text)| (self.sight.holders(self.index.postings(&stem)), stem, text));
        let mut counted: Vec<(usize, String, String)> =
            counted.filter(|(holders, ..)| *holders > 0).collect();
        counted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        counted.dedup_by(|a, b| a.1 == b.1);
        counted.truncate(limits::SPELLINGS_MAX);
        counted.into_iter().map(|(_, stem, text)| (stem, text)).collect()
    }
}

fn places(spoken: &[&str]) -> Vec<String> {
    let telling: Vec<String> = spoken.iter().map(|word| word.to_lowercase()).collect();
    let spoken = || telling.iter().filter(|word| !is_filler(word)).take(limits::QUERY_WORDS_MAX);
    let pairs = spoken().zip(spoken().skip(1)).map(|(one, next)| format!("{one}{next}"));
    let mut places: Vec<String> = spoken().cloned().chain(pairs).collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn parts(run: &str) -> Vec<(String, Via)> {
    let itself = || words(run).into_iter().map(|word| (word, Via::Itself)).collect();
    if !run.chars().any(is_ideograph) {
        return itself();
    }
    let english: Vec<(String, Via)> =
        from_chinese(run).into_iter().map(|word| (word.to_owned(), Via::Translation)).collect();
    if english.is_empty() { itself() } else { english }
}
