//! Words as they were met and what they fold to, shared by the parts that are read in one go.

use std::collections::HashMap;
use std::sync::Arc;

use crate::rank::at;
use crate::words::{is_filler, stem};

/// Folding a word costs more than looking it up; upstreams speak mostly the same words.
#[derive(Debug, Default)]
pub struct Lexicon {
    surfaces: HashMap<Box<str>, Surface>,
    terms: HashMap<Arc<str>, u32>,
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
    pub(crate) fn surface(&mut self, word: &str) -> Surface {
        if let Some(known) = self.surfaces.get(word) {
            return *known;
        }
        let surface = Surface { term: self.term(&stem(word)), is_filler: is_filler(word) };
        self.surfaces.insert(word.into(), surface);
        surface
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
