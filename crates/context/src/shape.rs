//! Size control: an answer that is too long leaves an excerpt and the way to the rest.
//!
//! What passes, passes byte for byte. What does not is moved, raw, to blobs under one handle, and
//! every blob is named in the excerpt: nothing goes missing in silence.

mod excerpt;
mod form;
mod lanes;
mod notice;
mod outline;
mod sketch;
mod sort;
mod weigh;

use model::{Answer, ArtifactKind, View};
use serde_json::{Value, json};

use crate::blob::{Blob, Name, Shelf};
use crate::clear::Size;
use crate::limits::FRAME_TOKENS;
use lanes::{Data, Lane, Lanes, lanes};
use notice::notice;
use sort::{Binary, Sorted, sort};

pub(crate) struct Shaped {
    pub(crate) answer: Answer,
    pub(crate) blobs: Vec<Blob>,
    pub(crate) views: Vec<View>,
    /// The structured content is a stand-in.
    pub(crate) replaced: bool,
}

/// What an excerpt says of the answer as a whole.
pub(crate) struct Labels<'a> {
    pub(crate) tool: &'a str,
    pub(crate) summary: &'a str,
}

/// `written` is the structured content in its canonical bytes, if somebody has made them.
pub(crate) fn shape(
    answer: Answer,
    written: Option<Vec<u8>>,
    size: &Size,
    labels: &Labels<'_>,
) -> Shaped {
    match size {
        Size::Firewall { inline_chars, budget_tokens, handle }
            if weigh::exceeds(&answer, *inline_chars) =>
        {
            let (inline_chars, budget_tokens) = (*inline_chars, *budget_tokens);
            let Labels { tool, summary } = labels;
            let desk = Desk { tool, inline_chars, budget_tokens, summary };
            set_aside(answer, written, &desk, Shelf::new(handle))
        }
        Size::Whole | Size::Firewall { .. } => {
            Shaped { answer, blobs: Vec::new(), views: Vec::new(), replaced: false }
        }
    }
}

struct Desk<'a> {
    tool: &'a str,
    inline_chars: usize,
    budget_tokens: usize,
    summary: &'a str,
}

fn set_aside(
    answer: Answer,
    written: Option<Vec<u8>>,
    desk: &Desk<'_>,
    mut shelf: Shelf<'_>,
) -> Shaped {
    let Answer { content, structured, is_error, rest, bare, places, written: _ } = answer;
    let Sorted { text, kept, kept_chars, binaries, leftover } =
        sort(content, desk.inline_chars / 4);
    // What stays beside the excerpt costs, too; a token has about four characters.
    let room = desk.budget_tokens.saturating_sub(FRAME_TOKENS + kept_chars / 4);
    let data = structured.map(|value| Data::new(value, written));
    let mut lanes = lanes(text, data, room, desk.inline_chars);
    shelve_lanes(&mut shelf, &mut lanes, desk.tool);
    shelve_parts(&mut shelf, binaries, leftover, desk.tool);
    if shelf.blobs.is_empty() {
        // Too long for the threshold and yet within the budget: shown whole, and kept all the same.
        lanes.words.iter_mut().for_each(|lane| shelve(&mut shelf, lane, desk.tool, "text"));
    }

    let said = notice(desk, &shelf.blobs, &lanes);
    let views = lanes.set_aside().map(|lane| lane.form.views(lane.shown.lines)).unwrap_or_default();
    let replaced = lanes.data.is_some();
    let structured = match lanes.data {
        Some(_) => Some(stand_in(&shelf.blobs, desk.summary)),
        None => lanes.inline,
    };
    let content = Answer::text(said).content.into_iter().chain(kept).collect();
    let answer = Answer { content, structured, is_error, rest, bare, places, written: None };
    Shaped { answer, blobs: shelf.blobs, views, replaced }
}

fn shelve_lanes(shelf: &mut Shelf<'_>, lanes: &mut Lanes, tool: &str) {
    lanes.data.iter_mut().for_each(|lane| shelve(shelf, lane, tool, "structured content"));
    let partial = lanes.words.iter_mut().filter(|lane| !lane.shown.whole);
    partial.for_each(|lane| shelve(shelf, lane, tool, "text"));
}

fn shelve(shelf: &mut Shelf<'_>, lane: &mut Lane, tool: &str, what: &str) {
    let Lane { text, form, .. } = lane;
    let bytes = std::mem::take(text).into_bytes();
    let alias = Some(format!("mcp:{tool}:{}", what.replace(' ', "_")));
    let name = Name { label: &format!("{what} from {tool}"), alias };
    shelf.put(form.kind(), form.media_type(), name, bytes);
}

fn shelve_parts(shelf: &mut Shelf<'_>, binaries: Vec<Binary>, leftover: Vec<Value>, tool: &str) {
    for Binary { part_index, media_type, label, bytes } in binaries {
        let alias = Some(format!("mcp:{tool}:resource:{part_index}"));
        shelf.put(ArtifactKind::Blob, &media_type, Name { label: &label, alias }, bytes);
    }
    if !leftover.is_empty() {
        let bytes = Value::Array(leftover).to_string().into_bytes();
        let label = format!("other parts from {tool}");
        let name = Name { label: &label, alias: None };
        shelf.put(ArtifactKind::Json, "application/json", name, bytes);
    }
}

/// Takes the place of structured content that was set aside.
fn stand_in(blobs: &[Blob], summary: &str) -> Value {
    let mut cards = blobs.iter().map(Blob::card);
    let mut stand_in = json!({"artifact": cards.next(), "summary": summary, "lossy": true});
    let more: Vec<_> = cards.collect();
    if let (false, Some(fields)) = (more.is_empty(), stand_in.as_object_mut()) {
        fields.insert("more_artifacts".to_owned(), more.into());
    }
    stand_in
}
