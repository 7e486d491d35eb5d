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
    /// Threshold, precision, recall, false alarms.
    pub(super) curve: Vec<[f64; 4]>,
}

/// Every set's queries are asked of its own tools, where they have answers, and of every other
/// set's, where they have none.
pub(super) fn abstaining(sets: &[Set]) -> Abstaining {
    let mut asked = Vec::new();
    for home in sets {
        let docs: Vec<Doc<'_>> = home.tools.iter().map(Tool::doc).collect();
        let index = Index::build(&docs);
        for other in sets {
            for query in other.queries.iter().step_by(1 + other.queries.len() / 100) {
                let ranking = index.rank(&query.text, 1, &|_| true);
                let score = ranking.hits.first().map_or(0.0, |hit| hit.score);
                asked.push(Asked {
                    answerable: other.name == home.name,
                    fits: ranking.fits,
                    score,
                });
            }
        }
    }
    let [precision, recall, false_alarms] = told(&asked, &|one| !one.fits);
    let curve = (10..=60_u8).step_by(5).map(|percent| {
        let threshold = f64::from(percent) / 100.0;
        let [precision, recall, false_alarms] = told(&asked, &|one| one.score < threshold);
        [threshold, precision, recall, false_alarms]
    });
    let curve = curve.collect();
    let answerable = asked.iter().filter(|one| one.answerable).count();
    let unanswerable = asked.len() - answerable;
    Abstaining { precision, recall, false_alarms, unanswerable, answerable, curve }
}

struct Asked {
    answerable: bool,
    fits: bool,
    score: f64,
}

/// Precision, recall and false alarms of saying "nothing fits" by some rule.
fn told(asked: &[Asked], nothing: &dyn Fn(&Asked) -> bool) -> [f64; 3] {
    let count = |answerable: bool, said: bool| {
        asked.iter().filter(|one| one.answerable == answerable && nothing(one) == said).count()
    };
    let (right, wrong) = (count(false, true), count(true, true));
    let share = |part: usize, rest: usize| real(part) / real((part + rest).max(1));
    [share(right, wrong), share(right, count(false, false)), share(wrong, count(true, false))]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_longer_word_gets_one_slip() {
        let query = Query {
            text: "show the weather for Berlin".to_owned(),
            gold: Vec::new(),
            language: String::new(),
        };
        assert_eq!(misspelt(&[query])[0].text, "sohw the wether for Berelin");
    }
}
