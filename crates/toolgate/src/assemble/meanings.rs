//! Where search gets meanings from: the built-in table, a folder, or an endpoint. What cannot be had
//! is no reason not to start; the built-in table takes its place, and search says so.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use auth::Credentials;
use catalog::Table;
use gateway::Meanings;
use model::Secret;
use upstream::Embedding;

use crate::config::{ConfigPath, Endpoint, Search};

/// A static model is a few hundred megabytes at most.
const MODEL_BYTES_MAX: u64 = 1024 * 1024 * 1024;

pub(super) fn meanings(search: &Search) -> Meanings {
    let made = match (&search.model, &search.endpoint) {
        (Some(folder), _) => table(folder),
        (None, Some(endpoint)) => remote(endpoint),
        (None, None) => return Meanings::BuiltIn,
    };
    made.unwrap_or_else(|why| {
        tracing::warn!(reason = why, "search uses the built-in table");
        Meanings::Missing(why)
    })
}

fn table(folder: &ConfigPath) -> Result<Meanings, String> {
    let read =
        |name: &str| read(&folder.as_path().join(name), &format!("{}/{name}", folder.shown()));
    let (tensors, tokenizer) = (read("model.safetensors")?, read("tokenizer.json")?);
    let table = Table::from_model2vec(&tensors, &tokenizer);
    let table = table.map_err(|error| format!("`{}`: {error}", folder.shown()))?;
    Ok(Meanings::Table(Arc::new(table)))
}

fn read(path: &Path, shown: &str) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("`{shown}` cannot be read: {error}");
    if path.metadata().map_err(unreadable)?.len() > MODEL_BYTES_MAX {
        return Err(format!("`{shown}` is longer than {MODEL_BYTES_MAX} bytes"));
    }
    std::fs::read(path).map_err(unreadable)
}

fn remote(endpoint: &Endpoint) -> Result<Meanings, String> {
    let bearer = endpoint
        .api_key
        .as_ref()
        .map(|key| ("Authorization".to_owned(), Secret::new(format!("Bearer {}", key.0.reveal()))));
    let credentials = Credentials::from_headers(bearer).map_err(|error| error.to_string())?;
    let (url, model) = (endpoint.url.as_str(), endpoint.model.as_str());
    let timeout = Duration::from_millis(endpoint.timeout_ms);
    let made = Embedding::new(url, model, &credentials, timeout).map_err(|fault| fault.message)?;
    Ok(Meanings::Endpoint(Arc::new(made)))
}
