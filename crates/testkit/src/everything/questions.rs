//! The tools that ask before they answer: which questions, in which rounds, and what they say with
//! the answers. How a question travels is in `rounds`.

use rmcp::model::{ClientCapabilities, InputRequest, InputRequests, InputResponses, JsonObject};
use serde_json::{Value, json};

use super::rounds::{Script, covers, needs};

/// The script of the tool or prompt with this name, if it asks at all.
pub(super) fn script(name: &str, args: &JsonObject, able: &ClientCapabilities) -> Option<Script> {
    let argument = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let script = match name {
        "test_sampling" => one("answer", sampling(argument("prompt"), 100), said_by_model),
        "test_elicitation" => one("user", elicitation(argument("message"), &contact()), outcome),
        "test_elicitation_sep1034_defaults" => {
            one("user", elicitation("Every field has a default.", &defaults()), outcome)
        }
        "test_elicitation_sep1330_enums" => {
            one("user", elicitation("Choose from every list.", &choices()), outcome)
        }
        "test_streaming_elicitation" => one("user", ask_name("Who is there?"), greeting),
        "test_input_required_result_elicitation" | "test_tool_with_task" => {
            one("user_name", ask_name("What is your name?"), greeting)
        }
        "test_input_required_result_sampling" => {
            one("capital_question", sampling("What is the capital of France?", 100), said_by_model)
        }
        "test_input_required_result_list_roots" => one("client_roots", roots(), outcome),
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            Script { keeps_state: true, ..one("confirm", consent(), |_| "state-ok".to_owned()) }
        }
        "test_input_required_result_multiple_inputs" => many(),
        "test_input_required_result_multi_round" => two_rounds(),
        "test_input_required_result_capabilities" => answerable(able),
        "test_input_required_result_prompt" => {
            one("user_context", ask("context", "What is the prompt about?"), outcome)
        }
        "confirm_delete" => {
            let message = format!("Delete `{}`?", argument("filename"));
            one("confirm", elicitation(&message, &flag("confirm")), outcome)
        }
        "multi_input" => {
            let questions = [("first", ask_name("Who first?")), ("second", ask_name("Who next?"))];
            round(questions, outcome)
        }
        _ => return None,
    };
    Some(script)
}

fn one(key: &str, question: InputRequest, conclude: fn(&InputResponses) -> String) -> Script {
    round([(key, question)], conclude)
}

fn round<const N: usize>(
    questions: [(&str, InputRequest); N],
    conclude: fn(&InputResponses) -> String,
) -> Script {
    let questions = questions.map(|(key, question)| (key.to_owned(), question));
    Script { rounds: vec![InputRequests::from(questions)], keeps_state: false, conclude }
}

fn many() -> Script {
    let questions = [
        ("user_name", ask_name("What is your name?")),
        ("greeting", sampling("Generate a greeting", 50)),
        ("client_roots", roots()),
    ];
    Script { keeps_state: true, ..round(questions, outcome) }
}

fn two_rounds() -> Script {
    let first = one("step1", ask_name("Step 1: What is your name?"), outcome);
    let second = one("step2", ask("color", "Step 2: What is your favorite color?"), outcome);
    let rounds = first.rounds.into_iter().chain(second.rounds).collect();
    Script { rounds, keeps_state: true, conclude: outcome }
}

/// Only those of the questions that the client can answer; without any there is nothing to ask.
fn answerable(able: &ClientCapabilities) -> Script {
    let mut script = many();
    for questions in &mut script.rounds {
        questions.retain(|_, question| covers(able, &needs(question)));
    }
    script.rounds.retain(|questions| !questions.is_empty());
    Script { keeps_state: false, ..script }
}

fn outcome(answers: &InputResponses) -> String {
    let told = answers.iter().map(|(key, answer)| {
        let action = answer.get("action").and_then(Value::as_str).unwrap_or("answered");
        let content = answer.get("content").unwrap_or(answer);
        format!("{key}: action={action}, content={content}")
    });
    told.collect::<Vec<_>>().join("; ")
}

fn said_by_model(answers: &InputResponses) -> String {
    let content = answers.values().next().and_then(|answer| answer.get("content"));
    let block = content.and_then(|content| content.get(0).or(Some(content)));
    let text = block.and_then(|block| block.get("text")).and_then(Value::as_str);
    format!("LLM response: {}", text.unwrap_or_default())
}

fn greeting(answers: &InputResponses) -> String {
    let answer = answers.values().next();
    let name = answer.and_then(|answer| answer.pointer("/content/name")).and_then(Value::as_str);
    format!("Hello, {}!", name.unwrap_or("stranger"))
}

fn sampling(text: &str, tokens_max: u32) -> InputRequest {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    question("sampling/createMessage", &json!({ "messages": [message], "maxTokens": tokens_max }))
}

fn elicitation(message: &str, schema: &Value) -> InputRequest {
    question("elicitation/create", &json!({ "message": message, "requestedSchema": schema }))
}

fn roots() -> InputRequest {
    question("roots/list", &json!({}))
}

fn question(method: &str, params: &Value) -> InputRequest {
    let request = json!({ "method": method, "params": params });
    serde_json::from_value(request).expect("the question has the shape of its method")
}

fn ask_name(message: &str) -> InputRequest {
    ask("name", message)
}

fn ask(field: &str, message: &str) -> InputRequest {
    let schema = json!({
        "type": "object",
        "properties": { field: { "type": "string" } },
        "required": [field],
    });
    elicitation(message, &schema)
}

fn consent() -> InputRequest {
    elicitation("Please confirm", &flag("ok"))
}

fn flag(field: &str) -> Value {
    json!({
        "type": "object",
        "properties": { field: { "type": "boolean" } },
        "required": [field],
    })
}

fn contact() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    let states = ["active", "inactive", "pending"];
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": states, "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

fn choices() -> Value {
    let options = ["option1", "option2", "option3"];
    let titled = |noun: &str| {
        ["First", "Second", "Third"]
            .iter()
            .zip(1..)
            .map(|(ordinal, n)| json!({ "const": format!("value{n}"), "title": format!("{ordinal} {noun}") }))
            .collect::<Vec<_>>()
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
        },
    })
}
