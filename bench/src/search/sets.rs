//! Tools and queries with the tools that answer them, read from the shared folder and from our own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use search::Doc;
use serde_json::Value;

use crate::Outcome;

pub(super) struct Tool {
    id: String,
    pub(super) server: String,
    pub(super) name: String,
    pub(super) description: String,
    tags: Vec<String>,
    params: Vec<(String, String)>,
}

#[derive(Clone)]
pub(super) struct Query {
    pub(super) text: String,
    /// Positions among the tools.
    pub(super) gold: Vec<usize>,
    pub(super) language: String,
}

pub(super) struct Set {
    pub(super) name: String,
    pub(super) tools: Vec<Tool>,
    pub(super) queries: Vec<Query>,
}

/// Where data of others lies.
pub(super) fn shared() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    std::env::var_os("TOOLGATE_SHARED").map_or_else(beside, PathBuf::from)
}

/// Queries of our own, kept with the search crate.
pub(super) fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/search/tests/gold")
}

pub(super) fn read(folder: &Path) -> Outcome<Set> {
    let tools = tools(&folder.join("tools.jsonl"))?;
    let places: HashMap<&str, usize> =
        tools.iter().enumerate().map(|(place, tool)| (tool.id.as_str(), place)).collect();
    let queries =
        rows(&folder.join("queries.jsonl"))?.iter().map(|row| query(row, &places)).collect();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(Set { name: name.unwrap_or_default(), tools, queries })
}

pub(super) fn tools(path: &Path) -> Outcome<Vec<Tool>> {
    Ok(rows(path)?.iter().map(tool).collect())
}

impl Tool {
    pub(super) fn doc(&self) -> Doc<'_> {
        Doc {
            name: &self.name,
            namespace: &self.server,
            description: &self.description,
            params: self.params.iter().map(|(name, _)| name.as_str()).collect(),
            param_texts: self.params.iter().map(|(_, text)| text.as_str()).collect(),
            tags: self.tags.iter().map(String::as_str).collect(),
            ..Doc::default()
        }
    }

    /// Everything it says, as the baselines read it.
    pub(super) fn text(&self) -> String {
        let params = self.params.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]);
        let tags = self.tags.iter().map(String::as_str);
        let all = [self.server.as_str(), &self.name, &self.description].into_iter().chain(tags);
        all.chain(params).collect::<Vec<_>>().join(" ")
    }

    /// Another tool like this one, for catalogues larger than the pool.
    pub(super) fn variant(&self, number: usize) -> Self {
        Self {
            id: format!("{}~{number}", self.id),
            server: self.server.clone(),
            name: format!("{}_{number}", self.name),
            description: self.description.clone(),
            tags: self.tags.clone(),
            params: self.params.clone(),
        }
    }
}

fn rows(path: &Path) -> Outcome<Vec<Value>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let rows: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    Ok(rows.map_err(|error| format!("{}: {error}", path.display()))?)
}

fn tool(row: &Value) -> Tool {
    let text = |key: &str| string(row.get(key));
    let properties = row.pointer("/input_schema/properties").and_then(Value::as_object);
    let params = properties.into_iter().flatten();
    let tags = row.get("tags").and_then(Value::as_array).into_iter().flatten();
    Tool {
        id: text("id"),
        server: text("server"),
        name: text("name"),
        description: text("description"),
        tags: tags.map(|tag| string(Some(tag))).collect(),
        params: params
            .map(|(name, schema)| (name.clone(), string(schema.get("description"))))
            .collect(),
    }
}

fn query(row: &Value, places: &HashMap<&str, usize>) -> Query {
    let gold = row.get("gold").and_then(Value::as_array).into_iter().flatten();
    let gold = gold.filter_map(|id| places.get(id.as_str()?).copied()).collect();
    Query { text: string(row.get("text")), gold, language: string(row.get("language")) }
}

fn string(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
