//! Queries nothing answers, queries misspelt, queries in other languages.

use search::{Doc, Index};

use super::figures::{Figures, judge, real};
use super::sets::{Query, Set, Tool};

/// How well "nothing fits" is said.
pub(super) struct Abstaining {
    pub(super) precision: f64,
    pub(super) recall: f64,
    /// Of queries that have an answer, those that were told there is none.
    pub(super) false_alarms: f64,
    pub(super) unanswerable: usize,
    pub(super) answerable: usize,
}

/// Every set's queries are asked of its own tools, where they have answers, and of every other
/// set's, where they have none.
pub(super) fn abstaining(sets: &[Set]) -> Abstaining {
    let (mut right, mut missed, mut wrong, mut answered) = (0, 0, 0, 0);
    for home in sets {
        let docs: Vec<Doc<'_>> = home.tools.iter().map(Tool::doc).collect();
        let index = Index::build(&docs);
        for asked in sets {
            for query in asked.queries.iter().step_by(1 + asked.queries.len() / 100) {
                let fits = index.rank(&query.text, 1, &|_| true).fits;
                match (asked.name == home.name, fits) {
                    (true, true) => answered += 1,
                    (true, false) => wrong += 1,
                    (false, true) => missed += 1,
                    (false, false) => right += 1,
                }
            }
        }
    }
    Abstaining {
        precision: real(right) / real((right + wrong).max(1)),
        recall: real(right) / real((right + missed).max(1)),
        false_alarms: real(wrong) / real((wrong + answered).max(1)),
        unanswerable: right + missed,
        answerable: wrong + answered,
    }
}

/// The same queries with one slip in every word of four letters and more.
pub(super) fn misspelt(queries: &[Query]) -> Vec<Query> {
    let slip = |query: &Query| {
        let words: Vec<String> =
            query.text.split(' ').enumerate().map(|(at, word)| misspell(word, at)).collect();
        Query { text: words.join(" "), ..query.clone() }
    };
    queries.iter().map(slip).collect()
}

/// What drawing tools by lot would recall in the first five.
pub(super) fn chance(set: &Set) -> f64 {
    5.0 / real(set.tools.len().max(5))
}

pub(super) fn in_language(set: &Set, language: &str) -> Figures {
    let docs: Vec<Doc<'_>> = set.tools.iter().map(Tool::doc).collect();
    let index = Index::build(&docs);
    let spoken = set.queries.iter().filter(|query| query.language == language);
    let queries: Vec<Query> = spoken.cloned().collect();
    judge(&queries, &mut |query| {
        index.rank(query, 10, &|_| true).hits.iter().map(|hit| hit.doc).collect()
    })
}

/// Swaps, drops, doubles or changes one letter inside the word.
fn misspell(word: &str, at: usize) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    if letters.len() < 4 || !letters.iter().all(char::is_ascii_alphabetic) {
        return word.to_owned();
    }
    let place = 1 + (at * 7 + letters.len()) % (letters.len() - 2);
    match (at + letters.len()) % 4 {
        0 => letters.swap(place, place + 1),
        1 => drop(letters.remove(place)),
        2 => letters.insert(place, 'e'),
        _ => {
            if let Some(letter) = letters.get_mut(place) {
                *letter = if *letter == 'o' { 'p' } else { 'o' };
            }
        }
    }
    letters.into_iter().collect()
}
