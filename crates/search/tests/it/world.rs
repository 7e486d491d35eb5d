//! Sets of tools and queries, read from this folder or from the shared one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolgate_search::{Doc, Index};

pub(crate) struct Set {
    pub(crate) tools: Vec<Value>,
    queries: Vec<Value>,
}

pub(crate) fn ours(name: &str) -> Set {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gold").join(name);
    Set { tools: rows(&folder.join("tools.jsonl")), queries: rows(&folder.join("queries.jsonl")) }
}

/// Data of others, where it is present.
pub(crate) fn shared(name: &str) -> Option<Set> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("TOOLGATE_SHARED").map_or_else(beside, PathBuf::from);
    let folder = root.join("retrieval").join(name);
    if !folder.is_dir() {
        println!("LEFT OUT: `{name}` is not in {}; set TOOLGATE_SHARED", root.display());
        return None;
    }
    Some(Set {
        tools: rows(&folder.join("tools.jsonl")),
        queries: rows(&folder.join("queries.jsonl")),
    })
}

impl Set {
    pub(crate) fn index(&self) -> Index {
        Index::build(&self.docs())
    }

    pub(crate) fn docs(&self) -> Vec<Doc<'_>> {
        self.tools.iter().map(doc).collect()
    }

    /// Recall in the first one and the first five, over the queries `wanted` lets through.
    pub(crate) fn recall(&self, wanted: &dyn Fn(&Value) -> bool) -> (f64, f64) {
        let index = self.index();
        let places: HashMap<&str, usize> =
            self.tools.iter().enumerate().map(|(at, tool)| (text(tool, "id"), at)).collect();
        let (mut first, mut five, mut count) = (0.0, 0.0, 0.0);
        for query in self.queries.iter().filter(|query| wanted(query)) {
            let gold: Vec<usize> = query["gold"]
                .as_array()
                .unwrap()
                .iter()
                .map(|id| places[id.as_str().unwrap()])
                .collect();
            let hits = index.rank(text(query, "text"), 5, &|_| true).hits;
            let found =
                |k: usize| hits.iter().take(k).filter(|hit| gold.contains(&hit.doc)).count() as f64;
            first += found(1) / gold.len() as f64;
            five += found(5) / gold.len() as f64;
            count += 1.0;
        }
        (first / count, five / count)
    }
}

fn doc(tool: &Value) -> Doc<'_> {
    let params = || {
        tool.pointer("/input_schema/properties").and_then(Value::as_object).into_iter().flatten()
    };
    let tags = tool["tags"].as_array().into_iter().flatten();
    Doc {
        name: text(tool, "name"),
        title: tool["title"].as_str(),
        namespace: text(tool, "server"),
        upstream: "",
        description: text(tool, "description"),
        params: params().map(|(name, _)| name.as_str()).collect(),
        param_texts: params().map(|(_, schema)| text(schema, "description")).collect(),
        tags: tags.filter_map(Value::as_str).collect(),
        aliases: Vec::new(),
    }
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}

fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
