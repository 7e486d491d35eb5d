//! The long texts of an answer, each with the part of it that is shown.

use serde_json::Value;

use super::excerpt::{Excerpt, excerpt};
use super::form::Form;
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

impl Lanes {
    /// The lane behind the first handle.
    pub(super) fn set_aside(&self) -> Option<&Lane> {
        let partial = self.words.as_ref().filter(|lane| !lane.shown.is_whole());
        self.data.as_ref().or(partial)
    }
}

/// Shares `room` characters among what is long.
pub(super) fn lanes(text: String, structured: Option<Value>, room: usize) -> Lanes {
    let form = Form::of(&text);
    let repeats = matches!(&form, Form::Json(value) if structured.as_ref() == Some(value));
    let (inline, data, room) = match structured {
        None => (None, None, room),
        Some(value) => match json::chars(&value, room) {
            chars if !repeats && chars <= room / 2 => (Some(value), None, room - chars),
            _ => (None, Some(value), room),
        },
    };
    let words_room = if data.is_some() { room / 2 } else { room };
    let words = (!repeats && !text.is_empty()).then(|| Lane::new(text, form, words_room));
    let taken = words.as_ref().map_or(0, |lane| lane.shown.shown_chars());
    let data_room = room.saturating_sub(taken);
    let data = data.map(|value| Lane::new(pretty(&value), Form::Json(value), data_room));
    Lanes { data, words, inline }
}

impl Lane {
    fn new(text: String, form: Form, room: usize) -> Self {
        let shown = excerpt(&text, room);
        Self { text, form, shown }
    }
}

/// JSON over many lines, so that views by line can page through it.
pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
