//! Text into comparable words: identifiers split, lower case, English endings folded.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// The words of a text in order, repeats included, lower case, not yet folded.
///
/// An identifier gives its parts and, when it has several, itself in one piece:
/// `GitHub` gives `git`, `hub`, `github`.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_word(text, &mut |word| all.push(word.to_owned()));
    all
}

/// The same words one by one, most of them without a copy.
pub(crate) fn each_word(text: &str, heard: &mut dyn FnMut(&str)) {
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        if run.bytes().all(|byte| byte.is_ascii_lowercase()) {
            heard(run);
        } else if is_capitalised(run) {
            heard(&run.to_ascii_lowercase());
        } else {
            for word in parts_and_whole(run) {
                heard(&word);
            }
        }
    }
}

/// A lower-case word without its English ending.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    thread_local!(static ENGLISH: Stemmer = Stemmer::create(Algorithm::English));
    if word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return ENGLISH.with(|stemmer| Cow::Owned(stemmer.stem(word).into_owned()));
    }
    Cow::Borrowed(word)
}

/// An identifier as words apart: `createIssue_now` as `create Issue now`.
pub(crate) fn spaced(identifier: &str) -> String {
    let mut text = String::with_capacity(identifier.len() + 8);
    let mut before = None;
    let mut rest = identifier.chars().peekable();
    while let Some(current) = rest.next() {
        let is_part = current.is_alphanumeric();
        if is_part {
            if !text.is_empty() && cuts(before, current, rest.peek().copied()) {
                text.push(' ');
            }
            text.push(current);
        }
        before = is_part.then_some(current);
    }
    text
}

/// The parts of an identifier in lower case: `createIssue_now` as `create`, `issue`, `now`.
pub(crate) fn lower_parts(identifier: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let runs = identifier.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.flat_map(|run| {
        if run.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return vec![Cow::Borrowed(run)];
        }
        split_case(run).into_iter().map(|part| Cow::Owned(part.to_lowercase())).collect()
    })
}

/// Words that say nothing about which tool is meant.
pub(crate) fn is_filler(word: &str) -> bool {
    FILLERS.binary_search(&word).is_ok()
}

/// In order of the alphabet.
const FILLERS: &[&str] = &[
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can",
    "could", "d", "did", "do", "does", "for", "from", "had", "has", "have", "help", "hey", "hi",
    "how", "i", "if", "im", "in", "into", "is", "it", "its", "just", "know", "let", "like", "ll",
    "looking", "m", "may", "me", "might", "my", "need", "no", "not", "of", "on", "or", "our",
    "please", "re", "s", "should", "so", "some", "t", "tell", "than", "thank", "thanks", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "tool", "us",
    "use", "using", "ve", "want", "was", "we", "were", "what", "when", "where", "which", "who",
    "whose", "why", "will", "with", "would", "you", "your",
];

/// A plain word that opens a sentence.
fn is_capitalised(run: &str) -> bool {
    let mut bytes = run.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_uppercase())
        && bytes.all(|byte| byte.is_ascii_lowercase())
}

fn parts_and_whole(run: &str) -> Vec<String> {
    let mut parts = split_case(run);
    if parts.len() > 1 {
        parts.push(run.to_owned());
    }
    parts.iter().map(|part| part.chars().flat_map(char::to_lowercase).collect()).collect()
}

/// Cuts where lower meets upper case, letters meet digits, or an abbreviation meets a word.
fn split_case(run: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut before = None;
    let mut rest = run.chars().peekable();
    while let Some(current) = rest.next() {
        match parts.last_mut() {
            Some(part) if !cuts(before, current, rest.peek().copied()) => part.push(current),
            _ => parts.push(current.to_string()),
        }
        before = Some(current);
    }
    parts
}

fn cuts(before: Option<char>, current: char, after: Option<char>) -> bool {
    let Some(before) = before else { return true };
    let camel = before.is_lowercase() && current.is_uppercase();
    let number = before.is_numeric() != current.is_numeric();
    let abbreviation =
        before.is_uppercase() && current.is_uppercase() && after.is_some_and(char::is_lowercase);
    camel || number || abbreviation
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identifiers_come_apart() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(words(text), expected, "{text}");
        };
        check("search_database", &["search", "database"]);
        check("createIssue", &["create", "issue", "createissue"]);
        check("github.create-issue", &["github", "create", "issue"]);
        check("HTTPServer", &["http", "server", "httpserver"]);
        check("GitHub", &["git", "hub", "github"]);
        check("s3put", &["s", "3", "put", "s3put"]);
        check("Überweisung_Größe", &["überweisung", "größe"]);
        check("  ", &[]);
    }

    #[test]
    fn endings_fold() {
        let check = |one: &str, other: &str| assert_eq!(stem(one), stem(other));
        check("issues", "issue");
        check("repositories", "repository");
        check("creating", "created");
        check("branches", "branch");
        assert_eq!(stem("größen"), "größen");
    }

    #[test]
    fn fillers_are_in_order_so_that_they_can_be_looked_up() {
        assert!(FILLERS.is_sorted());
        assert!(is_filler("the") && !is_filler("weather"));
    }

    proptest! {
        #[test]
        fn no_word_is_empty_and_none_keeps_a_separator(text in any::<String>()) {
            for word in words(&text) {
                prop_assert!(!word.is_empty());
                prop_assert!(!word.contains(['_', '.', '-', ' ', '/']));
            }
        }
    }
}
