//! What is known about the documents before a query comes: words, where they stand, how often.

use std::collections::HashMap;

use crate::limits;
use crate::words::words;

/// One thing that can be found. Nothing here is shown; it is only matched.
#[derive(Clone, Debug, Default)]
pub struct Doc<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub namespace: &'a str,
    pub description: &'a str,
    pub params: Vec<&'a str>,
    pub tags: Vec<&'a str>,
}

/// An immutable index; documents are known by their position in the slice it was built from.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Lower-case names, for the exact match.
    pub(crate) names: Vec<String>,
    pub(crate) lengths: Vec<[usize; FIELDS]>,
    pub(crate) postings: HashMap<String, Vec<Posting>>,
}

/// How often a word stands in each field of one document.
#[derive(Clone, Debug)]
pub(crate) struct Posting {
    pub(crate) doc: usize,
    pub(crate) counts: [usize; FIELDS],
}

/// Name, then parameters and tags, then description.
pub(crate) const FIELDS: usize = 3;
pub(crate) const WEIGHTS: [f64; FIELDS] = [4.0, 2.0, 1.0];

impl Index {
    pub fn build(docs: &[Doc<'_>]) -> Self {
        let mut index = Self::default();
        for (number, doc) in docs.iter().enumerate() {
            index.names.push(doc.name.to_lowercase());
            let fields = fields(doc);
            index.lengths.push(fields.each_ref().map(Vec::len));
            for (field, field_words) in fields.into_iter().enumerate() {
                for word in field_words {
                    index.count(word, number, field);
                }
            }
        }
        index
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn count(&mut self, word: String, doc: usize, field: usize) {
        let postings = self.postings.entry(word).or_default();
        if postings.last().is_none_or(|last| last.doc != doc) {
            postings.push(Posting { doc, counts: [0; FIELDS] });
        }
        let count = postings.last_mut().and_then(|last| last.counts.get_mut(field));
        if let Some(count) = count {
            *count += 1;
        }
    }
}

fn fields(doc: &Doc<'_>) -> [Vec<String>; FIELDS] {
    let name = [doc.name, doc.title.unwrap_or_default()];
    let middle = std::iter::once(doc.namespace).chain(doc.params.iter().copied());
    let middle = middle.chain(doc.tags.iter().copied());
    let description: String = doc.description.chars().take(limits::DESCRIPTION_CHARS_MAX).collect();
    [
        name.into_iter().flat_map(words).collect(),
        middle.flat_map(words).collect(),
        words(&description),
    ]
}
