//! Why a document stands where it stands, for people.

use crate::index::{Field, Index, Posting};
use crate::query::{Via, Word, read};
use crate::rank::in_order;
use crate::score::score;
use crate::sight::Sight;

/// The parts of one document's score; they add up to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    pub score: f64,
    pub from_words: f64,
    pub from_meaning: f64,
    /// A name or namespace said outright.
    pub from_names: f64,
    /// How much of the document's name the query says.
    pub from_coverage: f64,
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
    /// Nothing for a document the caller may not see, or that has nothing to do with the query.
    pub fn explain(
        &self,
        query: &str,
        doc: usize,
        allowed: &dyn Fn(usize) -> bool,
    ) -> Option<Explanation> {
        let sight = Sight::new(self, allowed);
        let reading = read(self, &sight, query);
        let scores = score(self, &sight, query, &reading);
        let number = u32::try_from(doc).ok()?;
        let found = in_order(self, &reading, scores.found(&sight), usize::MAX);
        let total = found.into_iter().find(|(_, other)| *other == number)?.0;
        let at = |values: &[f32]| values.get(doc).copied().unwrap_or_default();
        let from_words = scores.lean * at(&scores.words) / (1.0 + scores.lean);
        let from_meaning = at(&scores.meaning).max(0.0) / (1.0 + scores.lean);
        let from_names = scores.named(number);
        let reasons = reading.words.iter().flat_map(|word| reasons(self, word, number)).collect();
        Some(Explanation {
            score: total.into(),
            from_words: from_words.into(),
            from_meaning: from_meaning.into(),
            from_names: from_names.into(),
            from_coverage: (total - from_words - from_meaning - from_names).max(0.0).into(),
            reasons,
        })
    }
}

fn reasons(index: &Index, word: &Word, doc: u32) -> Vec<Reason> {
    let there = word.senses.iter().filter_map(|sense| {
        let fields = fields(index.posting(&sense.stem, doc)?);
        let (spoken, matched) = (word.spoken.clone(), sense.stem.clone());
        Some(Reason { spoken, matched, via: sense.via, fields })
    });
    there.collect()
}

fn fields(posting: &Posting) -> Vec<Field> {
    Field::ALL.into_iter().filter(|field| posting.fields & field.bit() != 0).collect()
}
