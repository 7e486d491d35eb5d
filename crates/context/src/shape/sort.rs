//! Goes through the parts of a long answer: which stay, which are text, which are put aside.

use serde_json::{Map, Value};

use super::weigh::part_chars;
use crate::blob::decode_base64;
use crate::limits::{BINARY_PARTS_MAX, MEDIA_FIELDS_CHARS_MAX};

#[derive(Default)]
pub(super) struct Sorted {
    /// Every text, joined by newlines.
    pub(super) text: String,
    /// Parts that go out as they are.
    pub(super) kept: Vec<Value>,
    pub(super) kept_chars: usize,
    pub(super) binaries: Vec<Binary>,
    /// What remains of parts that are neither kept nor text: `{part_index, part}`.
    pub(super) leftover: Vec<Value>,
}

pub(super) struct Binary {
    pub(super) part_index: usize,
    pub(super) media_type: String,
    pub(super) label: String,
    pub(super) bytes: Vec<u8>,
}

/// Keeps pictures and sounds, and other parts without text up to `room` characters together.
pub(super) fn sort(content: Vec<Value>, room: usize) -> Sorted {
    let mut sorted = Sorted::default();
    let mut texts = Vec::new();
    for (index, mut part) in content.into_iter().enumerate() {
        if let Some(text) = take_text(&mut part) {
            texts.push(text);
            if has_more_than_text(&part) {
                sorted.leave(index, part);
            }
        } else {
            sorted.place(index, part, room);
        }
    }
    sorted.text = match texts.len() {
        1 => texts.pop().unwrap_or_default(),
        _ => texts.join("\n"),
    };
    sorted
}

impl Sorted {
    fn place(&mut self, index: usize, part: Value, room: usize) {
        let chars = part_chars(&part, room.max(MEDIA_FIELDS_CHARS_MAX));
        if chars == 0 || self.kept_chars + chars <= room {
            self.kept_chars += chars;
            self.kept.push(part);
        } else if let Some(binary) = self.binary(index, &part) {
            self.binaries.push(binary);
        } else {
            self.leave(index, part);
        }
    }

    /// An embedded file that says nothing but its address, type and bytes.
    fn binary(&self, part_index: usize, part: &Value) -> Option<Binary> {
        let resource = part.get("resource")?.as_object()?;
        let plain = part.as_object()?.len() == 2
            && resource.keys().all(|key| ["uri", "mimeType", "blob"].contains(&key.as_str()));
        let field = |name: &str| resource.get(name).and_then(Value::as_str);
        let bytes = (plain && self.binaries.len() < BINARY_PARTS_MAX)
            .then(|| field("blob").and_then(decode_base64))
            .flatten()?;
        let media_type = field("mimeType").unwrap_or("application/octet-stream").to_owned();
        let label = field("uri").unwrap_or("file").to_owned();
        Some(Binary { part_index, media_type, label, bytes })
    }

    fn leave(&mut self, index: usize, part: Value) {
        let place = ("part_index".to_owned(), Value::from(index));
        self.leftover.push([place, ("part".to_owned(), part)].into_iter().collect());
    }
}

fn take_text(part: &mut Value) -> Option<String> {
    let fields = part.as_object_mut()?;
    match fields.get("type")?.as_str()? {
        "text" => take_string(fields),
        "resource" => take_string(fields.get_mut("resource")?.as_object_mut()?),
        _ => None,
    }
}

fn take_string(fields: &mut Map<String, Value>) -> Option<String> {
    fields.get("text")?.as_str()?;
    match fields.shift_remove("text")? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn has_more_than_text(part: &Value) -> bool {
    part.as_object().is_some_and(|fields| fields.len() > 1)
}
