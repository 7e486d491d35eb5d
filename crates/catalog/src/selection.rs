//! The contract of a choice: a schema that offers exactly these ids, and a reading of what came
//! back that never guesses between two.
//!
//! ```
//! use toolgate_catalog::selection::{Form, Reading, select, selection_schema};
//!
//! let offered = ["github.create_issue", "github.list_issues"];
//! let schema = selection_schema(&offered, Form::OpenAi)?;
//! assert_eq!(schema["type"], "json_schema");
//! assert_eq!(select("GitHub.create", &offered)?, ("github.create_issue", Reading::Prefix));
//! assert_eq!(select("github", &offered).unwrap_err().details["reason"], "ambiguous_prefix");
//! # Ok::<(), model::Fault>(())
//! ```

use model::fault::one_line;
use model::{Code, Fault};
use serde_json::{Value, json};

/// For whom the schema is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON Schema as it is.
    Plain,
    /// A `response_format` of `OpenAI`.
    OpenAi,
    /// A tool of Anthropic.
    Anthropic,
}

/// A schema whose one property `tool_id` is one of the ids, in their order, repeats left out.
pub fn selection_schema(ids: &[&str], form: Form) -> Result<Value, Fault> {
    let mut offered: Vec<&str> = Vec::new();
    for id in ids {
        if !offered.contains(id) {
            offered.push(id);
        }
    }
    if offered.is_empty() {
        return Err(Fault::new(Code::ArgsInvalid, "there is nothing to choose from"));
    }
    let schema = json!({
        "type": "object",
        "properties": {"tool_id": {"type": "string", "enum": offered}},
        "required": ["tool_id"],
        "additionalProperties": false,
    });
    Ok(match form {
        Form::Plain => schema,
        Form::OpenAi => json!({
            "type": "json_schema",
            "json_schema": {"name": "tool_selection", "strict": true, "schema": schema},
        }),
        Form::Anthropic => json!({
            "name": "tool_selection",
            "description": "Choose exactly one of the offered tools by its id.",
            "input_schema": schema,
        }),
    })
}

/// How a returned id was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    Exact,
    /// The only one that differs in nothing but upper and lower case.
    CaseFolded,
    /// The only one that begins so, whatever the case.
    Prefix,
}

/// Finds the id that was meant. Ambiguous is an error, never a guess.
pub fn select<'a>(returned: &str, offered: &[&'a str]) -> Result<(&'a str, Reading), Fault> {
    let wanted = returned.trim();
    if wanted.is_empty() {
        return Err(rejected("nothing was chosen", "empty_selection", returned));
    }
    if let Some(exact) = offered.iter().find(|id| **id == wanted) {
        return Ok((exact, Reading::Exact));
    }
    let folded = wanted.to_lowercase();
    let mut offered: Vec<&str> = offered.to_vec();
    offered.sort_unstable();
    offered.dedup();
    let same = |id: &&&str| id.to_lowercase() == folded;
    let begins = |id: &&&str| id.to_lowercase().starts_with(&folded);
    match offered.iter().filter(same).copied().collect::<Vec<_>>().as_slice() {
        [one] => return Ok((one, Reading::CaseFolded)),
        [] => {}
        _ => return Err(rejected("several differ only in case", "ambiguous_case_fold", wanted)),
    }
    match offered.iter().filter(begins).copied().collect::<Vec<_>>().as_slice() {
        [one] => Ok((one, Reading::Prefix)),
        [] => Err(rejected("it was not offered", "not_a_candidate", wanted)),
        _ => Err(rejected("several begin so", "ambiguous_prefix", wanted)),
    }
}

fn rejected(why: &str, reason: &str, id: &str) -> Fault {
    let id = one_line(id, 100);
    let message = format!("`{id}` chooses no tool: {why}; answer with an offered id");
    Fault::new(Code::ArgsInvalid, message).at(id).with("reason", reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use proptest::prelude::*;

    const OFFERED: &[&str] =
        &["github.create_issue", "github.list_issues", "Slack.Send", "slack.send", "Zoom.Meet"];

    #[test]
    fn an_id_is_read_exactly_by_case_or_by_prefix_and_never_guessed() {
        let check = |text: &str, expected: Result<(&str, Reading), &str>| {
            let got = select(text, OFFERED);
            let got = got.map_err(|fault| fault.details["reason"].as_str().unwrap().to_owned());
            assert_eq!(got, expected.map_err(str::to_owned), "{text}");
        };
        check("slack.send", Ok(("slack.send", Reading::Exact)));
        check(" Zoom.Meet\n", Ok(("Zoom.Meet", Reading::Exact)));
        check("zoom.meet", Ok(("Zoom.Meet", Reading::CaseFolded)));
        check("GITHUB.C", Ok(("github.create_issue", Reading::Prefix)));
        check("SLACK.SEND", Err("ambiguous_case_fold"));
        check("github", Err("ambiguous_prefix"));
        check("gitlab", Err("not_a_candidate"));
        check("  ", Err("empty_selection"));
    }

    #[test]
    fn the_schema_takes_offered_ids_only() {
        let plain = selection_schema(&["b", "a", "b"], Form::Plain).unwrap();
        assert_eq!(plain["properties"]["tool_id"]["enum"], json!(["b", "a"]));
        let schema = Schema::compile(&plain).unwrap();
        assert!(schema.check(&json!({"tool_id": "a"})).is_empty());
        assert!(!schema.check(&json!({"tool_id": "c"})).is_empty());
        assert!(!schema.check(&json!({"tool_id": "a", "more": 1})).is_empty());
        let openai = selection_schema(&["b", "a"], Form::OpenAi).unwrap();
        assert_eq!(openai["json_schema"]["schema"], plain);
        assert_eq!(openai["json_schema"]["strict"], true);
        let anthropic = selection_schema(&["b", "a"], Form::Anthropic).unwrap();
        assert_eq!(anthropic["input_schema"], plain);
        assert_eq!(selection_schema(&[], Form::Plain).unwrap_err().code, Code::ArgsInvalid);
    }

    proptest! {
        #[test]
        fn whatever_is_read_was_offered(text in any::<String>(), cut in 0usize..20) {
            for text in [text.as_str(), OFFERED[0].get(..cut).unwrap_or("")] {
                if let Ok((id, _)) = select(text, OFFERED) {
                    prop_assert!(OFFERED.contains(&id));
                }
            }
        }
    }
}
