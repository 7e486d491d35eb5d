//! What is known about the documents before a query comes: words, names, spellings, meanings.
//!
//! A document's own share of a score is worked out here and hangs on nothing but the document:
//! field lengths are held against fixed ones, not against this catalogue's averages.
//! What hangs on the catalogue, how rare a word is, is worked out per query over what the caller
//! may see. Both together keep hidden documents without influence, and queries fast.

use std::collections::HashMap;
use std::sync::Arc;

use crate::embed::{Vectors, embed};
use crate::limits;
use crate::names::Names;
use crate::spelling::Spellings;
use crate::table::Table;
use crate::words::{each_word, is_filler, spaced, stem};

/// One thing that can be found. Nothing here is shown; it is only matched.
#[derive(Clone, Debug, Default)]
pub struct Doc<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub namespace: &'a str,
    pub description: &'a str,
    pub params: Vec<&'a str>,
    /// What the parameters say of themselves.
    pub param_texts: Vec<&'a str>,
    pub tags: Vec<&'a str>,
    /// Other names that mean this document and no other.
    pub aliases: Vec<&'a str>,
}

/// An immutable index; documents are known by their position in the slice it was built from.
#[derive(Clone, Debug)]
pub struct Index {
    pub(crate) table: Arc<Table>,
    pub(crate) labels: Vec<Label>,
    pub(crate) names: Names,
    /// Folded words, each with its place in `postings`.
    terms: HashMap<Box<str>, u32>,
    postings: Vec<Vec<Posting>>,
    pub(crate) spellings: Spellings,
    pub(crate) vectors: Vectors,
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
    /// Between zero and one: how much of the word's rarity the document earns.
    pub(crate) earned: f32,
    /// Bits of the fields the word stands in.
    pub(crate) fields: u8,
}

/// Where a word can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Name,
    Namespace,
    Description,
    Tags,
    Params,
    ParamTexts,
}

impl Field {
    pub const ALL: [Self; FIELDS] = [
        Self::Name,
        Self::Namespace,
        Self::Description,
        Self::Tags,
        Self::Params,
        Self::ParamTexts,
    ];

    /// The bit that stands for it in a posting.
    pub(crate) fn bit(self) -> u8 {
        1 << self as u8
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Namespace => "namespace",
            Self::Description => "description",
            Self::Tags => "tags",
            Self::Params => "parameters",
            Self::ParamTexts => "parameter texts",
        }
    }
}

const FIELDS: usize = 6;
/// In the order of `Field::ALL`.
const WEIGHTS: [f32; FIELDS] = [2.0, 2.0, 1.0, 2.0, 0.5, 0.5];
/// Words a field has when it is terse; more words and each counts less.
const TERSE: [f32; FIELDS] = [1.05, 0.45, 6.6, 0.9, 1.2, 7.5];
const LENGTH_MATTERS: f32 = 0.6;
const SATURATION: f32 = 1.2;
const NAME_MEANS: f32 = 1.25;
const NAMESPACE_MEANS: f32 = 1.5;
const PARAMS_MEAN: f32 = 0.5;

impl Index {
    /// With the built-in table.
    pub fn build(docs: &[Doc<'_>]) -> Self {
        Self::build_with(docs, Table::builtin())
    }

    pub fn build_with(docs: &[Doc<'_>], table: Arc<Table>) -> Self {
        let mut vectors = Vectors::new(table.dims, docs.len());
        for doc in docs {
            vectors.push(&meaning(&table, doc));
        }
        Self::assemble(docs, table, vectors)
    }

    /// Builds anew but takes over the meanings of documents that did not change: `same` gives a
    /// document's former position. The result is that of building from nothing.
    #[must_use]
    pub fn rebuild(&self, docs: &[Doc<'_>], same: &dyn Fn(usize) -> Option<usize>) -> Self {
        let mut vectors = Vectors::new(self.table.dims, docs.len());
        for (number, doc) in docs.iter().enumerate() {
            let taken = same(number).is_some_and(|former| vectors.push_from(&self.vectors, former));
            if !taken {
                vectors.push(&meaning(&self.table, doc));
            }
        }
        Self::assemble(docs, Arc::clone(&self.table), vectors)
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The posting of a folded word in one document.
    pub(crate) fn posting(&self, stem: &str, doc: u32) -> Option<&Posting> {
        find(self.postings(stem), doc)
    }

    pub(crate) fn postings(&self, stem: &str) -> &[Posting] {
        let place = self.terms.get(stem).and_then(|term| usize::try_from(*term).ok());
        place.and_then(|place| self.postings.get(place)).map(Vec::as_slice).unwrap_or_default()
    }

    fn assemble(docs: &[Doc<'_>], table: Arc<Table>, vectors: Vectors) -> Self {
        let mut shelf = Shelf::default();
        for (number, doc) in docs.iter().enumerate() {
            shelf.put(u32::try_from(number).unwrap_or(u32::MAX), doc);
        }
        let labels = docs.iter().map(label).collect();
        let (names, spellings) = (Names::new(docs), Spellings::new(shelf.surfaces.keys()));
        let (terms, postings) = (shelf.terms, shelf.postings);
        Self { table, labels, names, terms, postings, spellings, vectors }
    }
}

/// The inverted index while it grows.
#[derive(Default)]
struct Shelf {
    /// Words as written, each with its term; fillers have none.
    surfaces: HashMap<String, Option<u32>>,
    terms: HashMap<Box<str>, u32>,
    postings: Vec<Vec<Posting>>,
}

impl Shelf {
    fn put(&mut self, number: u32, doc: &Doc<'_>) {
        let fields = texts(doc).map(|texts| self.terms_of(&texts));
        let lengths = fields.each_ref().map(Vec::len);
        let mut counts: Vec<(u32, [f32; FIELDS])> = Vec::new();
        let rows = fields.into_iter().enumerate();
        let mut flat: Vec<(u32, usize)> = rows
            .flat_map(|(field, terms)| terms.into_iter().map(move |term| (term, field)))
            .collect();
        flat.sort_unstable();
        for (term, field) in flat {
            if counts.last().is_none_or(|last| last.0 != term) {
                counts.push((term, [0.0; FIELDS]));
            }
            let count = counts.last_mut().and_then(|last| last.1.get_mut(field));
            if let Some(count) = count {
                *count += 1.0;
            }
        }
        for (term, counts) in counts {
            let posting = posting(number, &counts, &lengths);
            let place = usize::try_from(term).ok().and_then(|term| self.postings.get_mut(term));
            if let Some(postings) = place {
                postings.push(posting);
            }
        }
    }

    fn terms_of(&mut self, texts: &[&str]) -> Vec<u32> {
        let mut terms = Vec::new();
        for text in texts {
            each_word(text, &mut |word| terms.extend(self.term(word)));
        }
        terms
    }

    fn term(&mut self, word: &str) -> Option<u32> {
        if let Some(known) = self.surfaces.get(word) {
            return *known;
        }
        let term = (!is_filler(word)).then(|| self.term_of_stem(&stem(word)));
        self.surfaces.insert(word.to_owned(), term);
        term
    }

    fn term_of_stem(&mut self, stem: &str) -> u32 {
        if let Some(term) = self.terms.get(stem) {
            return *term;
        }
        let term = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
        self.postings.push(Vec::new());
        self.terms.insert(stem.into(), term);
        term
    }
}

fn posting(doc: u32, counts: &[f32; FIELDS], lengths: &[usize; FIELDS]) -> Posting {
    let (mut frequency, mut fields) = (0.0, 0);
    let rows = counts.iter().zip(lengths).zip(TERSE.iter().zip(WEIGHTS)).enumerate();
    for (field, ((count, length), (terse, weight))) in rows.filter(|row| *row.1.0.0 > 0.0) {
        let stretch = 1.0 - LENGTH_MATTERS + LENGTH_MATTERS * real(*length) / terse;
        frequency += weight * count / stretch;
        fields |= 1 << field;
    }
    Posting { doc, earned: frequency / (SATURATION + frequency), fields }
}

fn texts<'a>(doc: &Doc<'a>) -> [Vec<&'a str>; FIELDS] {
    let description = head(doc.description, limits::DESCRIPTION_CHARS_MAX);
    [
        std::iter::once(doc.name).chain(doc.title).collect(),
        vec![doc.namespace],
        vec![description],
        doc.tags.clone(),
        doc.params.clone(),
        doc.param_texts.iter().map(|text| head(text, limits::MEANING_CHARS_MAX)).collect(),
    ]
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

fn label(doc: &Doc<'_>) -> Label {
    let mut name_words: Vec<String> =
        spaced(doc.name).to_lowercase().split(' ').map(|word| stem(word).into_owned()).collect();
    name_words.sort_unstable();
    name_words.dedup();
    Label {
        name_words: real(name_words.len()),
        name: doc.name.into(),
        namespace: doc.namespace.into(),
        params: doc.params.iter().map(|param| Box::from(*param)).collect(),
    }
}

/// One document among a word's postings.
pub(crate) fn find(postings: &[Posting], doc: u32) -> Option<&Posting> {
    let at = postings.binary_search_by_key(&doc, |posting| posting.doc).ok()?;
    postings.get(at)
}

/// The first characters of a text.
pub(crate) fn head(text: &str, chars_max: usize) -> &str {
    let end = text.char_indices().nth(chars_max).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and tools are far below 2^23")]
pub(crate) fn real(count: usize) -> f32 {
    count as f32
}
