//! What kind of text a long text is, and which views suit it.

use model::{ArtifactKind, Selector, View};

use super::sketch::Sketch;
use crate::json::pointer_token;
use crate::limits::{CSV_SAMPLE_BYTES, CSV_SAMPLE_LINES, NAMES_MAX, VIEW_LINES};
use crate::sanitise::Profile;

pub(super) enum Form {
    Json(Sketch),
    Csv { columns: Vec<String> },
    Text,
}

impl Form {
    pub(super) fn of(text: &str) -> Self {
        match Sketch::of_text(text) {
            Some(sketch) => Self::Json(sketch),
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

    pub(super) fn views(&self, lines: usize) -> Vec<View> {
        match self {
            Self::Json(Sketch::Object { fields, .. }) => field_views(fields),
            Self::Json(_) => vec![pointer_view("first element", "0")],
            Self::Csv { .. } => {
                let end = VIEW_LINES.min(lines.saturating_sub(1));
                let selector = Selector::Rows { start: 1, end, pointer: String::new() };
                let rows = View { label: "first rows".to_owned(), selector };
                [rows].into_iter().chain(line_views(lines)).collect()
            }
            Self::Text => line_views(lines),
        }
    }
}

/// Lists and objects first: they are what a reader has to look into.
fn field_views(fields: &[(String, Sketch)]) -> Vec<View> {
    let clean = fields.iter().filter(|(key, _)| Profile::Strict.clean(key) == key.as_str());
    let mut keys: Vec<_> = clean.collect();
    keys.sort_by_key(|(_, sketch)| {
        !matches!(sketch, Sketch::Array { .. } | Sketch::Object { .. } | Sketch::Deep)
    });
    let view = |(key, _): &(String, Sketch)| pointer_view(key, &pointer_token(key));
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

/// The cells of the first line, when the lines after it have as many.
fn csv_columns(text: &str) -> Option<Vec<String>> {
    let sample = (0..=CSV_SAMPLE_BYTES).rev().find_map(|at| text.get(..at)).unwrap_or(text);
    let sample = if text.len() > CSV_SAMPLE_BYTES { sample } else { text };
    let whole = sample.rfind('\n').and_then(|at| sample.get(..at)).unwrap_or_default();
    let mut rows = whole.lines().take(CSV_SAMPLE_LINES).map(cells);
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
    use serde_json::Value;

    #[test]
    fn text_is_told_apart_by_its_form() {
        let check = |text: &str, media_type: &str| {
            assert_eq!(Form::of(text).media_type(), media_type, "{text}");
        };
        check(r#"{"a":[1,2],"b":null}"#, "application/json");
        check(r#" [{"id":1}]"#, "application/json");
        check("[]", "application/json");
        check("{broken", "text/plain");
        check("42", "text/plain");
        check("id,name\n1,\"a, b\"\n2,c\n", "text/csv");
        check("id,name\n1,a\n", "text/plain");
        check("Dear Ann,\nthanks, and bye,\nBob", "text/plain");
        check("", "text/plain");
    }

    #[test]
    fn views_suit_the_form() {
        let check = |text: &str, expected: Value| {
            let views = Form::of(text).views(text.lines().count());
            assert_eq!(serde_json::to_value(views).unwrap(), expected);
        };
        let view = |label: &str, selector: Value| serde_json::json!({"label": label, "selector": selector});
        let pointer = |label: &str, pointer: &str| {
            view(label, serde_json::json!({"type": "json_pointer", "pointer": pointer}))
        };
        let lines = |label: &str, start: usize, end: usize| {
            view(label, serde_json::json!({"type": "lines", "start": start, "end": end}))
        };
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
