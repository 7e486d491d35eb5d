//! Names and namespaces, so that one said outright is understood in any spelling.

use std::collections::HashMap;

use crate::index::Doc;

#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Lower case as written.
    written: HashMap<Box<str>, Vec<u32>>,
    /// Lower case, letters and digits only.
    squashed: HashMap<Box<str>, Vec<u32>>,
    namespaces: HashMap<Box<str>, Vec<u32>>,
}

impl Names {
    pub(crate) fn new(docs: &[Doc<'_>]) -> Self {
        let mut names = Self::default();
        for (number, doc) in (0_u32..).zip(docs) {
            let joined = format!("{}.{}", doc.namespace, doc.name);
            for name in [doc.name, &joined].into_iter().chain(doc.aliases.iter().copied()) {
                put(&mut names.written, name.to_lowercase(), number);
                put(&mut names.squashed, squash(name), number);
            }
            put(&mut names.squashed, squash(doc.title.unwrap_or_default()), number);
            put(&mut names.namespaces, squash(doc.namespace), number);
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

    /// Documents of the namespace a word names.
    pub(crate) fn namespace(&self, word: &str) -> &[u32] {
        get(&self.namespaces, &squash(word))
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
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn put(names: &mut HashMap<Box<str>, Vec<u32>>, name: String, doc: u32) {
    if name.is_empty() {
        return;
    }
    let docs = names.entry(name.into()).or_default();
    if docs.last() != Some(&doc) {
        docs.push(doc);
    }
}

fn get<'a>(names: &'a HashMap<Box<str>, Vec<u32>>, name: &str) -> &'a [u32] {
    names.get(name).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_rendering() {
        let docs = [Doc { name: "create_issue", namespace: "github", ..Doc::default() }];
        let names = Names::new(&docs);
        for name in ["Create_Issue", "createIssue", "create issue", "github.create_issue"] {
            assert_eq!(names.squashed(name), [0], "{name}");
        }
        assert_eq!(names.written("CREATE_ISSUE "), [0]);
        assert_eq!(names.written("create issue"), &[] as &[u32]);
        assert_eq!(names.namespace("GitHub"), [0]);
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
