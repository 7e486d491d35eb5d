//! What is known of one upstream's documents before a query comes: words, names, meanings.
//!
//! Everything here hangs on the part's own documents and nothing else: field lengths are held
//! against fixed ones, not against a catalogue's averages. So a part that did not change can stand
//! in the next index as it is, and a hidden document has no influence on another's share.

use std::sync::Arc;

use crate::doc::{Doc, FIELDS, head};
use crate::embed::{Vectors, embed};
use crate::lexicon::Lexicon;
use crate::limits;
use crate::names::{Name, names_of};
use crate::rank::at;
use crate::table::Table;
use crate::words::{each_word, lower_parts, spaced};

/// Documents read once, to be put into an index together with others.
#[derive(Debug)]
pub struct Part {
    pub(crate) labels: Vec<Label>,
    pub(crate) vectors: Vectors,
    pub(crate) names: Vec<Name>,
    /// Folded words, each with the end of its run in `postings`.
    stems: Vec<(Arc<str>, usize)>,
    /// Documents are counted from the part's own first.
    postings: Vec<Posting>,
}

/// What tells two documents apart to a reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Label {
    pub(crate) name: Box<str>,
    pub(crate) namespace: Box<str>,
    pub(crate) params: Box<[Box<str>]>,
    /// Different words of the name.
    pub(crate) name_words: f32,
}

/// One word in one document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(crate) doc: u32,
    earned: u16,
    /// Bits of the fields the word stands in.
    pub(crate) fields: u8,
}

/// In the order of `Field::ALL`.
const WEIGHTS: [f32; FIELDS] = [1.75, 2.0, 1.0, 2.0, 0.5, 0.7];
/// Words a field has when it is terse; more words and each counts less.
const TERSE: [f32; FIELDS] = [1.05, 0.45, 6.6, 0.9, 1.2, 7.5];
const LENGTH_MATTERS: f32 = 0.65;
const SATURATION: f32 = 1.2;
const NAME_MEANS: f32 = 1.25;
const NAMESPACE_MEANS: f32 = 1.5;
const PARAMS_MEAN: f32 = 0.5;
const EARNED_STEPS: f32 = 65_535.0;

impl Part {
    pub fn build(docs: &[Doc<'_>]) -> Self {
        Self::build_with(&mut Lexicon::default(), docs)
    }

    /// The same, with words that other parts had folded already.
    pub fn build_with(lexicon: &mut Lexicon, docs: &[Doc<'_>]) -> Self {
        let table = Table::builtin();
        let mut vectors = Vectors::new(table.dims(), docs.len());
        let (mut shelf, mut names) = (Shelf::new(lexicon), Vec::new());
        for (number, doc) in (0_u32..).zip(docs) {
            vectors.push(&meaning(&table, doc));
            shelf.put(number, doc);
            names_of(number, doc, &mut names);
        }
        names.shrink_to_fit();
        let labels = docs.iter().map(|doc| label(&mut shelf, doc)).collect();
        let (stems, postings) = shelf.flat();
        Self { labels, vectors, names, stems, postings }
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Folded words with their postings.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&Arc<str>, &[Posting])> {
        let starts = std::iter::once(0).chain(self.stems.iter().map(|(_, end)| *end));
        let rows = self.stems.iter().zip(starts);
        rows.map(|((stem, end), start)| (stem, self.postings.get(start..*end).unwrap_or_default()))
    }
}

impl Posting {
    fn new(doc: u32, counts: &[f32; FIELDS], lengths: &[usize; FIELDS]) -> Self {
        let (mut frequency, mut fields) = (0.0, 0);
        let rows = counts.iter().zip(lengths).zip(TERSE.iter().zip(WEIGHTS)).enumerate();
        for (field, ((count, length), (terse, weight))) in rows.filter(|row| *row.1.0.0 > 0.0) {
            let stretch = 1.0 - LENGTH_MATTERS + LENGTH_MATTERS * real(*length) / terse;
            frequency += weight * count / stretch;
            fields |= 1 << field;
        }
        let earned = frequency / (SATURATION + frequency) * EARNED_STEPS;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 65535")]
        Self { doc, earned: earned.round() as u16, fields }
    }

    /// Between zero and one: how much of the word's rarity the document earns.
    pub(crate) fn earned(self) -> f32 {
        f32::from(self.earned) * (1.0 / EARNED_STEPS)
    }

    pub(crate) fn moved(self, by: u32) -> Self {
        Self { doc: self.doc.saturating_add(by), ..self }
    }
}

/// The inverted index of one part while it grows.
struct Shelf<'l> {
    lexicon: &'l mut Lexicon,
    /// Terms of the lexicon that stand here, in the order of `postings`.
    held: Vec<u32>,
    postings: Vec<Vec<Posting>>,
    /// Per posting list: its place among the counts of the document at hand, which is only good if
    /// that list stands there.
    places: Vec<usize>,
    counts: Vec<(u32, [f32; FIELDS])>,
}

impl<'l> Shelf<'l> {
    fn new(lexicon: &'l mut Lexicon) -> Self {
        let (held, postings, places) = (Vec::new(), Vec::new(), Vec::new());
        Self { lexicon, held, postings, places, counts: Vec::new() }
    }

    fn put(&mut self, number: u32, doc: &Doc<'_>) {
        self.counts.clear();
        let mut lengths = [0; FIELDS];
        for (field, (texts, length)) in doc.fields().iter().zip(&mut lengths).enumerate() {
            for text in texts {
                each_word(text, &mut |word| {
                    let surface = self.lexicon.surface(word);
                    if !surface.is_filler {
                        *length += 1;
                        self.count(surface.term, field);
                    }
                });
            }
        }
        for (list, counts) in &self.counts {
            let posting = Posting::new(number, counts, &lengths);
            if let Some(postings) = self.postings.get_mut(at(*list)) {
                postings.push(posting);
            }
        }
    }

    fn count(&mut self, term: u32, field: usize) {
        let list = self.list_of(term);
        let Some(place) = self.places.get_mut(at(list)) else { return };
        if self.counts.get(*place).is_none_or(|(other, _)| *other != list) {
            *place = self.counts.len();
            self.counts.push((list, [0.0; FIELDS]));
        }
        let counts = self.counts.get_mut(*place);
        if let Some(count) = counts.and_then(|(_, counts)| counts.get_mut(field)) {
            *count += 1.0;
        }
    }

    fn list_of(&mut self, term: u32) -> u32 {
        let next = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
        let list = self.lexicon.list_of(term, next);
        if list == next {
            self.held.push(term);
            self.postings.push(Vec::new());
            self.places.push(0);
        }
        list
    }

    fn flat(self) -> (Vec<(Arc<str>, usize)>, Vec<Posting>) {
        let mut all = Vec::with_capacity(self.postings.iter().map(Vec::len).sum());
        let mut stems = Vec::with_capacity(self.held.len());
        for (term, postings) in self.held.iter().zip(self.postings) {
            all.extend(postings);
            stems.extend(self.lexicon.stem(*term).map(|stem| (stem, all.len())));
        }
        self.lexicon.forget_lists(&self.held);
        (stems, all)
    }
}

fn meaning(table: &Table, doc: &Doc<'_>) -> Vec<f32> {
    let (name, namespace) = (spaced(doc.name), spaced(doc.namespace));
    let params: String = doc.params.iter().map(|param| spaced(param) + " ").collect();
    let texts = [
        (name.as_str(), NAME_MEANS),
        (doc.title.unwrap_or_default(), 1.0),
        (&namespace, NAMESPACE_MEANS),
        (head(doc.description, limits::MEANING_CHARS_MAX), 1.0),
        (head(&params, limits::MEANING_PARAMS_CHARS_MAX), PARAMS_MEAN),
    ];
    embed(table, texts.into_iter())
}

fn label(shelf: &mut Shelf<'_>, doc: &Doc<'_>) -> Label {
    let mut name_words: Vec<u32> =
        lower_parts(doc.name).map(|word| shelf.lexicon.surface(&word).term).collect();
    name_words.sort_unstable();
    name_words.dedup();
    Label {
        name_words: real(name_words.len()),
        name: doc.name.into(),
        namespace: doc.namespace.into(),
        params: doc.params.iter().map(|param| Box::from(*param)).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and tools are far below 2^23")]
pub(crate) fn real(count: usize) -> f32 {
    count as f32
}
