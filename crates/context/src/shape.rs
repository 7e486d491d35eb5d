//! Size control: an answer that is too long leaves an excerpt and the way to the rest.
//!
//! What passes, passes byte for byte. What does not is moved, raw, to blobs under one handle, and
//! every blob is named in the excerpt: nothing goes missing in silence.

mod excerpt;
mod form;
mod lanes;
mod notice;
mod sort;
mod weigh;

use model::{Answer, ArtifactKind, View};
use serde_json::{Value, json};

use crate::blob::{Blob, Shelf};
use crate::clear::Size;
use lanes::{Lane, Lanes, lanes};
use notice::notice;
use sort::{Binary, Sorted, sort};

pub(crate) struct Shaped {
    pub(crate) answer: Answer,
    pub(crate) blobs: Vec<Blob>,
    pub(crate) views: Vec<View>,
}

pub(crate) fn shape(answer: Answer, tool: &str, size: &Size, summary: &str) -> Shaped {
    match size {
        Size::Firewall { inline_chars, handle } if weigh::exceeds(&answer, *inline_chars) => {
            let desk = Desk { tool, inline_chars: *inline_chars, summary };
            set_aside(answer, &desk, Shelf::new(handle))
        }
        Size::Whole | Size::Firewall { .. } => {
            Shaped { answer, blobs: Vec::new(), views: Vec::new() }
        }
    }
}

struct Desk<'a> {
    tool: &'a str,
    inline_chars: usize,
    summary: &'a str,
}

fn set_aside(answer: Answer, desk: &Desk<'_>, mut shelf: Shelf<'_>) -> Shaped {
    let Answer { content, structured, is_error, rest, bare, written: _ } = answer;
    let Sorted { text, kept, kept_chars, binaries, leftover } =
        sort(content, desk.inline_chars / 4);
    let room = desk.inline_chars.saturating_sub(kept_chars);
    let mut lanes = lanes(text, structured, room);
    shelve_lanes(&mut shelf, &mut lanes, desk.tool);
    shelve_parts(&mut shelf, binaries, leftover, desk.tool);

    let said = notice(desk, &shelf.blobs, &lanes);
    let views = lanes.set_aside().map(|lane| lane.form.views(&lane.shown)).unwrap_or_default();
    let structured = match lanes.data {
        Some(_) => Some(stand_in(&shelf.blobs, desk.summary)),
        None => lanes.inline,
    };
    let content = Answer::text(said).content.into_iter().chain(kept).collect();
    let answer = Answer { content, structured, is_error, rest, bare, written: None };
    Shaped { answer, blobs: shelf.blobs, views }
}

fn shelve_lanes(shelf: &mut Shelf<'_>, lanes: &mut Lanes, tool: &str) {
    let data = lanes.data.iter_mut().map(|lane| (lane, "structured content"));
    let words = lanes.words.iter_mut().filter(|lane| !lane.shown.is_whole());
    for (lane, what) in data.chain(words.map(|lane| (lane, "text"))) {
        let Lane { text, form, .. } = lane;
        let bytes = std::mem::take(text).into_bytes();
        shelf.put(form.kind(), form.media_type(), &format!("{what} from {tool}"), bytes);
    }
}

fn shelve_parts(shelf: &mut Shelf<'_>, binaries: Vec<Binary>, leftover: Vec<Value>, tool: &str) {
    for Binary { media_type, label, bytes } in binaries {
        shelf.put(ArtifactKind::Blob, &media_type, &label, bytes);
    }
    if !leftover.is_empty() {
        let bytes = lanes::pretty(&Value::Array(leftover)).into_bytes();
        let label = format!("other parts from {tool}");
        shelf.put(ArtifactKind::Json, "application/json", &label, bytes);
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
