//! How a demo tool answers: with structured content, or with a refusal a model can act on.

use model::Answer;
use serde_json::{Value, json};

pub(super) type Outcome = Result<Answer, Refusal>;

/// A tool's own "no". It leaves the state as it was.
#[derive(Debug)]
pub(super) struct Refusal {
    code: &'static str,
    text: String,
}

impl Refusal {
    /// `text` says what is wrong and what to do about it.
    pub(super) fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// `lister` is the tool that shows what there is.
    pub(super) fn unknown(noun: &str, id: &str, lister: &str) -> Self {
        Self::new("NOT_FOUND", format!("no {noun} `{id}`; call `{lister}` to see what there is"))
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let mut answer = Self::error(refusal.text);
        answer.rest.insert("_meta".to_owned(), json!({"error_code": refusal.code}));
        answer
    }
}

/// The usual good end of a tool.
#[expect(
    clippy::unnecessary_wraps,
    reason = "every tool ends in an outcome; this is its last line"
)]
pub(super) fn done(value: Value) -> Outcome {
    Ok(Answer::structured(value))
}
