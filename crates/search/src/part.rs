//! What is known of one upstream's documents before a query comes: words, names, meanings.
//!
//! Everything here hangs on the part's own documents and nothing else: field lengths are held
//! against fixed ones, not against a catalogue's averages. So a part that did not change can stand
//! in the next index as it is, and a hidden document has no influence on another's share.

use std::sync::Arc;

use crate::doc::{Doc, FIELDS, Field, head};
use crate::embed::{Vectors, unit};
use crate::lexicon::Lexicon;
use crate::limits;
use crate::names::{Name, names_of};
use crate::rank::at;
use crate::table::Table;
use crate::words::{lower_parts, spaced};

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
    /// One after another, with a mark between that no name should have.
    params: Box<str>,
    /// Different words of the name.
    pub(crate) name_words: f32,
}

impl Label {
    pub(crate) fn params(&self) -> impl Iterator<Item = &str> {
        self.params.split(PARAM_END).filter(|param| !param.is_empty())
    }
}

const PARAM_END: &str = "\u{1f}";

/// One word in one document.
#[derive(Clone, Copy, Debug, Default)]
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
        Self::build_with(&mut Lexicon::new(Table::builtin()), docs)
    }

    /// The same, with words that other parts had folded already.
    pub fn build_with(lexicon: &mut Lexicon, docs: &[Doc<'_>]) -> Self {
        let table = Arc::clone(lexicon.table());
        let mut vectors = Vectors::new(table.dims(), docs.len());
        let (mut shelf, mut names) = (Shelf::new(lexicon), Vec::new());
        let mut labels = Vec::with_capacity(docs.len());
        for (number, doc) in (0_u32..).zip(docs) {
            shelf.put(number, doc);
            vectors.push(&meaning(&table, doc, &shelf.described));
            names_of(number, doc, &mut names);
            labels.push(label(&mut shelf, doc));
        }
        names.shrink_to_fit();
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
    /// Terms of the lexicon that stand here, by the number of their posting list.
    held: Vec<u32>,
    /// In order of the documents, each with the number of its list.
    postings: Vec<(u32, Posting)>,
    /// Per posting list: its place among the counts of the document at hand, which is only good if
    /// that list stands there.
    places: Vec<usize>,
    counts: Vec<(u32, [f32; FIELDS])>,
    /// The rows of the description at hand.
    described: Vec<u32>,
}

impl<'l> Shelf<'l> {
    fn new(lexicon: &'l mut Lexicon) -> Self {
        Self {
            lexicon,
            held: Vec::new(),
            postings: Vec::new(),
            places: Vec::new(),
            counts: Vec::new(),
            described: Vec::new(),
        }
    }

    fn put(&mut self, number: u32, doc: &Doc<'_>) {
        self.counts.clear();
        let mut lengths = [0; FIELDS];
        for (field, (texts, length)) in doc.fields().iter().zip(&mut lengths).enumerate() {
            for text in texts {
                *length += match Field::ALL.get(field) {
                    Some(Field::Description) => self.read_description(text, field),
                    _ => self.read(text, field),
                };
            }
        }
        for (list, counts) in &self.counts {
            self.postings.push((*list, Posting::new(number, counts, &lengths)));
        }
    }

    /// Counts the words of a text; says how many it has, fillers apart.
    fn read(&mut self, text: &str, field: usize) -> usize {
        let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
        runs.map(|run| self.read_run(run, field).0).sum()
    }

    /// The same, and notes what the text means as it goes: words are looked up once for both.
    fn read_description(&mut self, text: &str, field: usize) -> usize {
        let meant = head(text, limits::MEANING_CHARS_MAX);
        let mut rows = std::mem::take(&mut self.described);
        rows.clear();
        // A text cut short may end within a word, and other letters are read otherwise.
        let is_plain = text.is_ascii() && meant.len() == text.len();
        let mut length = 0;
        if is_plain {
            for piece in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
                let run = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
                if !run.is_empty() {
                    let (words, number) = self.read_run(run, field);
                    length += words;
                    rows.extend_from_slice(self.lexicon.rows_of(number));
                }
                let mark = piece.get(run.len()..).unwrap_or_default();
                rows.extend(self.lexicon.table().vocabulary.mark(mark));
            }
            rows.truncate(limits::TOKENS_MAX);
        } else {
            length = self.read(text, field);
            rows.extend(self.lexicon.table().vocabulary.rows(meant));
        }
        self.described = rows;
        length
    }

    fn read_run(&mut self, run: &str, field: usize) -> (usize, usize) {
        let number = self.lexicon.run(run);
        let mut length = 0;
        for at in self.lexicon.words_of(number) {
            let Some(word) = self.lexicon.word(at) else { continue };
            if !word.is_filler {
                length += 1;
                self.count(word.term, field);
            }
        }
        (length, number)
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
        let next = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        let list = self.lexicon.list_of(term, next);
        if list == next {
            self.held.push(term);
            self.places.push(0);
        }
        list
    }

    /// List by list; within each, documents stay in their order.
    fn flat(self) -> (Vec<(Arc<str>, usize)>, Vec<Posting>) {
        let mut ends = vec![0_usize; self.held.len()];
        for (list, _) in &self.postings {
            if let Some(count) = ends.get_mut(at(*list)) {
                *count += 1;
            }
        }
        let mut total = 0;
        // First where each list begins; filling it moves that to where it ends.
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut all = vec![Posting::default(); self.postings.len()];
        for (list, posting) in self.postings {
            let Some(next) = ends.get_mut(at(list)) else { continue };
            if let Some(place) = all.get_mut(*next) {
                *place = posting;
            }
            *next += 1;
        }
        let mut stems = Vec::with_capacity(self.held.len());
        let ended = self.held.iter().zip(ends);
        stems.extend(ended.filter_map(|(term, end)| Some((self.lexicon.stem(*term)?, end))));
        self.lexicon.forget_lists(&self.held);
        (stems, all)
    }
}

fn meaning(table: &Table, doc: &Doc<'_>, described: &[u32]) -> Vec<f32> {
    let (name, namespace) = (spaced(doc.name), spaced(doc.namespace));
    let params: String = doc.params.iter().map(|param| spaced(param) + " ").collect();
    let mut sum = vec![0.0; table.dims];
    table.add(&name, NAME_MEANS, &mut sum);
    table.add(doc.title.unwrap_or_default(), 1.0, &mut sum);
    table.add(&namespace, NAMESPACE_MEANS, &mut sum);
    table.add_rows(described, 1.0, &mut sum);
    table.add(head(&params, limits::MEANING_PARAMS_CHARS_MAX), PARAMS_MEAN, &mut sum);
    unit(sum)
}

fn label(shelf: &mut Shelf<'_>, doc: &Doc<'_>) -> Label {
    let mut name_words: Vec<u32> = Vec::new();
    for part in lower_parts(doc.name) {
        let run = shelf.lexicon.run(&part);
        let words = shelf.lexicon.words_of(run).filter_map(|word| shelf.lexicon.word(word));
        name_words.extend(words.map(|word| word.term));
    }
    name_words.sort_unstable();
    name_words.dedup();
    Label {
        name_words: real(name_words.len()),
        name: doc.name.into(),
        namespace: doc.namespace.into(),
        params: doc.params.join(PARAM_END).into(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and tools are far below 2^23")]
pub(crate) fn real(count: usize) -> f32 {
    count as f32
}
