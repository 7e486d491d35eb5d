//! What can be found, and the fields of it that are matched.

use crate::limits;
use crate::words::spaced;

/// One thing that can be found. Nothing here is shown; it is only matched.
#[derive(Clone, Debug, Default)]
pub struct Doc<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub namespace: &'a str,
    /// Where it comes from, when that goes by another name than the namespace.
    pub upstream: &'a str,
    pub description: &'a str,
    pub params: Vec<&'a str>,
    /// What the parameters say of themselves.
    pub param_texts: Vec<&'a str>,
    pub tags: Vec<&'a str>,
    /// Other names that mean this document and no other.
    pub aliases: Vec<&'a str>,
}

impl Doc<'_> {
    /// The document as one text, for an embedding from elsewhere.
    pub fn text(&self) -> String {
        let Self { namespace, description, .. } = self;
        let params = self.params.iter().map(|param| spaced(param)).collect::<Vec<_>>().join(", ");
        let text = format!("{namespace} {}: {description} Parameters: {params}", spaced(self.name));
        head(text.trim(), limits::OUTSIDE_CHARS_MAX).to_owned()
    }

    /// What stands in each field, in the order of `Field::ALL`.
    pub(crate) fn fields(&self) -> [Vec<&str>; FIELDS] {
        let description = head(self.description, limits::DESCRIPTION_CHARS_MAX);
        [
            std::iter::once(self.name).chain(self.title).collect(),
            vec![self.namespace],
            vec![description],
            self.tags.clone(),
            self.params.clone(),
            self.param_texts.iter().map(|text| head(text, limits::MEANING_CHARS_MAX)).collect(),
        ]
    }
}

/// Where a word can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Name,
    Namespace,
    Description,
    Tags,
    Params,
    ParamTexts,
}

pub(crate) const FIELDS: usize = 6;

impl Field {
    pub const ALL: [Self; FIELDS] = [
        Self::Name,
        Self::Namespace,
        Self::Description,
        Self::Tags,
        Self::Params,
        Self::ParamTexts,
    ];

    /// The bit that stands for it in a posting.
    pub(crate) fn bit(self) -> u8 {
        1 << self as u8
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Namespace => "namespace",
            Self::Description => "description",
            Self::Tags => "tags",
            Self::Params => "parameters",
            Self::ParamTexts => "parameter texts",
        }
    }
}

/// The first characters of a text.
pub(crate) fn head(text: &str, chars_max: usize) -> &str {
    if text.len() <= chars_max {
        return text;
    }
    let end = text.char_indices().nth(chars_max).map(|(at, _)| at);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_one_text_for_others_to_embed() {
        let doc = Doc {
            name: "createIssue",
            namespace: "github",
            description: "Open an issue.",
            params: vec!["repo_name", "title"],
            ..Doc::default()
        };
        let text = "github create Issue: Open an issue. Parameters: repo name, title";
        assert_eq!(doc.text(), text);
        let long = "x".repeat(5_000);
        assert_eq!(Doc { description: &long, ..doc }.text().chars().count(), 1_200);
    }
}
