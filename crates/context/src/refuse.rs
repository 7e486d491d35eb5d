//! The gate's own words to a client: refusals, answers of its own, and the list of tools.
//!
//! They pass the sanitiser like everything else: a fault may quote an upstream or the caller.

use model::fault::{Violation, WireError};
use model::{Answer, Fault, NextAction};
use serde_json::{Map, Value, json};

use crate::cleared::Cleared;
use crate::redact::Redactor;
use crate::sanitise::Cleaner;

/// A fault as a tool error, in words a model can act on and as JSON a program can.
pub fn refuse(fault: &Fault, redactor: &Redactor) -> Cleared {
    let mut answer = Answer::error(words(fault));
    answer.structured = Some(Value::Object(fault.to_client_json()));
    release(answer, redactor)
}

/// An answer the gate gives itself, such as a page of the catalogue.
pub fn say(text: String, structured: Option<Value>, redactor: &Redactor) -> Cleared {
    release(Answer { structured, ..Answer::text(text) }, redactor)
}

/// Tool definitions as they are listed.
pub fn menu(mut tools: Vec<Value>, redactor: &Redactor) -> Cleared<Vec<Value>> {
    for tool in &mut tools {
        Cleaner::strict(redactor).value(tool);
    }
    Cleared::vouch(tools)
}

/// Definitions as they are listed, each one line of JSON.
pub fn lines(definitions: Vec<Value>, redactor: &Redactor) -> Cleared<Vec<String>> {
    let cleaned = menu(definitions, redactor).into_inner();
    Cleared::vouch(cleaned.iter().map(Value::to_string).collect())
}

/// What an upstream says to a client in the protocol's own words: news, questions.
pub fn pass(params: Map<String, Value>, redactor: &Redactor) -> Cleared<Map<String, Value>> {
    let mut params = Value::Object(params);
    Cleaner::strict(redactor).value(&mut params);
    match params {
        Value::Object(params) => Cleared::vouch(params),
        // INVARIANT: cleaning keeps the shape.
        _ => Cleared::vouch(Map::new()),
    }
}

/// An error an upstream gave in the protocol's channel, for a client that speaks the protocol.
pub fn pass_error(error: &WireError, redactor: &Redactor) -> Cleared<WireError> {
    let mut said = json!([&error.message, &error.data]);
    Cleaner::strict(redactor).value(&mut said);
    let (message, data) = match said {
        Value::Array(parts) => {
            let mut parts = parts.into_iter();
            (parts.next().unwrap_or_default(), parts.next().filter(|data| !data.is_null()))
        }
        _ => (Value::Null, None),
    };
    let message = message.as_str().unwrap_or_default().to_owned();
    Cleared::vouch(WireError { code: error.code, message, data })
}

pub(crate) fn release(mut answer: Answer, redactor: &Redactor) -> Cleared {
    Cleaner::strict(redactor).answer(&mut answer);
    Cleared::vouch(answer)
}

fn words(fault: &Fault) -> String {
    let mut lines = vec![format!("{} ({})", fault.message, fault.code)];
    if !fault.path.is_empty() {
        lines.push(format!("about: {}", fault.path));
    }
    lines.extend(fault.violations.iter().map(violation_line));
    lines.extend(fault.details.get("more_violations").map(|more| format!("- and {more} more")));
    lines.extend(fault.details.get("schema").map(|schema| format!("schema: {schema}")));
    lines.push(format!("next: {}", hint(fault)));
    lines.join("\n")
}

fn violation_line(violation: &Violation) -> String {
    let place = match violation.instance_path.as_str() {
        "" => "top level",
        pointer => pointer,
    };
    format!("- {place}: {}", violation.message)
}

fn hint(fault: &Fault) -> &'static str {
    if fault.indeterminate {
        return "it may have taken effect: find out before sending it again";
    }
    match fault.code.next() {
        NextAction::FixArgs => "correct the arguments and call again",
        NextAction::Retry => "the same call may be sent again",
        NextAction::Replan => "the same call will fail again; try another way",
        NextAction::Escalate => "a person has to change something first; tell the user",
        NextAction::Wait => "wait a while, then send the same call again",
        NextAction::GiveUp => "the same call will fail again; tell the user",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Code;

    fn violation(instance_path: &str, message: &str) -> Violation {
        let (instance_path, schema_path) = (instance_path.to_owned(), String::new());
        Violation { instance_path, schema_path, message: message.to_owned() }
    }

    #[test]
    fn a_refusal_names_every_violation_and_what_to_do() {
        let fault = Fault::new(Code::ArgsInvalid, "the arguments do not fit the schema")
            .at("payments.issue_refund")
            .violating(vec![
                violation("", "`order_id` is required"),
                violation("/amount", "900 is more than 500"),
            ]);
        insta::assert_json_snapshot!(refuse(&fault, &Redactor::default()).get());
    }

    #[test]
    fn every_next_action_has_its_words() {
        let check = |code: Code, words: &str| {
            let text = refuse(&Fault::new(code, "no"), &Redactor::default()).get().full_text();
            assert_eq!(text, format!("no ({code})\nnext: {words}"));
        };
        check(Code::ViewFailed, "correct the arguments and call again");
        check(Code::UpstreamTimeout, "the same call may be sent again");
        check(Code::PolicyDenied, "the same call will fail again; try another way");
        check(Code::AuthRequired, "a person has to change something first; tell the user");
        check(Code::ApprovalPending, "wait a while, then send the same call again");
        check(Code::Internal, "the same call will fail again; tell the user");
    }

    #[test]
    fn a_write_of_unknown_outcome_is_not_to_be_sent_again() {
        let fault = Fault::new(Code::UpstreamTimeout, "no answer in time").indeterminate();
        insta::assert_snapshot!(refuse(&fault, &Redactor::default()).get().full_text(), @r"
        no answer in time (UPSTREAM_TIMEOUT)
        next: it may have taken effect: find out before sending it again
        ");
    }

    #[test]
    fn a_refusal_quotes_no_control_characters_and_no_log() {
        let fault = Fault::new(Code::ArgsInvalid, "bad")
            .logging("hunter2")
            .with("given", "\u{1b}[31mred")
            .violating(vec![violation("/a\u{7}", "\u{9b}1m`x` is no number")]);
        let wire = serde_json::to_string(refuse(&fault, &Redactor::default()).get()).unwrap();
        assert!(wire.contains("- /a: `x` is no number"), "{wire}");
        assert!(!wire.contains("u001b") && !wire.contains("hunter2"), "{wire}");
    }

    #[test]
    fn what_the_gate_says_and_lists_is_cleaned_too() {
        let said = say("found\u{7}".to_owned(), Some(json!({"n": "\0"})), &Redactor::default());
        assert_eq!(
            said.get(),
            &Answer { structured: Some(json!({"n": ""})), ..Answer::text("found") }
        );
        let listed =
            menu(vec![json!({"name": "a", "description": "\u{1b}[1mbold"})], &Redactor::default());
        assert_eq!(listed.into_inner(), [json!({"name": "a", "description": "bold"})]);
    }
}
