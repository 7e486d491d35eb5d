//! What an upstream gave back, before anybody judged it: content blocks, structured content, error flag.

mod places;

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

pub use self::places::Places;
use crate::canonical::{self, Field};
use crate::task::TaskState;

/// A raw answer in the shape all connectors share. Unknown fields ride along in `rest`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub content: Vec<Value>,
    pub structured: Option<Value>,
    pub is_error: bool,
    pub rest: Map<String, Value>,
    /// There was no `content` at all, as in answers that are no tool's last word.
    pub bare: bool,
    /// Where its upstream put what is read out above.
    pub places: Places,
    /// The whole of it as its upstream wrote it, kept where numbers are spelled in a way that the
    /// values above do not keep. Dropped with the first change.
    pub written: Option<Arc<str>>,
}

impl Answer {
    /// One block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![json!({"type": "text", "text": text.into()})], ..Self::default() }
    }

    /// Structured content, with the same JSON as text for clients that read only that.
    pub fn structured(value: Value) -> Self {
        let text = value.to_string();
        Self { structured: Some(value), ..Self::text(text) }
    }

    /// A tool's own "this did not work", in words a model can act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// A result of another method than `tools/call`, or one that is not the end of a call.
    pub fn bare(rest: Map<String, Value>) -> Self {
        Self { rest, bare: true, ..Self::default() }
    }

    /// Reads the result of a call; fields that mean nothing to us stay where they are.
    pub fn read(result: Value) -> Result<Self, &'static str> {
        let Value::Object(mut rest) = result else { return Err("a result must be an object") };
        let places = Places::of(&rest);
        let (content, bare) = match rest.shift_remove("content") {
            None => (Vec::new(), true),
            Some(Value::Array(content)) => (content, false),
            Some(_) => return Err("`content` must be a list"),
        };
        let is_error = match rest.shift_remove("isError") {
            None => false,
            Some(Value::Bool(is_error)) => is_error,
            Some(_) => return Err("`isError` must be true or false"),
        };
        let structured = rest.shift_remove("structuredContent").filter(|value| !value.is_null());
        Ok(Self { content, structured, is_error, rest, bare, places, written: None })
    }

    /// Not the tool's last word: it asks for input first, or goes on as a task.
    pub fn is_interim(&self) -> bool {
        let kind = self.rest.get("resultType").and_then(Value::as_str);
        self.bare
            && (kind.is_some_and(|kind| kind != "complete")
                || self.rest.get("task").is_some_and(Value::is_object))
    }

    /// Where that leaves the call: a task goes on working unless it says otherwise, and whoever asks
    /// for input waits for it.
    pub fn interim(&self) -> Option<TaskState> {
        if !self.is_interim() {
            return None;
        }
        let waits = self.rest.get("resultType").is_some_and(|kind| kind == "input_required");
        let otherwise = if waits { TaskState::InputRequired } else { TaskState::Working };
        Some(self.task_state().unwrap_or(otherwise))
    }

    /// Whether nothing has come of the call yet, because it wants to know something first.
    pub fn waits_for_input(&self) -> bool {
        self.task_id().is_none() && self.interim() == Some(TaskState::InputRequired)
    }

    /// The task it speaks of. 2026-07-28 puts it into the result itself, 2025-11-25 one level down
    /// where a call begins one.
    pub fn task_id(&self) -> Option<&str> {
        self.of_task("taskId").and_then(Value::as_str)
    }

    /// What it says of that task.
    pub fn task_state(&self) -> Option<TaskState> {
        self.task_id()?;
        TaskState::deserialize(self.of_task("status")?).ok()
    }

    fn of_task(&self, key: &str) -> Option<&Value> {
        let nested = self.rest.get("task").filter(|task| task.is_object());
        nested.map_or_else(|| self.rest.get(key), |task| task.get(key))
    }

    /// SHA-256 of the canonical JSON of all of it.
    pub fn hash(&self) -> String {
        self.hash_with(self.structured.as_ref().map(Field::Value))
    }

    /// The same, with the structured content as the caller has it; must be its canonical bytes.
    pub fn hash_with_written(&self, structured: &[u8]) -> String {
        self.hash_with(self.structured.as_ref().map(|_| Field::Written(structured)))
    }

    fn hash_with(&self, structured: Option<Field<'_>>) -> String {
        const YES: Value = Value::Bool(true);
        let rest = self.rest.iter().map(|(key, value)| (key.as_str(), Field::Value(value)));
        let structured = structured.map(|field| ("structuredContent", field));
        let error = self.is_error.then_some(("isError", Field::Value(&YES)));
        let written = !(self.bare && self.content.is_empty());
        let content = written.then_some(("content", Field::List(&self.content)));
        canonical::hash_fields(rest.chain(structured).chain(error).chain(content))
    }

    /// The text blocks in order, joined by newlines.
    pub fn full_text(&self) -> String {
        let texts = self.content.iter().filter(|block| block["type"] == "text");
        texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(written) = &self.written {
            let raw: &RawValue =
                serde_json::from_str(written).map_err(serde::ser::Error::custom)?;
            return raw.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        for part in self.parts() {
            match part {
                Part::Content(content) => map.serialize_entry("content", content)?,
                Part::Structured(given) => map.serialize_entry("structuredContent", given)?,
                Part::Error(said) => map.serialize_entry("isError", &said)?,
                Part::Other(key, value) => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

/// One field of a result.
enum Part<'a> {
    Content(&'a [Value]),
    Structured(&'a Value),
    Error(bool),
    Other(&'a str, &'a Value),
}

impl Answer {
    /// All there is, in the order of its upstream.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let Places { content, structured, error } = self.places;
        let (content, structured, error) = (content.get(), structured.get(), error.get());
        let mut placed = Vec::with_capacity(3);
        if !(self.bare && self.content.is_empty()) {
            placed.push((content, Part::Content(&self.content)));
        }
        placed.extend(self.structured.iter().map(|given| (structured, Part::Structured(given))));
        if self.is_error || error.is_some() {
            placed.push((error, Part::Error(self.is_error)));
        }
        let rest = self.rest.iter().map(|(key, value)| Part::Other(key, value));
        places::ordered(placed, rest)
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_written_as_it_was_read() {
        let check = |wire: &str| {
            let answer: Answer = serde_json::from_str(wire).unwrap();
            assert_eq!(serde_json::to_string(&answer).unwrap(), wire);
            let value = serde_json::to_value(&answer).unwrap();
            assert_eq!(value.to_string(), wire, "as a value");
        };
        check(r#"{"content":[],"_meta":{"a":1},"vendor":true}"#);
        check(r#"{"content":[{"type":"text","text":"x"}],"isError":true}"#);
        check(
            r#"{"_meta":{},"isError":false,"content":[],"vendor":1,"structuredContent":{"b":1}}"#,
        );
        check(r#"{"structuredContent":{},"resultType":"complete","content":[]}"#);
        check(r#"{"z":1,"a":2,"isError":false}"#);
        check(r#"{"resultType":"input_required","inputRequests":{}}"#);
        check(r#"{"task":{"taskId":"1"}}"#);
        check(r#"{"contents":[]}"#);
    }

    #[test]
    fn what_came_to_it_has_its_own_place() {
        let check = |change: fn(&mut Answer), wanted: &str| {
            let wire = r#"{"a":1,"content":[],"b":2,"isError":false}"#;
            let mut answer: Answer = serde_json::from_str(wire).unwrap();
            change(&mut answer);
            assert_eq!(serde_json::to_string(&answer).unwrap(), wanted);
        };
        check(|it| it.is_error = true, r#"{"a":1,"content":[],"b":2,"isError":true}"#);
        check(
            |it| it.structured = Some(json!({})),
            r#"{"structuredContent":{},"a":1,"content":[],"b":2,"isError":false}"#,
        );
        check(|it| it.rest.clear(), r#"{"content":[],"isError":false}"#);
        check(
            |it| drop(it.rest.insert("c".to_owned(), json!(3))),
            r#"{"a":1,"content":[],"b":2,"isError":false,"c":3}"#,
        );
    }

    #[test]
    fn only_an_unfinished_call_is_interim() {
        let check = |wire: Value, interim: bool| {
            assert_eq!(Answer::read(wire.clone()).unwrap().is_interim(), interim, "{wire}");
        };
        check(json!({"resultType": "input_required", "requestState": "s"}), true);
        check(json!({"resultType": "task", "taskId": "1"}), true);
        check(json!({"task": {"taskId": "1"}}), true);
        check(json!({"resultType": "complete", "content": []}), false);
        check(json!({"resultType": "input_required", "content": []}), false);
        check(json!({"content": []}), false);
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let check = |wire: Value, wanted: &str| {
            assert!(Answer::read(wire).unwrap_err().contains(wanted), "{wanted}");
        };
        check(json!([]), "object");
        check(json!({"content": "x"}), "`content`");
        check(json!({"content": [], "isError": "yes"}), "`isError`");
    }

    #[test]
    fn the_hash_is_that_of_the_whole_as_one_value() {
        for wire in [
            json!({"content": [], "_meta": {"a": 1}, "vendor": true}),
            json!({"content": [{"type": "text", "text": "x"}], "isError": true, "structuredContent": {"b": 1, "a": 2}}),
        ] {
            let answer: Answer = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(answer.hash(), canonical::hash(&wire));
            let written = answer.structured.as_ref().map(canonical::bytes).unwrap_or_default();
            assert_eq!(answer.hash_with_written(&written), answer.hash());
        }
    }
}
