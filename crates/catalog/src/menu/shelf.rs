//! The gate's own tools for what is no tool: resources to read, prompts to take. Shown where an
//! operator asks for them and there is something to find.

use serde_json::{Value, json};

use crate::limits;

pub const RESOURCE_BROWSE: &str = "resource_browse";
pub const RESOURCE_READ: &str = "resource_read";
pub const PROMPT_BROWSE: &str = "prompt_browse";
pub const PROMPT_GET: &str = "prompt_get";

/// How many there are, and who has them.
pub(super) struct Stock {
    pub(super) count: usize,
    pub(super) servers: String,
}

pub(super) fn resources(stock: &Stock, max_cards: usize) -> [Value; 2] {
    let Stock { count, servers } = stock;
    let description = format!(
        "Find a resource: data of the connected servers ({servers}) that can be read, such as \
         files, pages and records. There are {count}. Answers with addresses; read one with \
         {RESOURCE_READ}."
    );
    let read = format!(
        "Read one resource of {servers} by its address, as {RESOURCE_BROWSE} gave it. In an \
         address with `{{name}}` in it, put a value in its place first."
    );
    let uri = json!({"type": "string", "minLength": 1, "maxLength": limits::URI_CHARS_MAX, "description": "The address."});
    [
        browse(RESOURCE_BROWSE, "Find resources", &description, max_cards),
        json!({
            "name": RESOURCE_READ,
            "title": "Read a resource",
            "description": read,
            "inputSchema": {
                "type": "object",
                "additionalProperties": false,
                "properties": {"uri": uri},
                "required": ["uri"]
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": true}
        }),
    ]
}

pub(super) fn prompts(stock: &Stock, max_cards: usize) -> [Value; 2] {
    let Stock { count, servers } = stock;
    let description = format!(
        "Find a prompt: a text the connected servers ({servers}) have prepared for a task. There \
         are {count}. Answers with names and arguments; take one with {PROMPT_GET}."
    );
    let get =
        format!("Get the text of one prompt of {servers}, by its name as {PROMPT_BROWSE} gave it.");
    [
        browse(PROMPT_BROWSE, "Find prompts", &description, max_cards),
        json!({
            "name": PROMPT_GET,
            "title": "Take a prompt",
            "description": get,
            "inputSchema": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": limits::PROMPT_NAME_CHARS_MAX, "description": "The prompt's name."},
                    "args": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Its arguments; `{}` when it takes none."}
                },
                "required": ["name"]
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": true}
        }),
    ]
}

fn browse(name: &str, title: &str, description: &str, max_cards: usize) -> Value {
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "What it should be about; left out, all are listed."},
                "top_k": {"type": "integer", "minimum": 1, "maximum": max_cards, "default": limits::TOP_K_DEFAULT.min(max_cards), "description": "How many at most."}
            }
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false}
    })
}
