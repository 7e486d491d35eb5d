//! The words that stand in the place of a long answer.

use model::limits::VIEW_CHARS_MAX;
use serde_json::{Value, json};

use super::Desk;
use super::excerpt::{Excerpt, Section};
use super::form::Form;
use super::lanes::{Lane, Lanes};
use crate::blob::Blob;

pub(super) fn notice(desk: &Desk<'_>, blobs: &[Blob], lanes: &Lanes) -> String {
    let mut paragraphs = vec![format!(
        "The answer of `{}` is longer than {} characters. Part of it is shown; all of it is kept.",
        desk.tool, desk.inline_chars
    )];
    let sections = [("text", &lanes.words), ("structured content", &lanes.data)];
    paragraphs
        .extend(sections.iter().filter_map(|(what, lane)| Some(section(what, lane.as_ref()?))));
    paragraphs.push(kept(blobs));
    if let Some(first) = blobs.first() {
        paragraphs.push(further(first, lanes.set_aside()));
    }
    paragraphs.join("\n\n")
}

fn section(what: &str, lane: &Lane) -> String {
    let Lane { form, shown, .. } = lane;
    let Excerpt { chars, bytes, lines, .. } = shown;
    let size = match form {
        Form::Csv { columns } => format!("{} rows of {} columns", lines - 1, columns.len()),
        Form::Json(_) | Form::Text => format!("{lines} lines"),
    };
    let media_type = form.media_type();
    let head = format!("{what}: {chars} characters, {bytes} bytes, {size}, {media_type}");
    let parts = shown
        .sections
        .iter()
        .map(|Section { title, body }| format!("{title}\n{}", body.trim_end_matches(['\r', '\n'])));
    [head].into_iter().chain(parts).collect::<Vec<_>>().join("\n")
}

fn kept(blobs: &[Blob]) -> String {
    let line = |blob: &Blob| {
        let Blob { handle, media_type, label, bytes, .. } = blob;
        format!("- {handle}: {media_type}, {} bytes, {label}", bytes.len())
    };
    ["kept:".to_owned()].into_iter().chain(blobs.iter().map(line)).collect::<Vec<_>>().join("\n")
}

fn further(blob: &Blob, lane: Option<&Lane>) -> String {
    let example =
        |selector: Value| json!({"handle": blob.handle, "selector": selector}).to_string();
    let mut examples = vec!["To see more, call `tool_view` with, for example:".to_owned()];
    match lane.and_then(|lane| Some((lane, lane.shown.next.as_ref()?))) {
        Some((lane, next)) => {
            examples.push(example(json!(next)));
            let view = matches!(lane.form, Form::Json(_))
                .then(|| lane.form.views(lane.shown.lines).into_iter().next())
                .flatten();
            examples.extend(view.map(|view| example(json!(view.selector))));
            examples.push(example(json!({"type": "grep", "pattern": "…"})));
        }
        None => examples.push(example(json!({"type": "head", "chars": VIEW_CHARS_MAX}))),
    }
    examples.join("\n")
}
