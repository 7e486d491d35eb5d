//! The prompts: messages from a file, with the arguments put in.

use std::sync::atomic::Ordering;

use rmcp::model::{GetPromptRequestParams, GetPromptResponse, GetPromptResult, JsonObject, Prompt};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::rounds::{Given, Played};
use super::{Everything, fixed, questions};

impl Everything {
    pub(super) fn prompts(&self) -> Vec<Prompt> {
        let changed = self.shared.changes.prompts.load(Ordering::Relaxed);
        let mut prompts = fixed::PROMPTS.clone();
        if let Some(first) = prompts.first_mut() {
            first.description = Some(format!("One message; change {changed}."));
        }
        prompts
    }

    pub(super) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let Some(messages) = fixed::MESSAGES.get(&request.name) else {
            let reason = format!("no prompt is called `{}`", request.name);
            return Err(ErrorData::invalid_params(reason, None));
        };
        let mut args = request.arguments.unwrap_or_default();
        let able = cx.client_capabilities().unwrap_or_default();
        if let Some(script) = questions::script(&request.name, &args, &able) {
            let given = Given { responses: request.input_responses, state: request.request_state };
            match self.play(&script, given, cx).await? {
                Played::Asking(questions) => return Ok(questions.into()),
                Played::Answered(answers) => {
                    args.insert("context".to_owned(), (script.conclude)(&answers).into());
                }
            }
        }
        let filled = serde_json::from_value::<GetPromptResult>(fill(messages, &args));
        filled.map(Into::into).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// What may follow the letters typed so far.
pub(super) fn completions(typed: &str) -> Vec<String> {
    let words = ["paris", "park", "party", "test", "testing"];
    words.iter().filter(|word| word.starts_with(typed)).map(|word| (*word).to_owned()).collect()
}

fn fill(template: &Value, args: &JsonObject) -> Value {
    match template {
        Value::String(text) => {
            let filled = args.iter().fold(text.clone(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default())
            });
            Value::String(filled)
        }
        Value::Array(items) => items.iter().map(|item| fill(item, args)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), fill(field, args))).collect()
        }
        other => other.clone(),
    }
}
