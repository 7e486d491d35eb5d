//! Words as they were met and what they fold to, shared by the parts that are read in one go.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::keyed::Keyed;
use crate::rank::at;
use crate::table::Table;
use crate::words::{each_word, is_filler, stem};

/// Folding a word costs more than looking it up; upstreams speak mostly the same words.
#[derive(Debug, Default)]
pub struct Lexicon {
    table: Arc<Table>,
    /// Letters and digits in a row, as written, by their number.
    runs: HashMap<Box<str>, usize, Keyed>,
    /// Per run: where its words and its rows end; they begin where the former run's end.
    ends: Vec<(usize, usize)>,
    words: Vec<Surface>,
    rows: Vec<u32>,
    terms: HashMap<Arc<str>, u32, Keyed>,
    stems: Vec<Arc<str>>,
    /// Per term: its posting list in the part at hand.
    lists: Vec<u32>,
}

/// A word as written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surface {
    /// What it folds to.
    pub(crate) term: u32,
    pub(crate) is_filler: bool,
}

const NOWHERE: u32 = u32::MAX;

impl Lexicon {
    /// With the table that meanings come from.
    pub fn new(table: Arc<Table>) -> Self {
        Self { table, ..Self::default() }
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The number of letters and digits in a row.
    pub(crate) fn run(&mut self, run: &str) -> usize {
        if let Some(known) = self.runs.get(run) {
            return *known;
        }
        let mut words = std::mem::take(&mut self.words);
        each_word(run, &mut |word| words.push(self.surface(word)));
        self.words = words;
        if run.is_ascii() {
            self.rows.extend(self.table.vocabulary.rows(run));
        }
        let number = self.ends.len();
        self.ends.push((self.words.len(), self.rows.len()));
        self.runs.insert(run.into(), number);
        number
    }

    /// Where the words of a run are.
    pub(crate) fn words_of(&self, run: usize) -> Range<usize> {
        let (start, end) = self.bounds(run);
        start.0..end.0
    }

    pub(crate) fn word(&self, number: usize) -> Option<Surface> {
        self.words.get(number).copied()
    }

    /// The rows of the table that a run of plain letters is made of.
    pub(crate) fn rows_of(&self, run: usize) -> &[u32] {
        let (start, end) = self.bounds(run);
        self.rows.get(start.1..end.1).unwrap_or_default()
    }

    pub(crate) fn stem(&self, term: u32) -> Option<Arc<str>> {
        self.stems.get(at(term)).map(Arc::clone)
    }

    /// The term's posting list, which is `next` if it had none.
    pub(crate) fn list_of(&mut self, term: u32, next: u32) -> u32 {
        let Some(list) = self.lists.get_mut(at(term)) else { return next };
        if *list == NOWHERE {
            *list = next;
        }
        *list
    }

    /// Makes ready for another part.
    pub(crate) fn forget_lists(&mut self, terms: &[u32]) {
        for term in terms {
            if let Some(list) = self.lists.get_mut(at(*term)) {
                *list = NOWHERE;
            }
        }
    }

    fn surface(&mut self, word: &str) -> Surface {
        Surface { term: self.term(&stem(word)), is_filler: is_filler(word) }
    }

    fn bounds(&self, run: usize) -> ((usize, usize), (usize, usize)) {
        let end = |number: usize| self.ends.get(number).copied();
        (run.checked_sub(1).and_then(end).unwrap_or_default(), end(run).unwrap_or_default())
    }

    fn term(&mut self, stem: &str) -> u32 {
        if let Some(term) = self.terms.get(stem) {
            return *term;
        }
        let term = u32::try_from(self.stems.len()).unwrap_or(u32::MAX);
        let stem: Arc<str> = stem.into();
        self.lists.push(NOWHERE);
        self.stems.push(Arc::clone(&stem));
        self.terms.insert(stem, term);
        term
    }
}
