//! Common words of tools in German, Spanish, French and Chinese, each with its English.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The English words for a foreign one, in lower case; nothing where it is not known.
pub(crate) fn english(word: &str) -> Option<&'static str> {
    let base = |ending: &str| word.strip_suffix(ending).and_then(|base| WORDS.get(base)).copied();
    let exact = WORDS.get(word).copied();
    exact.or_else(|| ["en", "e", "n", "s", "es", "er"].into_iter().find_map(base))
}

/// A run of Chinese in known words, longest first; characters that begin none are left out.
pub(crate) fn from_chinese(run: &str) -> Vec<&'static str> {
    const WORD_CHARS_MAX: usize = 4;
    let mut found = Vec::new();
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(WORD_CHARS_MAX);
        let known = ends.collect::<Vec<_>>().into_iter().rev().find_map(|end| {
            let (word, left) = rest.split_at_checked(end)?;
            WORDS.get(word).map(|english| (*english, left))
        });
        match known {
            Some((english, left)) => {
                found.push(english);
                rest = left;
            }
            None => rest = rest.strip_prefix(first).unwrap_or_default(),
        }
    }
    found
}

static WORDS: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("../data/glossary.txt").lines();
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .flat_map(|(english, others)| {
            others.split_whitespace().map(move |word| (word, english.trim()))
        })
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_have_their_english() {
        let check =
            |word: &str, expected: &str| assert_eq!(english(word), Some(expected), "{word}");
        check("löschen", "delete");
        check("archivo", "file");
        check("supprimer", "delete");
        check("rechnungen", "invoice");
        assert_eq!(english("atlantis"), None);
        assert_eq!(from_chinese("删除这个文件"), ["delete", "file"]);
    }
}
