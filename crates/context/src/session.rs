//! Reads a session from JSONL: one event on each line, in the order they happened.

use model::Class;
use serde::Deserialize;
use serde_json::Value;

use crate::window::{ContextStore, EventKind, SessionItem, WindowError};

/// A complete session to try things on.
pub const EXAMPLE: &str = include_str!("../examples/session.jsonl");

/// What is wrong with a session file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct SessionError {
    /// Counted from 1.
    pub line: usize,
    pub problem: String,
}

/// The items in file order. Blank lines are passed over; every other line must be right.
pub fn load_session(jsonl: &str) -> Result<Vec<SessionItem>, SessionError> {
    let lines = jsonl.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            read(line).map_err(|problem| SessionError { line: index + 1, problem })
        })
        .collect()
}

impl ContextStore {
    /// Takes the whole session in. Results above the threshold go through the firewall's door,
    /// under the call they answer, or under their own id when they name none.
    pub fn ingest_session(&mut self, items: Vec<SessionItem>) -> Result<(), WindowError> {
        for item in items {
            if item.kind == EventKind::ToolResult && Self::is_long(&item.text) {
                self.ingest_long(item)?;
            } else {
                self.ingest(item)?;
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: EventKind,
    text: Option<Value>,
    content: Option<Value>,
    parent_id: Option<String>,
    #[serde(default)]
    class: Class,
}

fn read(line: &str) -> Result<SessionItem, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    if !value.is_object() {
        return Err("not a JSON object".to_owned());
    }
    let event: Event = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let Event { id, kind, text, content, parent_id, class } = event;
    let Some(text) = text.or(content).filter(|text| !text.is_null()) else {
        return Err("`text` or `content` is missing".to_owned());
    };
    let text = match text {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(SessionItem { id, kind, text, parent_id, class, artifacts: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Handle;

    /// CW-28, CW-30, CW-32, CW-33
    #[test]
    fn the_example_session_loads_in_file_order_with_its_links() {
        let items = load_session(EXAMPLE).unwrap();
        let kinds: Vec<_> = items.iter().map(|item| item.kind).collect();
        assert_eq!(kinds.first(), Some(&EventKind::UserTurn));
        assert!(kinds.contains(&EventKind::ToolCall) && kinds.contains(&EventKind::ToolResult));
        let result = items.iter().find(|item| item.kind == EventKind::ToolResult).unwrap();
        let call = items.iter().find(|item| Some(&item.id) == result.parent_id.as_ref()).unwrap();
        assert_eq!(call.kind, EventKind::ToolCall);
    }

    /// CW-29, CW-38
    #[test]
    fn a_bad_line_is_named_by_its_number() {
        let check = |line: &str, problem: &str| {
            let error = load_session(&format!("\n{line}\n")).unwrap_err();
            assert_eq!(error.line, 2, "{line}");
            assert!(error.problem.contains(problem), "{line}: {error}");
        };
        check("{", "not JSON");
        check("[]", "not a JSON object");
        check(r#"{"id":"a","type":"user_turn"}"#, "`text` or `content` is missing");
        check(r#"{"type":"user_turn","text":"x"}"#, "id");
        check(r#"{"id":"a","type":"dance","text":"x"}"#, "unknown variant `dance`");
    }

    /// CW-35, CW-36: at 2,000 characters the text is the item, above it a summary under its call.
    #[test]
    fn long_results_go_through_the_other_door() {
        let check = |chars: usize, parent: Option<&str>, aside: Option<&str>| {
            let text = "x".repeat(chars);
            let line = serde_json::json!({"id": "r", "type": "tool_result", "content": text, "parent_id": parent});
            let mut store = ContextStore::default();
            store.ingest_session(load_session(&line.to_string()).unwrap()).unwrap();
            let [item] = store.items() else { panic!("one item") };
            assert_eq!(
                item.artifacts,
                aside.map(Handle::from_string).into_iter().collect::<Vec<_>>()
            );
            assert_eq!(item.text.len(), if aside.is_some() { 500 } else { chars });
        };
        check(2_000, Some("c"), None);
        check(2_001, Some("c"), Some("c/text"));
        check(2_001, None, Some("r/text"));
    }
}
