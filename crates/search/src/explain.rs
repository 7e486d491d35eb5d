//! Why a document stands where it stands, for people.

use crate::doc::Field;
use crate::index::Index;
use crate::part::Posting;
use crate::query::{Via, Word};
use crate::rank::{Ask, Weighed, at, used, weigh};

/// The parts of one document's score; they add up to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Position among the documents of the index.
    pub doc: usize,
    pub score: f64,
    pub from_words: f64,
    pub from_meaning: f64,
    /// A name or namespace said outright.
    pub from_names: f64,
    /// How much of the document's name the query says.
    pub from_coverage: f64,
    /// The caller used it before.
    pub from_use: f64,
    pub reasons: Vec<Reason>,
}

/// One word of the query that the document has.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    pub spoken: String,
    /// The folded word that stands in the document.
    pub matched: String,
    pub via: Via,
    pub fields: Vec<Field>,
}

impl Index {
    /// The hits that asking gives, each with where its score comes from.
    pub fn explain(&self, ask: &Ask<'_>) -> Vec<Explanation> {
        let weighed = weigh(self, ask);
        let hits = weighed.found.iter().take(ask.top_k);
        hits.map(|(score, doc)| explanation(self, ask, &weighed, *score, *doc)).collect()
    }
}

fn explanation(
    index: &Index,
    ask: &Ask<'_>,
    weighed: &Weighed,
    score: f32,
    doc: u32,
) -> Explanation {
    let Weighed { reading, scores, .. } = weighed;
    let from_words = scores.lean * scores.words(doc) / (1.0 + scores.lean);
    let from_meaning = scores.meaning(index, doc).max(0.0) / (1.0 + scores.lean);
    let (from_names, from_use) = (scores.named(doc), used(ask, doc));
    let rest = score - from_words - from_meaning - from_names - from_use;
    Explanation {
        doc: at(doc),
        score: score.into(),
        from_words: from_words.into(),
        from_meaning: from_meaning.into(),
        from_names: from_names.into(),
        from_coverage: rest.max(0.0).into(),
        from_use: from_use.into(),
        reasons: reading.words.iter().flat_map(|word| reasons(index, word, doc)).collect(),
    }
}

fn reasons(index: &Index, word: &Word, doc: u32) -> Vec<Reason> {
    let there = word.senses.iter().filter_map(|sense| {
        let fields = fields(*index.posting(&sense.stem, doc)?);
        let (spoken, matched) = (word.spoken.clone(), sense.stem.clone());
        Some(Reason { spoken, matched, via: sense.via, fields })
    });
    there.collect()
}

fn fields(posting: Posting) -> Vec<Field> {
    Field::ALL.into_iter().filter(|field| posting.fields & field.bit() != 0).collect()
}
