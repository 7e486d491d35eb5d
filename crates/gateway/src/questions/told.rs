//! What is on record of a question and its answer: enough to know what a person or a model was asked,
//! and no secret in it.

use context::Redactor;
use model::fault::one_line;
use model::{canonical, limits};
use serde_json::{Map, Value};

/// What was asked, with a hash over all of it as it reached the client.
pub(super) fn question(method: &str, params: &Map<String, Value>, redactor: &Redactor) -> String {
    let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let said = [("saying", text("message")), ("at", text("url")), ("of model", models(params))];
    let said = said.into_iter().filter(|(_, text)| !text.is_empty()).map(|(how, text)| {
        let shown = one_line(&redactor.redact(&text), limits::QUESTION_CHARS_MAX);
        format!("{how} `{shown}`")
    });
    let hash = format!("parameters {}", canonical::hash(&Value::Object(params.clone())));
    let asked = std::iter::once(format!("asked `{method}`")).chain(said).chain([hash]);
    asked.collect::<Vec<_>>().join(", ")
}

/// What came of it, and by which model where one was asked.
pub(super) fn answer(method: &str, given: Result<&Value, &String>) -> String {
    let text = |key: &str| given.ok().and_then(|given| given.get(key)).and_then(Value::as_str);
    let word = match given {
        Ok(_) => text("action").unwrap_or("answered"),
        Err(why) => why.as_str(),
    };
    let word = one_line(word, limits::QUESTION_CHARS_MAX);
    match text("model") {
        Some(model) => {
            let model = one_line(model, limits::QUESTION_CHARS_MAX);
            format!("`{method}` was answered: {word}, by model `{model}`")
        }
        None => format!("`{method}` was answered: {word}"),
    }
}

/// The models that are asked for, if any are.
fn models(params: &Map<String, Value>) -> String {
    let hints = params.get("modelPreferences").and_then(|preferences| preferences.get("hints"));
    let hints = hints.and_then(Value::as_array).into_iter().flatten();
    let names = hints.filter_map(|hint| hint.get("name").and_then(Value::as_str));
    names.collect::<Vec<_>>().join(", ")
}
