//! What is wrong with a configuration, where, and what to do about it. Never shows a value that
//! came from the environment: whoever writes a problem has only the text as written.

use std::fmt;

use serde::Serialize;

/// Everything wrong with one file, in the order of its lines. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

/// One thing to mend. Prints as `file:line: message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// Where something stands in a file; both count from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The problems found so far in one file.
#[derive(Debug)]
pub(super) struct Problems {
    file: String,
    found: Vec<Problem>,
}

impl Problems {
    pub(super) fn of(file: impl Into<String>) -> Self {
        Self { file: file.into(), found: Vec::new() }
    }

    pub(super) fn add(&mut self, place: Option<Place>, message: impl Into<String>) {
        self.found.push(Problem {
            file: self.file.clone(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            message: message.into(),
        });
    }

    /// Goes on only if nothing is wrong up to here.
    pub(super) fn settle(&mut self) -> Result<(), ConfigError> {
        if self.found.is_empty() {
            return Ok(());
        }
        let mut problems = std::mem::take(&mut self.found);
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(ConfigError { problems })
    }
}

/// The nearest of the known words, if one is near enough to have been meant.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&lower, &known.to_lowercase());
    let (distance, nearest) = known.iter().map(|known| (distance(known), *known)).min()?;
    let bound = (word.chars().count() / 3).max(1);
    (distance <= bound).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_word_is_suggested() {
        let known = ["upstreams", "port", "policy"];
        let check = |word: &str, expected: Option<&str>| {
            assert_eq!(nearest(word, &known), expected, "{word}");
        };
        check("upstreems", Some("upstreams"));
        check("Port", Some("port"));
        check("polciy", Some("policy"));
        check("something_else", None);
        check("", None);
    }

    #[test]
    fn problems_come_in_the_order_of_lines() {
        let mut problems = Problems::of("a.yaml");
        problems.add(Some(Place { line: 9, column: 1 }), "later");
        problems.add(Some(Place { line: 2, column: 1 }), "sooner");
        let error = problems.settle().unwrap_err();
        assert_eq!(error.to_string(), "a.yaml:2: sooner\na.yaml:9: later");
    }
}
