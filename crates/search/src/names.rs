//! Names and namespaces, so that one said outright is understood in any spelling.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use crate::doc::Doc;

/// Names are kept as hashes under a key of this process: nobody can choose two that meet, and one
/// takes an eighth of the room of its text.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Lower case as written.
    written: Said,
    /// Lower case, letters and digits only.
    squashed: Said,
    /// Namespaces and upstreams, letters and digits only.
    places: Said,
}

/// Hashes in order, and the document each belongs to.
#[derive(Clone, Debug, Default)]
struct Said {
    hashes: Vec<u64>,
    docs: Vec<u32>,
}

/// One name of one document of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    hash: u64,
    doc: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Written,
    Squashed,
    Place,
}

/// Adds all names of a document, ready to be looked up.
pub(crate) fn names_of(doc_number: u32, doc: &Doc<'_>, names: &mut Vec<Name>) {
    let mut room = String::new();
    let mut put = |kind: Kind, text: &str| {
        room.clear();
        match kind {
            Kind::Written => lower(text, &mut room),
            Kind::Squashed | Kind::Place => squash(text, &mut room),
        }
        if !room.is_empty() {
            names.push(Name { hash: KEY.hash_one(&room), doc: doc_number, kind });
        }
    };
    let joined = format!("{}.{}", doc.namespace, doc.name);
    for name in [doc.name, &joined].into_iter().chain(doc.aliases.iter().copied()) {
        put(Kind::Written, name);
        put(Kind::Squashed, name);
    }
    put(Kind::Squashed, doc.title.unwrap_or_default());
    put(Kind::Place, doc.namespace);
    put(Kind::Place, doc.upstream);
}

impl Names {
    /// Of parts, each with the number of its first document.
    pub(crate) fn new<'a>(parts: &(impl Iterator<Item = (u32, &'a [Name])> + Clone)) -> Self {
        let said = |kind: Kind| {
            let names =
                parts.clone().flat_map(|(first, part)| part.iter().map(move |name| (first, name)));
            let names = names.filter(|(_, name)| name.kind == kind);
            Said::new(names.map(|(first, name)| (name.hash, name.doc.saturating_add(first))))
        };
        Self {
            written: said(Kind::Written),
            squashed: said(Kind::Squashed),
            places: said(Kind::Place),
        }
    }

    /// Documents that go by exactly this name, but for case.
    pub(crate) fn written(&self, name: &str) -> &[u32] {
        let mut room = String::new();
        lower(name.trim(), &mut room);
        self.written.get(&room)
    }

    /// Documents that go by this name, but for case and separators.
    pub(crate) fn squashed(&self, name: &str) -> &[u32] {
        self.squashed.get(&squashed(name))
    }

    /// Documents of the namespace or upstream that words name.
    pub(crate) fn place(&self, words: &str) -> &[u32] {
        self.places.get(&squashed(words))
    }
}

impl Said {
    fn new(names: impl Iterator<Item = (u64, u32)>) -> Self {
        let mut names: Vec<(u64, u32)> = names.collect();
        names.sort_unstable();
        names.dedup();
        let (hashes, docs) = names.into_iter().unzip();
        Self { hashes, docs }
    }

    /// In order of the documents.
    fn get(&self, name: &str) -> &[u32] {
        let hash = KEY.hash_one(name);
        let start = self.hashes.partition_point(|other| *other < hash);
        let same = self.hashes.get(start..).unwrap_or_default();
        let same = same.partition_point(|other| *other == hash);
        self.docs.get(start..start + same).unwrap_or_default()
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

fn squashed(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    squash(name, &mut text);
    text
}

fn squash(name: &str, text: &mut String) {
    for c in name.chars().filter(|c| c.is_alphanumeric()) {
        if c.is_ascii() {
            text.push(c.to_ascii_lowercase());
        } else {
            text.extend(c.to_lowercase());
        }
    }
}

fn lower(name: &str, text: &mut String) {
    if name.is_ascii() {
        text.push_str(name);
        text.make_ascii_lowercase();
    } else {
        text.push_str(&name.to_lowercase());
    }
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
        let mut listed = Vec::new();
        names_of(0, &doc, &mut listed);
        let names = Names::new(&std::iter::once((0, listed.as_slice())));
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
