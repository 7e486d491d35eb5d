//! The words that stand in the place of a long answer.

use model::limits::VIEW_CHARS_MAX;
use serde_json::{Value, json};

use super::Desk;
use super::excerpt::Excerpt;
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
    let media_type = form.media_type();
    let mut block =
        vec![format!("{what}: {chars} characters, {bytes} bytes, {lines} lines of {media_type}")];
    block.extend(form.gist());
    block.push(head_title(shown));
    block.push(shown.head.trim_end_matches(['\r', '\n']).to_owned());
    if shown.tail_lines > 0 {
        let start = shown.lines - shown.tail_lines + 1;
        block.push(format!("[lines {start} to {lines} of {lines}]"));
        block.push(shown.tail.trim_end_matches(['\r', '\n']).to_owned());
    }
    block.join("\n")
}

fn head_title(shown: &Excerpt) -> String {
    let Excerpt { head_lines, lines, .. } = shown;
    if shown.cut {
        format!("[line 1 of {lines}, its first {} characters]", shown.head.chars().count())
    } else {
        format!("[lines 1 to {head_lines} of {lines}]")
    }
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
    if let Some(Lane { form, shown, .. }) = lane {
        if let (Form::Json(_), Some(view)) = (form, form.views(shown).into_iter().next()) {
            examples.push(example(json!(view.selector)));
        }
        if shown.head_lines < shown.lines {
            let start = if shown.cut { 1 } else { shown.head_lines + 1 };
            let end = (start + 99).min(shown.lines);
            examples.push(example(json!({"type": "lines", "start": start, "end": end})));
        }
    }
    examples.push(example(json!({"type": "head", "chars": VIEW_CHARS_MAX})));
    examples.join("\n")
}
