//! The `files` namespace: a small tree of text documents kept in memory. Folders are where paths
//! share a beginning; there is nothing else to them. No real file is ever touched.

mod contract;
mod path;

use std::collections::BTreeMap;

use model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::refusal::{Outcome, Refusal, done};
use super::state::State;
use path::is_path;

pub(super) use contract::definitions;

/// One document may hold this much, so that a state file stays small.
const DOCUMENT_BYTES_MAX: usize = 64 * 1024;
const DOCUMENTS_MAX: usize = 500;
const LIST: &str = "files_list_folder";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Document {
    pub(super) text: String,
    pub(super) version: u32,
    pub(super) updated_at: Timestamp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFolder {
    folder: Option<String>,
    #[serde(default)]
    recursive: bool,
}

pub(super) fn list_folder(state: &State, args: &ListFolder, _: Timestamp) -> Outcome {
    let folder = args.folder.as_deref().unwrap_or("/");
    let prefix = prefix_of(folder);
    let mut entries = BTreeMap::new();
    for (path, document) in &state.files {
        let Some(rest) = path.strip_prefix(&prefix) else { continue };
        let bytes = document.text.len();
        match rest.split_once('/') {
            Some((name, _)) if !args.recursive => {
                let path = format!("{prefix}{name}");
                entries.insert(path.clone(), json!({"name": name, "path": path, "kind": "folder"}));
            }
            _ => {
                let entry = json!({"name": rest, "path": path, "kind": "file", "bytes": bytes});
                entries.insert(path.clone(), entry);
            }
        }
    }
    if entries.is_empty() && folder != "/" {
        return Err(Refusal::unknown("folder", folder, LIST));
    }
    done(json!({"folder": folder, "entries": entries.into_values().collect::<Vec<_>>()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    path: String,
    first_line: Option<usize>,
    line_count: Option<usize>,
}

pub(super) fn read(state: &State, args: &Read, _: Timestamp) -> Outcome {
    let document = find(state, &args.path)?;
    let lines = document.text.split_inclusive('\n');
    let skipped = args.first_line.unwrap_or(1).saturating_sub(1);
    let text: String =
        lines.clone().skip(skipped).take(args.line_count.unwrap_or(usize::MAX)).collect();
    done(json!({
        "path": args.path,
        "text": text,
        "line_total": lines.count(),
        "version": document.version,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    path: String,
}

pub(super) fn describe(state: &State, args: &Which, _: Timestamp) -> Outcome {
    find(state, &args.path).and_then(|document| done(told(&args.path, document)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    query: String,
    folder: Option<String>,
    limit: Option<usize>,
}

pub(super) fn search(state: &State, args: &Search, _: Timestamp) -> Outcome {
    let query = args.query.to_lowercase();
    let prefix = prefix_of(args.folder.as_deref().unwrap_or("/"));
    let below = state.files.iter().filter(|(path, _)| path.starts_with(&prefix));
    let lines = below.flat_map(|(path, document)| {
        document.text.lines().enumerate().map(move |(index, line)| (path, index + 1, line))
    });
    let matches: Vec<Value> = lines
        .filter(|(_, _, text)| text.to_lowercase().contains(&query))
        .map(|(path, line, text)| json!({"path": path, "line": line, "text": text}))
        .collect();
    let total = matches.len();
    let shown: Vec<Value> = matches.into_iter().take(args.limit.unwrap_or(20)).collect();
    done(json!({"matches": shown, "total": total}))
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Create,
    Append,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    path: String,
    text: String,
    #[serde(default)]
    mode: Mode,
}

pub(super) fn write(state: &mut State, args: &Write, now: Timestamp) -> Outcome {
    match args.mode {
        Mode::Create => vacant(state, &args.path)?,
        Mode::Append => {
            let former = &find(state, &args.path)?.text;
            return put(state, &args.path, format!("{former}{}", args.text), now);
        }
    }
    if state.files.len() >= DOCUMENTS_MAX {
        let text = format!("the drive holds {DOCUMENTS_MAX} documents already; delete some first");
        return Err(Refusal::new("DRIVE_FULL", text));
    }
    put(state, &args.path, args.text.clone(), now)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replace {
    path: String,
    text: String,
    expected_version: Option<u32>,
}

pub(super) fn replace(state: &mut State, args: &Replace, now: Timestamp) -> Outcome {
    let version = find(state, &args.path)?.version;
    if args.expected_version.is_some_and(|expected| expected != version) {
        let text = format!(
            "`{}` is at version {version} now; read it again, then replace with that version",
            args.path
        );
        return Err(Refusal::new("VERSION_CONFLICT", text));
    }
    put(state, &args.path, args.text.clone(), now)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    from: String,
    to: String,
}

pub(super) fn rename(state: &mut State, args: &Move, now: Timestamp) -> Outcome {
    find(state, &args.from)?;
    vacant(state, &args.to)?;
    if let Some(mut document) = state.files.remove(&args.from) {
        document.updated_at = now;
        state.files.insert(args.to.clone(), document);
    }
    find(state, &args.to).and_then(|document| done(told(&args.to, document)))
}

pub(super) fn delete(state: &mut State, args: &Which, _: Timestamp) -> Outcome {
    find(state, &args.path)?;
    state.files.remove(&args.path);
    done(json!({"path": args.path, "deleted": true}))
}

fn find<'a>(state: &'a State, path: &str) -> Result<&'a Document, Refusal> {
    state.files.get(path).ok_or_else(|| Refusal::unknown("document", path, LIST))
}

/// A path that can be made into a document: well formed, and nothing is there or below it.
fn vacant(state: &State, path: &str) -> Result<(), Refusal> {
    if !is_path(path) {
        let text = format!("`{path}` is no path; write one such as `/handbook/refunds.md`");
        return Err(Refusal::new("PATH_INVALID", text));
    }
    let below = format!("{path}/");
    let above = |taken: &String| path.starts_with(&format!("{taken}/"));
    if state.files.keys().any(|taken| taken == path || taken.starts_with(&below) || above(taken)) {
        let text = format!(
            "`{path}` clashes with a document or folder that is there; choose another path"
        );
        return Err(Refusal::new("PATH_TAKEN", text));
    }
    Ok(())
}

fn put(state: &mut State, path: &str, text: String, now: Timestamp) -> Outcome {
    if text.len() > DOCUMENT_BYTES_MAX {
        let text = format!(
            "`{path}` would pass {DOCUMENT_BYTES_MAX} bytes; split it into several documents"
        );
        return Err(Refusal::new("DOCUMENT_TOO_LARGE", text));
    }
    let version = state.files.get(path).map_or(0, |former| former.version).saturating_add(1);
    let document = Document { text, version, updated_at: now };
    let told = told(path, &document);
    state.files.insert(path.to_owned(), document);
    done(told)
}

fn told(path: &str, document: &Document) -> Value {
    json!({
        "path": path,
        "bytes": document.text.len(),
        "version": document.version,
        "updated_at": document.updated_at,
    })
}

fn prefix_of(folder: &str) -> String {
    format!("{}/", folder.trim_end_matches('/'))
}
