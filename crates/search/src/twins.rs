//! Hits that are nearly the same, and one line on how they differ.

use crate::index::Index;
use crate::part::Label;
use crate::rank::Hit;

/// A hit that an earlier hit can stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    pub doc: usize,
    /// The earlier hit.
    pub of: usize,
    pub differs: String,
}

impl Index {
    /// Near-duplicates among hits, in their order.
    pub fn twins(&self, hits: &[Hit]) -> Vec<Twin> {
        let mut heads: Vec<usize> = Vec::new();
        let mut twins = Vec::new();
        for hit in hits {
            match heads.iter().find(|head| self.alike(**head, hit.doc)) {
                Some(&of) => {
                    twins.push(Twin { doc: hit.doc, of, differs: self.differ(of, hit.doc) });
                }
                None => heads.push(hit.doc),
            }
        }
        twins
    }

    /// The namespace is part of the meaning, so one tool of two servers is never quite the same.
    fn alike(&self, one: usize, other: usize) -> bool {
        const SAME_MEANING: f32 = 0.97;
        const OF_ONE_NAME: f32 = 0.8;
        let name = |doc: usize| self.label(doc).map(|label| &label.name);
        let least = if name(one) == name(other) { OF_ONE_NAME } else { SAME_MEANING };
        self.between(one, other) >= least
    }

    fn differ(&self, one: usize, other: usize) -> String {
        let Some((one, other)) = self.label(one).zip(self.label(other)) else {
            return String::new();
        };
        let mut lines = Vec::new();
        if one.namespace != other.namespace {
            lines.push(format!("namespace `{}`", other.namespace));
        }
        lines.extend(only("takes also", other, one));
        lines.extend(only("lacks", one, other));
        match (lines.is_empty(), one.name == other.name) {
            (false, _) => lines.join("; "),
            (true, true) => "they differ in wording only".to_owned(),
            (true, false) => "they differ in name only".to_owned(),
        }
    }
}

fn only(what: &str, one: &Label, other: &Label) -> Option<String> {
    const NAMED_MAX: usize = 4;
    let names = one.params().filter(|param| !other.params().any(|other| other == *param));
    let names: Vec<String> = names.take(NAMED_MAX).map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Doc;

    #[test]
    fn the_same_tool_of_two_servers_is_grouped_and_told_apart() {
        let about = "Read a file from disk and return its text.";
        let doc = |namespace, params: &[&'static str]| Doc {
            name: "read_file",
            namespace,
            description: about,
            params: params.to_vec(),
            ..Doc::default()
        };
        let other = Doc { name: "send_mail", description: "Send a mail.", ..Doc::default() };
        let index = Index::build(&[doc("home", &["path"]), doc("work", &["path", "tail"]), other]);
        let hits: Vec<Hit> = (0..3).map(|doc| Hit { doc, score: 1.0 }).collect();
        let differs = "namespace `work`; takes also `tail`".to_owned();
        assert_eq!(index.twins(&hits), [Twin { doc: 1, of: 0, differs }]);
    }
}
