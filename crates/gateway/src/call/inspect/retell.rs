//! A resource or a prompt as the answer of one of our own tools: text as text, the rest as it is.

use model::{Answer, Method};
use serde_json::{Value, json};

pub(super) fn retell(method: &Method, answer: &Answer) -> Answer {
    let list = |key: &str| answer.rest.get(key).and_then(Value::as_array).into_iter().flatten();
    let content = match method {
        Method::ReadResource => list("contents").map(resource).collect(),
        _ => list("messages").map(message).collect(),
    };
    Answer { content, ..Answer::default() }
}

fn resource(resource: &Value) -> Value {
    match resource.get("text").and_then(Value::as_str) {
        Some(text) => json!({"type": "text", "text": text}),
        None => json!({"type": "resource", "resource": resource}),
    }
}

fn message(message: &Value) -> Value {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
    match message.pointer("/content/text").and_then(Value::as_str) {
        Some(text) => json!({"type": "text", "text": format!("{role}: {text}")}),
        None => message.get("content").cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_as_text_and_the_rest_as_it_is() {
        let check = |method: Method, wire: Value, expected: Value| {
            let answer = Answer::read(wire).unwrap();
            assert_eq!(Value::Array(retell(&method, &answer).content), expected);
        };
        let blob = json!({"uri": "a:b", "blob": "AA=="});
        check(
            Method::ReadResource,
            json!({"contents": [{"uri": "a:a", "text": "x"}, &blob]}),
            json!([{"type": "text", "text": "x"}, {"type": "resource", "resource": blob}]),
        );
        let picture = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        check(
            Method::GetPrompt,
            json!({"messages": [
                {"role": "assistant", "content": {"type": "text", "text": "x"}},
                {"role": "user", "content": &picture},
            ]}),
            json!([{"type": "text", "text": "assistant: x"}, picture]),
        );
        check(Method::GetPrompt, json!({}), json!([]));
    }
}
