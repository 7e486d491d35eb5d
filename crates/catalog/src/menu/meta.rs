//! The gate's own tools as a client sees them: words for the model, schemas for its arguments.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::browse::folders;
use crate::deed::Deed;
use crate::entry::Entry;
use crate::generation::Catalogue;
use crate::limits;
use crate::menu::Doors;

pub const TOOL_BROWSE: &str = "tool_browse";
pub const TOOL_EXECUTE: &str = "tool_execute";
pub const TOOL_HYDRATE: &str = "tool_hydrate";
pub const TOOL_VIEW: &str = "tool_view";
pub const TOOL_READ: &str = "tool_read";
pub const TOOL_WRITE: &str = "tool_write";
pub const TOOL_DESTROY: &str = "tool_destroy";

/// What stands behind the gate, in words, for this reader.
pub(super) struct Scope {
    upstreams: String,
    /// The same, where a few names must do.
    some: String,
    namespaces: String,
    doors: &'static str,
    max_cards: usize,
}

impl Scope {
    /// For whoever looks at schemas alone.
    pub(super) fn bare(max_cards: usize) -> Self {
        let (upstreams, some, namespaces) = (String::new(), String::new(), String::new());
        Self { upstreams, some, namespaces, doors: Doors::One.named(), max_cards }
    }

    pub(super) fn new(
        catalogue: &Catalogue,
        visible: &dyn Fn(&Entry) -> bool,
        doors: Doors,
        max_cards: usize,
    ) -> Self {
        let seen = catalogue.entries().iter().filter(|entry| visible(entry)).collect::<Vec<_>>();
        let upstreams = servers(seen.iter().copied());
        let folders = folders(&seen);
        let folders: Vec<String> =
            folders.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        Self {
            some: enumerate(&upstreams, limits::SERVERS_NAMED_MAX),
            upstreams: enumerate(&upstreams, limits::NAMESPACES_NAMED_MAX),
            namespaces: enumerate(&folders, limits::NAMESPACES_NAMED_MAX),
            doors: doors.named(),
            max_cards,
        }
    }
}

pub(super) fn browse(scope: &Scope) -> Value {
    let description = format!(
        "Find a tool. Use this first whenever a task may need an outside system. Give either \
         `query`, what you want to do in plain words, or `path`: `/` lists namespaces, \
         `/namespace` its tools. Answers with names, parameters and descriptions; call one with \
         {}. Connected: {}. Namespaces with number of tools: {}.",
        scope.doors, scope.upstreams, scope.namespaces
    );
    json!({
        "name": TOOL_BROWSE,
        "title": "Find tools",
        "description": description,
        "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "What you want to do, for example `create an issue`. Not together with `path`."},
                "path": {"type": "string", "minLength": 1, "maxLength": limits::PATH_CHARS_MAX, "description": "A place to look at: `/`, `/namespace` or `/namespace/name`. Not together with `query`."},
                "top_k": {"type": "integer", "minimum": 1, "maximum": scope.max_cards, "default": limits::TOP_K_DEFAULT.min(scope.max_cards), "description": "How many tools to return at most."}
            }
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}

/// The tool that calls all others, or those up to one deed.
pub(super) fn execute(scope: &Scope, deed: Option<Deed>) -> Value {
    let (name, title, which) = match deed {
        None => (TOOL_EXECUTE, "Call a tool", "a tool"),
        Some(Deed::Read) => (TOOL_READ, "Call a tool that reads", "a tool that only reads"),
        Some(Deed::Write) => {
            (TOOL_WRITE, "Call a tool that writes", "a tool that may change something")
        }
        Some(Deed::Destroy) => {
            (TOOL_DESTROY, "Call a tool that destroys", "any tool, also one that destroys")
        }
    };
    let description = format!(
        "Call {which} by its name. Use this once you know the name and its parameters. Arguments \
         are checked against the tool's schema first; when they do not fit, the answer says what \
         to correct. Connected: {}.",
        scope.upstreams
    );
    let (read_only, destructive) =
        (deed == Some(Deed::Read), !matches!(deed, Some(Deed::Read | Deed::Write)));
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "tool_id": tool_id(),
                "args": {"type": "object", "description": "The tool's arguments; `{}` when it takes none."},
                "dry_run": {"type": "boolean", "default": false, "description": "Say what would happen, and call nothing."}
            },
            "required": ["tool_id", "args"]
        },
        "annotations": {"readOnlyHint": read_only, "destructiveHint": destructive, "openWorldHint": true}
    })
}

pub(super) fn hydrate(scope: &Scope) -> Value {
    json!({
        "name": TOOL_HYDRATE,
        "title": "Show a tool's parameters",
        "description": format!("Show the full definition of one listed tool of {}, with the schema of its arguments. Use it before the first call of a tool, by its name or with {}.", scope.some, scope.doors),
        "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {"tool_id": tool_id()},
            "required": ["tool_id"]
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}

pub(super) fn view(scope: &Scope) -> Value {
    json!({
        "name": TOOL_VIEW,
        "title": "Read a stored result",
        "description": format!("Read a part of a result of {} that was too large to show whole. Use it when an answer names a handle (`art_…`).", scope.some),
        "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "handle": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The handle as the answer gave it."},
                "selector": selector()
            },
            "required": ["handle", "selector"]
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}

fn tool_id() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 300, "description": "The tool's name as listed or found."})
}

/// The same shapes as `model::artifact::Selector`.
fn selector() -> Value {
    let shape = |kind: &str, fields: Value, required: &[&str]| {
        let mut properties = json!({"type": {"const": kind}});
        if let (Some(all), Value::Object(fields)) = (properties.as_object_mut(), fields) {
            all.extend(fields);
        }
        let required: Vec<&str> = std::iter::once("type").chain(required.iter().copied()).collect();
        json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
    };
    let count =
        |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let chars = json!({"type": "integer", "minimum": 0, "default": 500, "description": "Characters from the start."});
    json!({
        "description": "Which part to read.",
        "oneOf": [
            shape("head", json!({"chars": chars}), &[]),
            shape("lines", json!({"start": count("First line."), "end": count("Line to stop at.")}), &["start", "end"]),
            shape("json_pointer", json!({"pointer": {"type": "string", "description": "RFC 6901 pointer, for example `/items/0`."}}), &["pointer"]),
            shape("tail", json!({"lines": count("Last lines.")}), &[]),
            shape("chars", json!({"offset": count("Characters to skip."), "chars": count("How many.")}), &[]),
            shape("bytes", json!({"start": count("First byte."), "end": count("Byte to stop before.")}), &["start", "end"]),
            shape("json_keys", json!({"pointer": {"type": "string"}, "keys": {"type": "array", "items": {"type": "string"}}, "offset": count("Keys to skip.")}), &[]),
            shape("rows", json!({"start": count("First row."), "end": count("Last row."), "pointer": {"type": "string"}}), &["start", "end"]),
            shape("grep", json!({"pattern": {"type": "string"}, "ignore_case": {"type": "boolean"}, "context": count("Lines around."), "start": count("Line to begin at.")}), &["pattern"]),
        ]
    })
}

/// Whose these are, each server once.
pub(super) fn servers<'a>(entries: impl Iterator<Item = &'a Arc<Entry>>) -> Vec<String> {
    let names: BTreeSet<&str> = entries.map(|entry| entry.item.key.upstream.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

pub(super) fn enumerate(names: &[String], max: usize) -> String {
    let named: Vec<&str> = names.iter().take(max).map(String::as_str).collect();
    match (named.is_empty(), names.len().saturating_sub(max)) {
        (true, _) => "none".to_owned(),
        (false, 0) => named.join(", "),
        (false, more) => format!("{} and {more} more", named.join(", ")),
    }
}
