//! What kind of text a long text is, how to describe it, and which views suit it.

use model::{ArtifactKind, Selector, View};
use serde_json::{Map, Value};

use super::excerpt::Excerpt;
use crate::json::{parse_container, pointer_token, sort_of};
use crate::limits::{CSV_SAMPLE_LINES, NAME_CHARS_MAX, NAMES_MAX, VIEW_LINES};
use crate::sanitise::Profile;

pub(super) enum Form {
    Json(Value),
    Csv { columns: Vec<String> },
    Text,
}

impl Form {
    pub(super) fn of(text: &str) -> Self {
        match parse_container(text) {
            Some(value) => Self::Json(value),
            None => csv_columns(text).map_or(Self::Text, |columns| Self::Csv { columns }),
        }
    }

    pub(super) const fn kind(&self) -> ArtifactKind {
        match self {
            Self::Json(_) => ArtifactKind::Json,
            Self::Csv { .. } | Self::Text => ArtifactKind::Text,
        }
    }

    pub(super) const fn media_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json",
            Self::Csv { .. } => "text/csv",
            Self::Text => "text/plain",
        }
    }

    /// One line on what is inside; nothing where the excerpt says it better.
    pub(super) fn gist(&self) -> Option<String> {
        match self {
            Self::Json(value) => Some(describe(value)),
            Self::Csv { columns } => Some(format!("columns: {}", listed(columns))),
            Self::Text => None,
        }
    }

    pub(super) fn views(&self, shown: &Excerpt) -> Vec<View> {
        match self {
            Self::Json(Value::Object(fields)) => field_views(fields),
            Self::Json(_) => vec![pointer_view("first element", "0")],
            Self::Csv { .. } | Self::Text => line_views(shown.lines),
        }
    }
}

/// Lists and objects first: they are what a reader has to look into.
fn field_views(fields: &Map<String, Value>) -> Vec<View> {
    let clean = fields.iter().filter(|(key, _)| Profile::Strict.clean(key) == key.as_str());
    let mut keys: Vec<_> = clean.collect();
    keys.sort_by_key(|(_, value)| !(value.is_array() || value.is_object()));
    let view = |(key, _): (&String, &Value)| pointer_view(key, &pointer_token(key));
    keys.into_iter().take(NAMES_MAX).map(view).collect()
}

fn pointer_view(label: &str, token: &str) -> View {
    let selector = Selector::JsonPointer { pointer: format!("/{token}") };
    View { label: label.to_owned(), selector }
}

fn line_views(lines: usize) -> Vec<View> {
    let view = |label: &str, start: usize, end: usize| View {
        label: label.to_owned(),
        selector: Selector::Lines { start, end },
    };
    let head = view("first lines", 1, VIEW_LINES.min(lines));
    let tail = view("last lines", lines.saturating_sub(VIEW_LINES) + 1, lines);
    if lines > VIEW_LINES { vec![head, tail] } else { vec![head] }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let named = fields.iter().map(|(key, value)| format!("{key} ({})", sort_of(value)));
            format!(
                "an object of {}: {}",
                fields.len(),
                listed(&named.take(NAMES_MAX + 1).collect::<Vec<_>>())
            )
        }
        Value::Array(items) => {
            let first = items.first().map(|item| format!(", the first is {}", describe(item)));
            format!("an array of {}{}", items.len(), first.unwrap_or_default())
        }
        other => sort_of(other),
    }
}

fn listed(names: &[String]) -> String {
    let brief = |name: &String| -> String { name.chars().take(NAME_CHARS_MAX).collect() };
    let mut list: Vec<_> = names.iter().take(NAMES_MAX).map(brief).collect();
    if names.len() > NAMES_MAX {
        list.push("…".to_owned());
    }
    list.join(", ")
}

/// The cells of the first line, when the lines after it have as many.
fn csv_columns(text: &str) -> Option<Vec<String>> {
    let mut rows = text.lines().take(CSV_SAMPLE_LINES).map(cells);
    let header = rows.next()?;
    let named = header.len() > 1 && header.iter().all(|cell| !cell.is_empty());
    let alike = rows.map(|row| row.len() == header.len()).collect::<Vec<_>>();
    let table = named && alike.len() > 1 && alike.iter().all(|same| *same);
    table.then(|| header.into_iter().map(|cell| cell.trim().to_owned()).collect())
}

/// Cells between commas; a comma inside double quotes parts nothing.
fn cells(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    line.split(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_apart_by_its_form() {
        let check = |text: &str, media_type: &str, gist: Option<&str>| {
            let form = Form::of(text);
            assert_eq!((form.media_type(), form.gist().as_deref()), (media_type, gist), "{text}");
        };
        let json = "application/json";
        check(r#"{"a":[1,2],"b":null}"#, json, Some("an object of 2: a (array of 2), b (null)"));
        check(
            r#" [{"id":1}]"#,
            json,
            Some("an array of 1, the first is an object of 1: id (number)"),
        );
        check("[]", json, Some("an array of 0"));
        check("{broken", "text/plain", None);
        check("42", "text/plain", None);
        check("id,name\n1,\"a, b\"\n2,c\n", "text/csv", Some("columns: id, name"));
        check("id,name\n1,a\n", "text/plain", None);
        check("Dear Ann,\nthanks, and bye,\nBob", "text/plain", None);
        check("", "text/plain", None);
    }

    #[test]
    fn views_suit_the_form() {
        let check = |text: &str, expected: Value| {
            let views = Form::of(text).views(&super::super::excerpt::excerpt(text, 10));
            assert_eq!(serde_json::to_value(views).unwrap(), expected);
        };
        let pointer = |label: &str, pointer: &str| serde_json::json!({"label": label, "selector": {"type": "json_pointer", "pointer": pointer}});
        let lines = |label: &str, start: usize, end: usize| serde_json::json!({"label": label, "selector": {"type": "lines", "start": start, "end": end}});
        check(
            r#"{"a/b":1,"c~":2}"#,
            [pointer("a/b", "/a~1b"), pointer("c~", "/c~0")].into_iter().collect(),
        );
        check("[1]", [pointer("first element", "/0")].into_iter().collect());
        check(
            &"x\n".repeat(50),
            [lines("first lines", 1, 20), lines("last lines", 31, 50)].into_iter().collect(),
        );
        check("x\ny", [lines("first lines", 1, 2)].into_iter().collect());
    }
}
