//! Names and namespaces, so that one said outright is understood in any spelling.

use std::collections::HashMap;
use std::sync::Arc;

use crate::doc::Doc;

#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Lower case as written.
    written: Said,
    /// Lower case, letters and digits only.
    squashed: Said,
    /// Namespaces and upstreams, letters and digits only.
    places: Said,
}

type Said = HashMap<Arc<str>, Vec<u32>>;

/// One name of one document of a part.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    doc: u32,
    kind: Kind,
    text: Arc<str>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Written,
    Squashed,
    Place,
}

/// All names of a document, ready to be looked up.
pub(crate) fn names_of(number: u32, doc: &Doc<'_>) -> Vec<Name> {
    let joined = format!("{}.{}", doc.namespace, doc.name);
    let mut names = Vec::new();
    let mut put = |kind: Kind, text: String| {
        if !text.is_empty() {
            names.push(Name { doc: number, kind, text: text.into() });
        }
    };
    for name in [doc.name, &joined].into_iter().chain(doc.aliases.iter().copied()) {
        put(Kind::Written, name.to_lowercase());
        put(Kind::Squashed, squash(name));
    }
    put(Kind::Squashed, squash(doc.title.unwrap_or_default()));
    put(Kind::Place, squash(doc.namespace));
    put(Kind::Place, squash(doc.upstream));
    names
}

impl Names {
    /// Of parts, each with the number of its first document.
    pub(crate) fn new<'a>(parts: impl Iterator<Item = (u32, &'a [Name])>) -> Self {
        let mut names = Self::default();
        for (first, name) in parts.flat_map(|(first, part)| part.iter().map(move |n| (first, n))) {
            let said = match name.kind {
                Kind::Written => &mut names.written,
                Kind::Squashed => &mut names.squashed,
                Kind::Place => &mut names.places,
            };
            let doc = name.doc.saturating_add(first);
            let docs = said.entry(Arc::clone(&name.text)).or_default();
            if docs.last() != Some(&doc) {
                docs.push(doc);
            }
        }
        names
    }

    /// Documents that go by exactly this name, but for case.
    pub(crate) fn written(&self, name: &str) -> &[u32] {
        get(&self.written, &name.trim().to_lowercase())
    }

    /// Documents that go by this name, but for case and separators.
    pub(crate) fn squashed(&self, name: &str) -> &[u32] {
        get(&self.squashed, &squash(name))
    }

    /// Documents of the namespace or upstream that words name.
    pub(crate) fn place(&self, words: &str) -> &[u32] {
        get(&self.places, &squash(words))
    }
}

/// Whether a word was written as programs write names.
pub(crate) fn is_identifier(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let joined =
        word.contains(['_', ':', '/']) || (word.contains(['.', '-']) && !word.contains(' '));
    let camel =
        word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    joined || camel
}

fn squash(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars().filter(|c| c.is_alphanumeric()) {
        if c.is_ascii() {
            text.push(c.to_ascii_lowercase());
        } else {
            text.extend(c.to_lowercase());
        }
    }
    text
}

fn get<'a>(names: &'a Said, name: &str) -> &'a [u32] {
    names.get(name).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_rendering() {
        let doc = Doc {
            name: "create_issue",
            namespace: "github",
            upstream: "hub-prod",
            ..Doc::default()
        };
        let listed = names_of(0, &doc);
        let names = Names::new(std::iter::once((0, listed.as_slice())));
        for name in ["Create_Issue", "createIssue", "create issue", "github.create_issue"] {
            assert_eq!(names.squashed(name), [0], "{name}");
        }
        assert_eq!(names.written("CREATE_ISSUE "), [0]);
        assert_eq!(names.written("create issue"), &[] as &[u32]);
        assert_eq!(names.place("GitHub"), [0]);
        assert_eq!(names.place("hub prod"), [0]);
    }

    #[test]
    fn identifiers_are_told_from_words() {
        let check =
            |word: &str, expected: bool| assert_eq!(is_identifier(word), expected, "{word}");
        check("get_weather", true);
        check("createIssue", true);
        check("files/read", true);
        check("weather.", false);
        check("Weather", false);
    }
}
