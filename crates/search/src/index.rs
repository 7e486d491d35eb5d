//! All parts together, ready to be asked. Immutable: a change gives another index, which takes over
//! the parts that did not change, while the former one goes on answering.
//!
//! How rare a word is hangs on the catalogue, so it is worked out per query, over what the caller
//! may see.

use std::collections::HashMap;
use std::sync::Arc;

use thiserror::Error;

use crate::doc::Doc;
use crate::embed::{Needle, Vectors};
use crate::keyed::Keyed;
use crate::limits;
use crate::names::Names;
use crate::part::{Label, Part, Posting};
use crate::spelling::Spellings;
use crate::table::Table;

/// Documents are known by their position: through the first part, then the second, and so on.
///
/// Clones share everything.
#[derive(Clone, Debug)]
pub struct Index {
    inner: Arc<Inner>,
    /// Meanings that others made, in place of the built-in table's.
    pub(crate) outside: Option<Arc<Vectors>>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// Each with the position of its first document.
    parts: Vec<(usize, Arc<Part>)>,
    count: usize,
    /// Folded words, each with its run in `postings`.
    terms: Terms,
    postings: Vec<Posting>,
    pub(crate) table: Arc<Table>,
    pub(crate) names: Names,
    pub(crate) spellings: Spellings,
}

/// Why meanings from elsewhere cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MeaningError {
    #[error("there are {found} vectors for {wanted} tools")]
    Count { found: usize, wanted: usize },
    #[error("a vector has {0} numbers; each must have as many as the others, from 1 to {max}", max = limits::DIMS_MAX)]
    Dims(usize),
    #[error("a vector holds numbers that are not finite")]
    NotFinite,
}

impl Index {
    pub fn build(docs: &[Doc<'_>]) -> Self {
        Self::of(vec![Arc::new(Part::build(docs))])
    }

    /// The result does not hang on where one part ends and the next begins.
    pub fn of(parts: Vec<Arc<Part>>) -> Self {
        let mut count = 0;
        let place = |part: Arc<Part>| {
            let first = count;
            count += part.len();
            (first, part)
        };
        let parts: Vec<(usize, Arc<Part>)> = parts.into_iter().map(place).collect();
        let (terms, postings) = merge(&parts);
        let names = parts.iter().map(|(first, part)| (number(*first), part.names.as_slice()));
        let names = Names::new(&names);
        let spellings = Spellings::new(terms.keys().map(AsRef::as_ref));
        let table = Table::builtin();
        let inner = Inner { parts, count, terms, postings, table, names, spellings };
        Self { inner: Arc::new(inner), outside: None }
    }

    /// The same index with meanings that others made, one a document in their order. A query can
    /// then bring its own; one that does not is answered by the built-in table.
    pub fn with_meanings(&self, vectors: &[impl AsRef<[f32]>]) -> Result<Self, MeaningError> {
        let wanted = self.len();
        if vectors.len() != wanted {
            return Err(MeaningError::Count { found: vectors.len(), wanted });
        }
        let dims = vectors.first().map_or(0, |vector| vector.as_ref().len());
        let mut outside = Vectors::new(dims, vectors.len());
        for vector in vectors.iter().map(AsRef::as_ref) {
            if vector.len() != dims || !(1..=limits::DIMS_MAX).contains(&dims) {
                return Err(MeaningError::Dims(vector.len()));
            }
            if vector.iter().any(|x| !x.is_finite()) {
                return Err(MeaningError::NotFinite);
            }
            outside.push(&crate::embed::unit(vector.to_vec()));
        }
        Ok(Self { inner: Arc::clone(&self.inner), outside: Some(Arc::new(outside)) })
    }

    /// Whether it knows the very same documents as another, meanings from elsewhere aside.
    pub fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub fn len(&self) -> usize {
        self.inner.count
    }

    pub fn is_empty(&self) -> bool {
        self.inner.count == 0
    }

    pub(crate) fn table(&self) -> &Table {
        &self.inner.table
    }

    pub(crate) fn names(&self) -> &Names {
        &self.inner.names
    }

    pub(crate) fn spellings(&self) -> &Spellings {
        &self.inner.spellings
    }

    /// The posting of a folded word in one document.
    pub(crate) fn posting(&self, stem: &str, doc: u32) -> Option<&Posting> {
        find(self.postings(stem), doc)
    }

    /// In order of the documents, each once.
    pub(crate) fn postings(&self, stem: &str) -> &[Posting] {
        let run = self.inner.terms.get(stem).copied();
        run.and_then(|(start, end)| self.inner.postings.get(start..end)).unwrap_or_default()
    }

    /// The built-in table's vectors of each part, with the position of its first document.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = (usize, &Vectors)> {
        self.inner.parts.iter().map(|(first, part)| (*first, &part.vectors))
    }

    /// The cosine of a document with a query by the built-in table.
    pub(crate) fn cosine(&self, doc: usize, needle: &Needle) -> f32 {
        self.part_of(doc).map_or(0.0, |(part, own)| part.vectors.cosine(own, needle))
    }

    pub(crate) fn label(&self, doc: usize) -> Option<&Label> {
        let (part, own) = self.part_of(doc)?;
        part.labels.get(own)
    }

    /// The cosine of two documents by the built-in table.
    pub(crate) fn between(&self, one: usize, other: usize) -> f32 {
        let pair = self.part_of(one).zip(self.part_of(other));
        pair.map_or(0.0, |((a, one), (b, other))| a.vectors.between(one, &b.vectors, other))
    }

    fn part_of(&self, doc: usize) -> Option<(&Part, usize)> {
        let after = self.inner.parts.partition_point(|(first, _)| *first <= doc);
        // Of several parts that begin here all but the last are empty.
        let (first, part) = self.inner.parts.get(after.checked_sub(1)?)?;
        Some((part, doc.checked_sub(*first)?))
    }
}

/// One document among a word's postings.
pub(crate) fn find(postings: &[Posting], doc: u32) -> Option<&Posting> {
    let at = postings.binary_search_by_key(&doc, |posting| posting.doc).ok()?;
    postings.get(at)
}

/// A word's postings in one part, with the number of the part's first document.
type Run<'p> = (u32, &'p [Posting]);

type Terms = HashMap<Arc<str>, (usize, usize), Keyed>;

fn merge(parts: &[(usize, Arc<Part>)]) -> (Terms, Vec<Posting>) {
    let mut holders: HashMap<&Arc<str>, Vec<Run<'_>>, Keyed> = HashMap::default();
    let mut count = 0;
    for (first, part) in parts {
        for (stem, postings) in part.terms() {
            count += postings.len();
            holders.entry(stem).or_default().push((number(*first), postings));
        }
    }
    let mut terms = Terms::with_capacity_and_hasher(holders.len(), Keyed::default());
    let mut all = Vec::with_capacity(count);
    #[expect(clippy::iter_over_hash_type, reason = "where a run lies in memory reaches nobody")]
    for (stem, runs) in holders {
        let start = all.len();
        for (first, postings) in runs {
            all.extend(postings.iter().map(|posting| posting.moved(first)));
        }
        terms.insert(Arc::clone(stem), (start, all.len()));
    }
    (terms, all)
}

fn number(doc: usize) -> u32 {
    u32::try_from(doc).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
