//! The long texts of an answer, each with the part of it that is shown.

use model::canonical;
use serde_json::Value;

use super::excerpt::{Excerpt, excerpt};
use super::form::Form;
use super::sketch::Sketch;
use crate::json;

pub(super) struct Lanes {
    /// Structured content that is set aside.
    pub(super) data: Option<Lane>,
    /// Text, set aside unless it is shown whole.
    pub(super) words: Option<Lane>,
    /// Structured content short enough to stay where it is.
    pub(super) inline: Option<Value>,
}

pub(super) struct Lane {
    pub(super) text: String,
    pub(super) form: Form,
    pub(super) shown: Excerpt,
}

/// Structured content.
pub(super) struct Data {
    value: Value,
    /// INVARIANT: the canonical bytes, so that the artifact's id is the payload's hash.
    written: Vec<u8>,
}

impl Data {
    pub(super) fn new(value: Value, written: Option<Vec<u8>>) -> Self {
        Self { written: written.unwrap_or_else(|| canonical::bytes(&value)), value }
    }
}

impl Lanes {
    /// The lane behind the first handle.
    pub(super) fn set_aside(&self) -> Option<&Lane> {
        let partial = self.words.as_ref().filter(|lane| !lane.shown.whole);
        self.data.as_ref().or(partial).or(self.words.as_ref())
    }
}

/// Shares `room` tokens among what is long. Data of at most `inline_chars` may stay.
pub(super) fn lanes(
    text: String,
    structured: Option<Data>,
    room: usize,
    inline_chars: usize,
) -> Lanes {
    let repeats = structured.as_ref().is_some_and(|data| json::spells(&text, &data.value));
    let (inline, data, room) = match structured {
        None => (None, None, room),
        Some(data) => match json::chars(&data.value, inline_chars) {
            // Two characters are never more than two tokens, and usually less than one.
            chars if !repeats && chars <= (inline_chars / 2).min(room) => {
                (Some(data.value), None, room - chars / 2)
            }
            _ => (None, Some(data), room),
        },
    };
    let words_room = if data.is_some() { room / 2 } else { room };
    let words = (!repeats && !text.is_empty()).then(|| {
        let form = Form::of(&text);
        Lane::new(text, form, words_room)
    });
    let taken = words.as_ref().map_or(0, |lane| lane.shown.tokens());
    let data_room = room.saturating_sub(taken);
    let data = data.map(|Data { value, written }| {
        let text = String::from_utf8(written).unwrap_or_default();
        Lane::new(text, Form::Json(Sketch::of_value(&value)), data_room)
    });
    Lanes { data, words, inline }
}

impl Lane {
    fn new(text: String, form: Form, room: usize) -> Self {
        let shown = excerpt(&text, &form, room);
        Self { text, form, shown }
    }
}
