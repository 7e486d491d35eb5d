//! Results in: one raw MCP result becomes summary, facts, full text and the artifacts in it.
//!
//! Nothing is cleaned, fetched or dropped here: what cannot be understood is kept as JSON and
//! reported as a finding. This is the evidence lane; for the model's copy see `clear`.

use std::collections::BTreeMap;

use model::{ArtifactKind, Finding, Handle, Outcome, Severity, canonical};
use serde_json::Value;

use crate::blob::{Blob, decode_base64};
use crate::digest::{NO_CONTENT, digest, texts};
use crate::json::field;
use crate::redact::Redactor;
use crate::sanitise::Cleaner;

#[derive(Clone, Debug, PartialEq)]
pub struct Normalised {
    pub outcome: Outcome,
    pub summary: String,
    /// The summary leaves something out.
    pub lossy: bool,
    pub facts: Vec<String>,
    /// Every text of the result, or its structured content as JSON, or `(no content)`.
    pub full_text: String,
    /// By handle `mcp:{tool}:{kind}:{index}`. A handle is unique within one call only.
    pub blobs: BTreeMap<Handle, Blob>,
    /// The annotations of each part that has some, with its `part_index`.
    pub content_annotations: Vec<Value>,
    pub findings: Vec<Finding>,
}

pub fn normalise(result: &Value, tool: &str) -> Normalised {
    let mut ledger = Ledger { tool, blobs: BTreeMap::new(), findings: Vec::new() };
    let content = ledger.content(result);
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    for (index, part) in content.iter().enumerate() {
        ledger.part(index, part);
    }
    if let Some(value) = structured {
        ledger.structured(value);
    }
    let redactor = Redactor::default();
    let digest = digest(content, structured, &Cleaner::strict(&redactor));
    Normalised {
        outcome: outcome(result),
        summary: digest.summary,
        lossy: digest.lossy,
        facts: digest.facts,
        full_text: full_text(content, structured),
        blobs: ledger.blobs,
        content_annotations: annotations(content),
        findings: ledger.findings,
    }
}

/// What is odd about the parts, and their annotations, without keeping any of them.
pub(crate) fn survey(content: &[Value]) -> (Vec<Finding>, Vec<Value>) {
    let mut findings = Vec::new();
    for (index, part) in content.iter().enumerate() {
        let kind = field(part, "type").and_then(Value::as_str).unwrap_or_default();
        let text = |place: &Value, name: &str| field(place, name).and_then(Value::as_str).is_some();
        let resource = field(part, "resource").unwrap_or(&Value::Null);
        let sound = match kind {
            "text" => text(part, "text"),
            "image" | "audio" => text(part, "data"),
            "resource" => text(resource, "text") || text(resource, "blob"),
            "resource_link" => text(part, "uri"),
            _ => false,
        };
        if !sound {
            findings.push(oddity(index, kind));
        }
        let data = [field(part, "data"), field(resource, "blob")].into_iter().flatten().next();
        let base64 = data.and_then(Value::as_str).filter(|_| sound && kind != "text");
        if base64.is_some_and(|data| decode_base64(data).is_none()) {
            findings.push(bad_base64(index));
        }
    }
    (findings, annotations(content))
}

fn oddity(index: usize, kind: &str) -> Finding {
    let known = ["text", "image", "audio", "resource", "resource_link"].contains(&kind);
    let (rule, what) = if known {
        ("part_malformed", "lacks what its type asks for")
    } else {
        ("part_unknown", "has a type nobody here knows")
    };
    let kind = model::fault::one_line(kind, 40);
    let message = format!("part {index} (`{kind}`) {what}; it is kept as JSON");
    Finding::new(Severity::Warning, rule, &message)
}

fn bad_base64(index: usize) -> Finding {
    let message = format!("part {index} is not base64; it is kept as it is");
    Finding::new(Severity::Warning, "bad_base64", &message)
}

fn outcome(result: &Value) -> Outcome {
    let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    if is_error { Outcome::Error } else { Outcome::Ok }
}

fn full_text(content: &[Value], structured: Option<&Value>) -> String {
    let text = texts(content).collect::<Vec<_>>().join("\n");
    match structured {
        _ if !text.is_empty() => text,
        Some(value) => value.to_string(),
        None => NO_CONTENT.to_owned(),
    }
}

fn annotations(content: &[Value]) -> Vec<Value> {
    let annotated = |(index, part): (usize, &Value)| {
        let fields = field(part, "annotations")?.as_object()?;
        let mut entry = serde_json::Map::new();
        entry.insert("part_index".to_owned(), index.into());
        entry.extend(fields.iter().map(|(key, value)| (key.clone(), value.clone())));
        Some(Value::Object(entry))
    };
    content.iter().enumerate().filter_map(annotated).collect()
}

/// Collects what is found while the parts are gone through.
struct Ledger<'a> {
    tool: &'a str,
    blobs: BTreeMap<Handle, Blob>,
    findings: Vec<Finding>,
}

/// What a part turns into, before it has a handle.
struct Piece<'a> {
    kind: ArtifactKind,
    media_type: &'a str,
    label: &'a str,
    bytes: Vec<u8>,
}

impl Ledger<'_> {
    fn content<'v>(&mut self, result: &'v Value) -> &'v [Value] {
        match (result, result.get("content")) {
            (Value::Object(_), Some(Value::Array(parts))) => parts,
            (Value::Object(_), None) => &[],
            _ => {
                self.find("result_malformed", "the result is no object with a list `content`");
                self.keep(
                    "unknown",
                    Piece {
                        kind: ArtifactKind::Json,
                        media_type: "application/json",
                        label: "result as it was sent",
                        bytes: result.to_string().into_bytes(),
                    },
                );
                &[]
            }
        }
    }

    fn part(&mut self, index: usize, part: &Value) {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let kept = match kind {
            "text" => part.get("text").and_then(Value::as_str).map(|_| ()),
            "image" => self.media(index, part, "image", "image/png"),
            "audio" => self.media(index, part, "audio", "audio/wav"),
            "resource" => self.resource(index, part),
            "resource_link" => self.link(index, part),
            _ => None,
        };
        if kept.is_none() {
            self.unknown(index, part, kind);
        }
    }

    fn media(&mut self, index: usize, part: &Value, kind: &str, default: &str) -> Option<()> {
        let bytes = self.decoded(index, part.get("data")?.as_str()?);
        let media_type = part.get("mimeType").and_then(Value::as_str).unwrap_or(default);
        let label = format!("{kind} from {}", self.tool);
        let piece = Piece { kind: ArtifactKind::Blob, media_type, label: &label, bytes };
        self.keep(&format!("{kind}:{index}"), piece);
        Some(())
    }

    fn resource(&mut self, index: usize, part: &Value) -> Option<()> {
        let resource = part.get("resource")?;
        let field = |name: &str| resource.get(name).and_then(Value::as_str);
        let (kind, bytes) = match (field("blob"), field("text")) {
            (Some(blob), _) => (ArtifactKind::Blob, self.decoded(index, blob)),
            (None, Some(text)) => (ArtifactKind::Text, text.as_bytes().to_vec()),
            (None, None) => return None,
        };
        let fallback = format!("resource from {}", self.tool);
        let label = field("uri").unwrap_or(&fallback);
        let media_type = field("mimeType").unwrap_or("application/octet-stream");
        self.keep(&format!("resource:{index}"), Piece { kind, media_type, label, bytes });
        Some(())
    }

    fn link(&mut self, index: usize, part: &Value) -> Option<()> {
        let uri = part.get("uri")?.as_str()?;
        let label = part.get("name").and_then(Value::as_str).unwrap_or(uri);
        let bytes = uri.as_bytes().to_vec();
        let piece = Piece { kind: ArtifactKind::Link, media_type: "text/uri-list", label, bytes };
        self.keep(&format!("resource_link:{index}"), piece);
        Some(())
    }

    fn structured(&mut self, value: &Value) {
        let label = format!("structured content from {}", self.tool);
        let bytes = canonical::bytes(value);
        let media_type = "application/json";
        let piece = Piece { kind: ArtifactKind::Json, media_type, label: &label, bytes };
        self.keep("structured_content", piece);
    }

    fn unknown(&mut self, index: usize, part: &Value, kind: &str) {
        self.findings.push(oddity(index, kind));
        let label = format!("part {index} from {}", self.tool);
        let bytes = part.to_string().into_bytes();
        let media_type = "application/json";
        let piece = Piece { kind: ArtifactKind::Json, media_type, label: &label, bytes };
        self.keep(&format!("unknown:{index}"), piece);
    }

    /// The bytes behind base64, or the text itself where it is none.
    fn decoded(&mut self, index: usize, data: &str) -> Vec<u8> {
        decode_base64(data).unwrap_or_else(|| {
            self.findings.push(bad_base64(index));
            data.as_bytes().to_vec()
        })
    }

    fn keep(&mut self, place: &str, piece: Piece<'_>) {
        let handle = Handle::from_string(format!("mcp:{}:{place}", self.tool));
        let Piece { kind, media_type, label, bytes } = piece;
        let (media_type, label) = (media_type.to_owned(), label.to_owned());
        let blob = Blob { handle: handle.clone(), alias: None, kind, media_type, label, bytes };
        self.blobs.insert(handle, blob);
    }

    fn find(&mut self, rule: &str, message: &str) {
        self.findings.push(Finding::new(Severity::Warning, rule, message));
    }
}

#[cfg(test)]
mod tests;
