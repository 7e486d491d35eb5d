//! What a session has seen so far: items in the order they came, long results set aside.
//!
//! Choosing among them for a prompt is not done here, and nothing leaves for a client from here.

use std::collections::{BTreeMap, BTreeSet};

use model::limits::{INLINE_CHARS_DEFAULT, SUMMARY_CHARS_MAX};
use model::{ArtifactKind, Class, Handle};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::blob::Blob;
use crate::normalise::{Normalised, normalise};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    UserTurn,
    AgentMsg,
    ToolCall,
    ToolResult,
    DocSnippet,
    RetrievedDoc,
    MemoryFact,
    PlanState,
    Policy,
}

impl EventKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserTurn => "user_turn",
            Self::AgentMsg => "agent_msg",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::DocSnippet => "doc_snippet",
            Self::RetrievedDoc => "retrieved_doc",
            Self::MemoryFact => "memory_fact",
            Self::PlanState => "plan_state",
            Self::Policy => "policy",
        }
    }

    /// How a prompt names the speaker.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::UserTurn => "USER",
            Self::AgentMsg => "ASSISTANT",
            Self::ToolCall => "TOOL CALL",
            Self::ToolResult => "TOOL RESULT",
            Self::DocSnippet | Self::RetrievedDoc => "DOCUMENT",
            Self::MemoryFact => "FACT",
            Self::PlanState => "PLAN",
            Self::Policy => "POLICY",
        }
    }

    /// Of use whatever was asked, in thousandths.
    pub(crate) const fn priority(self) -> u64 {
        match self {
            Self::Policy => 350,
            Self::UserTurn | Self::PlanState => 300,
            Self::ToolResult | Self::MemoryFact => 220,
            Self::AgentMsg | Self::ToolCall => 150,
            Self::DocSnippet | Self::RetrievedDoc => 100,
        }
    }

    /// Steps of a chain: even the same words are another step.
    pub(crate) const fn is_step(self) -> bool {
        matches!(self, Self::ToolCall | Self::ToolResult)
    }
}

/// One thing that happened in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionItem {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: EventKind,
    pub text: String,
    /// The turn a call answers, or the call a result belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    #[serde(default)]
    pub class: Class,
    /// What is kept aside for it, in the order of the parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Handle>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    #[error("the session already has an item `{0}`; give each item an id of its own")]
    Duplicate(String),
}

#[derive(Clone, Debug, Default)]
pub struct ContextStore {
    items: Vec<SessionItem>,
    ids: BTreeSet<String>,
    /// By qualified handle, `{call}/mcp:{tool}:{kind}:{index}`.
    artifacts: BTreeMap<Handle, Blob>,
    /// From the unqualified handle to that of the newest call.
    newest: BTreeMap<Handle, Handle>,
}

impl ContextStore {
    pub fn ingest(&mut self, item: SessionItem) -> Result<(), WindowError> {
        if !self.ids.insert(item.id.clone()) {
            return Err(WindowError::Duplicate(item.id));
        }
        self.items.push(item);
        Ok(())
    }

    /// Takes the raw result of the call `parent`; it becomes the item `{parent}/result`.
    ///
    /// Its parts, and text above 2,000 characters, are kept as artifacts; of such a text only the
    /// summary becomes the item.
    pub fn ingest_tool_result(
        &mut self,
        tool: &str,
        result: &Value,
        parent: &str,
        class: Class,
    ) -> Result<(), WindowError> {
        let Normalised { summary, full_text, mut blobs, .. } = normalise(result, tool);
        let long = full_text.chars().nth(INLINE_CHARS_DEFAULT).is_some();
        let text = if long { summary } else { full_text.clone() };
        if long {
            let blob = text_blob(tool, full_text);
            blobs.insert(blob.handle.clone(), blob);
        }
        self.ingest(SessionItem {
            id: format!("{parent}/result"),
            kind: EventKind::ToolResult,
            text,
            parent_id: Some(parent.to_owned()),
            class,
            artifacts: blobs.keys().map(|handle| qualified(parent, handle)).collect(),
        })?;
        self.keep(parent, blobs);
        Ok(())
    }

    pub(crate) fn is_long(text: &str) -> bool {
        text.chars().nth(INLINE_CHARS_DEFAULT).is_some()
    }

    /// Keeps the text aside under `{call}/text` and takes its start as the item.
    pub(crate) fn ingest_long(&mut self, mut item: SessionItem) -> Result<(), WindowError> {
        let call = item.parent_id.as_deref().unwrap_or(&item.id);
        let handle = Handle::from_string(format!("{call}/text"));
        let summary = item.text.chars().take(SUMMARY_CHARS_MAX).collect();
        let text = std::mem::replace(&mut item.text, summary);
        item.artifacts.push(handle.clone());
        self.ingest(item)?;
        self.artifacts.insert(handle.clone(), Blob { handle, ..text_blob("session", text) });
        Ok(())
    }

    /// In the order they came.
    pub fn items(&self) -> &[SessionItem] {
        &self.items
    }

    /// By the handle an item names, or by `mcp:{tool}:{kind}:{index}` alone, which means the
    /// newest call that gave one.
    pub fn artifact(&self, handle: &Handle) -> Option<&Blob> {
        self.artifacts.get(self.newest.get(handle).unwrap_or(handle))
    }

    fn keep(&mut self, parent: &str, blobs: BTreeMap<Handle, Blob>) {
        for (seed, mut blob) in blobs {
            blob.handle = qualified(parent, &seed);
            self.newest.insert(seed, blob.handle.clone());
            self.artifacts.insert(blob.handle.clone(), blob);
        }
    }
}

fn qualified(parent: &str, handle: &Handle) -> Handle {
    Handle::from_string(format!("{parent}/{handle}"))
}

fn text_blob(tool: &str, text: String) -> Blob {
    Blob {
        handle: Handle::from_string(format!("mcp:{tool}:text")),
        alias: None,
        kind: ArtifactKind::Text,
        media_type: "text/plain".to_owned(),
        label: format!("text from {tool}"),
        bytes: text.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(text: &str) -> Value {
        json!({"content": [{"type": "text", "text": text}], "structuredContent": {"n": text.len()}})
    }

    fn handle(text: &str) -> Handle {
        Handle::from_string(text)
    }

    /// CW-34: two doors, one order.
    #[test]
    fn items_come_back_in_the_order_they_went_in() {
        let mut store = ContextStore::default();
        let turn: SessionItem = serde_json::from_value(
            json!({"id": "u1", "type": "user_turn", "text": "what is open?"}),
        )
        .unwrap();
        store.ingest(turn.clone()).unwrap();
        store.ingest_tool_result("list", &result("two"), "c1", Class::Internal).unwrap();
        let [first, second] = store.items() else { panic!("{:?}", store.items()) };
        assert_eq!(*first, turn);
        assert_eq!((second.id.as_str(), second.text.as_str()), ("c1/result", "two"));
        assert_eq!(second.parent_id.as_deref(), Some("c1"));
        assert_eq!((second.kind, second.class), (EventKind::ToolResult, Class::Internal));
    }

    /// CW-34, CW-35: at 2,000 characters the text is the item, at 2,001 only its summary.
    #[test]
    fn long_text_is_set_aside_and_only_its_summary_goes_in() {
        let check = |chars: usize, item_chars: usize, aside: Option<usize>| {
            let mut store = ContextStore::default();
            let text = "é".repeat(chars);
            store.ingest_tool_result("list", &result(&text), "c1", Class::Public).unwrap();
            assert_eq!(store.items()[0].text.chars().count(), item_chars);
            let kept = store.artifact(&handle("c1/mcp:list:text"));
            assert_eq!(kept.map(|blob| blob.bytes.len()), aside);
        };
        check(2_000, 2_000, None);
        check(2_001, 500, Some(4_002));
    }

    /// C28: a handle means its own call, and unqualified the newest one.
    #[test]
    fn an_artifact_of_an_earlier_call_is_not_shown_for_a_later_one() {
        let mut store = ContextStore::default();
        for (call, text) in [("c1", "x"), ("c2", "xx")] {
            store.ingest_tool_result("list", &result(text), call, Class::Public).unwrap();
        }
        let check = |name: &str, bytes: Option<&str>| {
            let blob = store.artifact(&handle(name));
            let found = blob.map(|blob| str::from_utf8(&blob.bytes).unwrap());
            assert_eq!(found, bytes, "{name}");
        };
        check("c1/mcp:list:structured_content", Some(r#"{"n":1}"#));
        check("c2/mcp:list:structured_content", Some(r#"{"n":2}"#));
        check("mcp:list:structured_content", Some(r#"{"n":2}"#));
        check("c3/mcp:list:structured_content", None);
        assert_eq!(store.items()[0].artifacts, [handle("c1/mcp:list:structured_content")]);
    }

    #[test]
    fn a_second_item_of_one_id_is_refused_and_changes_nothing() {
        let mut store = ContextStore::default();
        store.ingest_tool_result("list", &result("x"), "c1", Class::Public).unwrap();
        let again = store.ingest_tool_result("list", &result("xx"), "c1", Class::Public);
        assert_eq!(again, Err(WindowError::Duplicate("c1/result".to_owned())));
        let kept = store.artifact(&handle("mcp:list:structured_content")).unwrap();
        assert_eq!((store.items().len(), kept.bytes.as_slice()), (1, br#"{"n":1}"#.as_slice()));
    }
}
