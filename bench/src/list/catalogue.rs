//! The catalogue that is listed, and its pages as the gate gives them.

use std::fs;
use std::path::Path;

use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::Client;

pub(super) const TOOLS: usize = 1_000;
/// More pages than any catalogue of this size has.
const PAGES_MAX: usize = 1_000;

/// One page of the list: how it is asked for, and what it must be.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) cursor: Option<String>,
    pub(super) bytes: Bytes,
}

/// A gate's configuration with the catalogue behind it; the tools are written into the folder.
pub(super) fn configuration(folder: &Path) -> Outcome<Value> {
    let file = folder.join("tools.json");
    fs::write(&file, serde_json::to_vec(&(0..TOOLS).map(tool).collect::<Vec<_>>())?)?;
    Ok(json!({
        "mode": "native",
        "naming": "none",
        "upstreams": {"catalog": {"type": "stub", "tools": file}},
    }))
}

/// Follows the cursors once, and counts that nothing is missing.
pub(super) async fn read(client: &mut Client) -> Outcome<Vec<Page>> {
    let (mut pages, mut cursor, mut tools) = (Vec::new(), None, 0);
    while pages.len() < PAGES_MAX {
        let (_, bytes) = client.list(cursor.as_deref()).await?;
        let answer: Value = serde_json::from_slice(&bytes)?;
        tools += answer.pointer("/result/tools").and_then(Value::as_array).map_or(0, Vec::len);
        let next = answer.pointer("/result/nextCursor").and_then(Value::as_str).map(str::to_owned);
        pages.push(Page { cursor: cursor.take(), bytes });
        if next.is_none() {
            break;
        }
        cursor = next;
    }
    if tools != TOOLS {
        return Err(format!("{tools} tools were listed instead of {TOOLS}").into());
    }
    Ok(pages)
}

/// A tool as real ones are: a sentence or two, and a handful of described parameters.
fn tool(index: usize) -> Value {
    let parameter = |name: &str| {
        let about = format!("The {name} of the record, as the service knows it; see its manual.");
        (name.to_owned(), json!({"type": "string", "description": about, "maxLength": 200}))
    };
    let names = ["id", "title", "owner", "state", "label", "comment"];
    let properties = names.iter().map(|name| parameter(name)).collect::<serde_json::Map<_, _>>();
    json!({
        "name": format!("service_{:02}_action_{index:04}", index % 40),
        "title": format!("Action {index}"),
        "description": format!("Carries out action {index} on one record of the service and returns the record as it is afterwards. Fails if the record is locked."),
        "inputSchema": {"type": "object", "properties": properties, "required": ["id"]},
        "annotations": {"readOnlyHint": index.is_multiple_of(2), "openWorldHint": false},
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_tools_have_one_name() {
        let names = (0..TOOLS).map(|index| tool(index)["name"].to_string());
        assert_eq!(names.collect::<BTreeSet<_>>().len(), TOOLS);
    }
}
