//! Path templates, and filling them so that no argument can leave its segment.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::limits::UNESCAPE_ROUNDS_MAX;
use crate::write::component;

/// What must not stand bare in the literal part of a path.
const LITERAL: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'|');

/// The segments between the slashes of a template such as `/pets/{petId}.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Vec<Part>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable(String),
}

impl Template {
    /// Nothing if the template is not a plain path below the base.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.contains(['?', '#']) {
            return None;
        }
        let segments = text.strip_prefix('/')?.split('/');
        segments.map(segment).collect::<Option<Vec<_>>>().map(Self)
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Literal(_) => None,
        })
    }

    /// The path with every variable replaced; an error names the variable that cannot be.
    pub(crate) fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Result<String, &str> {
        let mut path = String::new();
        for parts in &self.0 {
            path.push('/');
            path.push_str(&fill_segment(parts, &value)?);
        }
        Ok(path)
    }
}

/// Whether text could be read as a step along the path, however often it is unescaped.
pub(crate) fn climbs(text: &str) -> bool {
    let mut text = text.to_owned();
    for _ in 0..UNESCAPE_ROUNDS_MAX {
        if text.split(['/', '\\']).any(|step| step == "." || step == "..") {
            return true;
        }
        let unescaped = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if unescaped == text {
            return false;
        }
        text = unescaped;
    }
    true
}

fn fill_segment<'t>(
    parts: &'t [Part],
    value: &impl Fn(&str) -> Option<String>,
) -> Result<String, &'t str> {
    let mut segment = String::new();
    let mut last = None;
    for part in parts {
        match part {
            Part::Literal(text) => segment.push_str(text),
            Part::Variable(name) => {
                let text = value(name).filter(|text| !text.contains(char::is_control));
                segment.push_str(&component(&text.ok_or(name.as_str())?));
                last = Some(name.as_str());
            }
        }
    }
    match last {
        Some(name) if segment.is_empty() || climbs(&segment) => Err(name),
        _ => Ok(segment),
    }
}

fn segment(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}')?;
        parts.push(literal(before)?);
        parts.push(Part::Variable(Some(name).filter(|name| !name.is_empty())?.to_owned()));
        rest = tail;
    }
    parts.push(literal(rest)?);
    parts.retain(|part| *part != Part::Literal(String::new()));
    let alone = matches!(parts.as_slice(), [Part::Literal(text)] if climbs(text));
    (!alone).then_some(parts)
}

fn literal(text: &str) -> Option<Part> {
    let whole = !text.contains(['{', '}']);
    whole.then(|| Part::Literal(utf8_percent_encode(text, LITERAL).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(template: &str, value: &str) -> Option<String> {
        Template::parse(template).unwrap().fill(|_| Some(value.to_owned())).ok()
    }

    #[test]
    fn an_argument_stays_in_its_segment() {
        let check = |value: &str, expected: Option<&str>| {
            assert_eq!(fill("/pets/{id}/toys", value).as_deref(), expected, "{value}");
        };
        check("7", Some("/pets/7/toys"));
        check("a b", Some("/pets/a%20b/toys"));
        check("a/b", Some("/pets/a%2Fb/toys"));
        check("a?b=c#d", Some("/pets/a%3Fb%3Dc%23d/toys"));
        check("%2f", Some("/pets/%252f/toys"));
        check("@evil.test", Some("/pets/%40evil.test/toys"));
        check("a\\b", Some("/pets/a%5Cb/toys"));
        check("é", Some("/pets/%C3%A9/toys"));
        check("...", Some("/pets/.../toys"));
        check("v1.2", Some("/pets/v1.2/toys"));
        check("", None);
        check(".", None);
        check("..", None);
        check("../admin", None);
        check("x/../../admin", None);
        check("..\\admin", None);
        check("%2e%2e", None);
        check("%252e%252e%252fadmin", None);
        check("a\r\nHost: evil.test", None);
        check("a\0", None);
    }

    #[test]
    fn dots_cannot_be_put_together_from_pieces() {
        assert_eq!(fill("/a/{x}{y}", "."), None);
        assert_eq!(fill("/a/.{x}", "."), None);
        assert_eq!(fill("/a/{x}.json", "b").as_deref(), Some("/a/b.json"));
        assert_eq!(fill("/a/{x}/", "b").as_deref(), Some("/a/b/"));
    }

    #[test]
    fn a_template_that_is_no_path_is_refused() {
        for text in ["", "pets", "/a?b=1", "/a#b", "/a/{", "/a/}", "/{}", "/a/../b", "/{{x}}"] {
            assert_eq!(Template::parse(text), None, "{text}");
        }
    }
}
