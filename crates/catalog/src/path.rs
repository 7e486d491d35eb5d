//! The grammar of browse paths: `/`, `/namespace`, `/namespace/name`, `/namespace/group/name`, with
//! `*` as the last segment for any. Groups are what dots and slashes set apart in a tool's own name.

use model::{Code, Fault};

use crate::entry::Entry;
use crate::{limits, namespace};

/// A well-formed path. Whether it leads anywhere is another question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Any,
    Named(String),
}

impl Path {
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let invalid = |why: &str| {
            let message = format!("path {why}; write `/`, `/namespace` or `/namespace/name`");
            Fault::new(Code::PathInvalid, message).at(model::fault::one_line(text, 200))
        };
        if text.len() > limits::PATH_CHARS_MAX {
            return Err(invalid("is too long"));
        }
        let rest = text.strip_prefix('/').ok_or_else(|| invalid("does not start with `/`"))?;
        if rest.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let last = rest.split('/').count() - 1;
        let segments = rest.split('/').enumerate().map(|(at, segment)| match segment {
            "" => Err(invalid("has an empty segment")),
            "*" if at == last => Ok(Segment::Any),
            "*" => Err(invalid("has a `*` that is not its last segment")),
            name if at == 0 && name.starts_with(|c: char| c.is_ascii_digit()) => {
                Err(invalid("begins with a digit, which no namespace does"))
            }
            name if is_segment(name) => Ok(Segment::Named(name.to_owned())),
            _ => Err(invalid("has a segment that is not of `a-z`, `0-9`, `_` and `-`")),
        });
        segments.collect::<Result<_, _>>().map(Self)
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the entry lies at the path or below it.
    pub(crate) fn matches(&self, entry: &Entry) -> bool {
        let place = place(entry);
        let fits = |(wanted, is): (&Segment, &String)| match wanted {
            Segment::Any => true,
            Segment::Named(name) => name == is,
        };
        self.0.len() <= place.len() && self.0.iter().zip(&place).all(fits)
    }

    /// The group right below the path that this entry, which matches it, lies in.
    pub(crate) fn group_of(&self, entry: &Entry) -> Option<String> {
        let place = place(entry);
        let deeper = place.len() > self.0.len() + 1;
        deeper.then(|| place.iter().take(self.0.len() + 1).cloned().collect::<Vec<_>>().join("/"))
    }
}

/// Where an entry is found.
pub fn path_of(entry: &Entry) -> String {
    format!("/{}", place(entry).join("/"))
}

/// Namespace, groups and name, each forced into the grammar of segments.
fn place(entry: &Entry) -> Vec<String> {
    let local = namespace::strip(&entry.item.name, &entry.item.namespace).to_lowercase();
    let mut place = vec![entry.item.namespace.clone()];
    place.extend(local.split(['.', '/']).map(segment).filter(|segment| !segment.is_empty()));
    if place.len() == 1 {
        place.push("unnamed".to_owned());
    }
    place
}

fn segment(part: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let forced: String = part.chars().map(legal).collect();
    forced.trim_start_matches(['_', '-']).chars().take(limits::SEGMENT_CHARS_MAX).collect()
}

fn is_segment(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= limits::SEGMENT_CHARS_MAX
        && text.starts_with(plain)
        && text.chars().all(|c| plain(c) || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CW-85, gateway-spec §3: each way to write a path wrong.
    #[test]
    fn a_malformed_path_is_refused_with_a_hint() {
        let check = |text: &str| {
            let fault = Path::parse(text).unwrap_err();
            assert_eq!(fault.code, Code::PathInvalid, "{text}");
            assert!(fault.message.contains("/namespace/name"), "{}", fault.message);
        };
        check("");
        check("github");
        check("/github/");
        check("//x");
        check("/GitHub");
        check("/_x");
        check("/a b");
        check("/**");
        check("/*/create-issue");
        check("/9/0");
        check(&format!("/{}", "a".repeat(65)));
    }

    #[test]
    fn a_well_formed_path_is_read() {
        let check = |text: &str| assert!(Path::parse(text).is_ok(), "{text}");
        check("/");
        check("/github");
        check("/github/create_issue");
        check("/github/*");
        check("/*");
        check("/a/0");
        assert!(Path::parse("/").unwrap().is_root());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            if let Err(fault) = Path::parse(&text) {
                prop_assert_eq!(fault.code, Code::PathInvalid);
            }
        }
    }
}
