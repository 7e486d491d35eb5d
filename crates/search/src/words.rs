//! Text into comparable words: identifiers split, lower case, plurals folded. No dictionary.

/// The words of a text in order, repeats included.
///
/// An identifier gives its parts and, when it has several, itself in one piece:
/// `GitHub` gives `git`, `hub`, `github`.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(parts_and_whole).collect()
}

/// Words that say nothing about which tool is meant.
pub(crate) fn is_filler(word: &str) -> bool {
    const FILLERS: &[&str] = &[
        "a", "an", "and", "at", "by", "can", "do", "for", "from", "how", "i", "in", "is", "it",
        "me", "my", "need", "of", "on", "or", "please", "some", "that", "the", "this", "to",
        "tool", "use", "want", "what", "which", "with", "you",
    ];
    FILLERS.contains(&word)
}

fn parts_and_whole(run: &str) -> Vec<String> {
    let mut parts = split_case(run);
    if parts.len() > 1 {
        parts.push(run.to_owned());
    }
    parts.iter().map(|part| fold(part)).filter(|part| !part.is_empty()).collect()
}

/// Cuts where lower meets upper case, letters meet digits, or an abbreviation meets a word.
fn split_case(run: &str) -> Vec<String> {
    let chars: Vec<char> = run.chars().collect();
    let mut parts: Vec<String> = Vec::new();
    for (at, &current) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|i| chars.get(i)).copied();
        let after = chars.get(at + 1).copied();
        match parts.last_mut() {
            Some(part) if !cuts(before, current, after) => part.push(current),
            _ => parts.push(current.to_string()),
        }
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

fn fold(word: &str) -> String {
    singular(word.chars().flat_map(char::to_lowercase).collect())
}

/// English plurals only, and only where the ending is plain.
fn singular(word: String) -> String {
    if word.len() <= 3 || !word.is_ascii() {
        return word;
    }
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    let hissing = ["sses", "xes", "ches", "shes"];
    if hissing.iter().any(|ending| word.ends_with(ending)) {
        return word.strip_suffix("es").unwrap_or(&word).to_owned();
    }
    if ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        return word;
    }
    word.strip_suffix('s').unwrap_or(&word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identifiers_come_apart() {
        let check = |text: &str, expected: &[&str]| assert_eq!(words(text), expected, "{text}");
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
    fn plurals_meet_their_singular() {
        let check = |plural: &str, singular: &str| assert_eq!(words(plural), words(singular));
        check("issues", "issue");
        check("repositories", "repository");
        check("boxes", "box");
        check("branches", "branch");
        check("classes", "class");
        assert_eq!(words("status analysis"), ["status", "analysis"]);
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
