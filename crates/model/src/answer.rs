//! What a tool gave back, before anybody judged it: content blocks, structured content, error flag.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A raw answer in the shape all connectors share. Unknown fields ride along in `rest`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    #[serde(default)]
    pub content: Vec<Value>,
    #[serde(default, rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    #[serde(default, rename = "isError", skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
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

    /// The text blocks in order, joined by newlines.
    pub fn full_text(&self) -> String {
        let texts = self.content.iter().filter(|block| block["type"] == "text");
        texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_survive() {
        let wire = json!({"content": [], "_meta": {"a": 1}, "vendor": true});
        let answer: Answer = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(answer).unwrap(), wire);
    }
}
