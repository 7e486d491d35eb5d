//! Why a document stands where it stands, for people.

use crate::index::{Field, Index, Posting};
use crate::query::{Via, read};
use crate::score::{lean_on_words, score};
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
    /// Nothing for a document the caller may not see.
    pub fn explain(
        &self,
        query: &str,
        doc: usize,
        allowed: &dyn Fn(usize) -> bool,
    ) -> Option<Explanation> {
        let sight = Sight::new(self, allowed);
        sight.all().get(doc).filter(|seen| **seen)?;
        let reading = read(self, &sight, query);
        let scores = score(self, &sight, query, &reading);
        let lean = lean_on_words(sight.count, query, &reading);
        let at = |values: &[f32]| values.get(doc).copied().unwrap_or_default();
        let senses = reading
            .words
            .iter()
            .flat_map(|word| word.senses.iter().map(|sense| (word.spoken.as_str(), sense)));
        let reasons = senses.filter_map(|(spoken, sense)| {
            let posting = self.posting(&sense.stem, u32::try_from(doc).ok()?)?;
            let fields = fields(posting);
            Some(Reason {
                spoken: spoken.to_owned(),
                matched: sense.stem.clone(),
                via: sense.via,
                fields,
            })
        });
        Some(Explanation {
            score: f64::from(at(&scores.total)),
            from_words: f64::from(lean * at(&scores.words) / (1.0 + lean)),
            from_meaning: f64::from(at(&scores.meaning).max(0.0) / (1.0 + lean)),
            from_names: f64::from(at(&scores.named)),
            from_coverage: f64::from(at(&scores.covered)),
            reasons: reasons.collect(),
        })
    }
}

fn fields(posting: &Posting) -> Vec<Field> {
    Field::ALL.into_iter().filter(|field| posting.fields & field.bit() != 0).collect()
}
