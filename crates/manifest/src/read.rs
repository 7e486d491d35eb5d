//! From text to a checked manifest: shapes by serde, then what only the whole can show.

use std::collections::BTreeMap;

use serde::Deserializer;
use serde_json::Value;
use serde_path_to_error::Error as PathError;

use crate::adapter::AdapterManifest;
use crate::error::ManifestError;

/// Less alike than this, a suggestion would only confuse.
const LIKENESS_MIN: f64 = 0.7;

/// Reads a manifest from JSON text. A key written twice is an error too.
pub fn parse(text: &str) -> Result<AdapterManifest, ManifestError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let manifest = read(&mut json)?;
    json.end().map_err(|error| ManifestError::NotJson(error.to_string()))?;
    Ok(manifest)
}

/// Reads a manifest from JSON that is part of something larger.
pub fn from_value(value: Value) -> Result<AdapterManifest, ManifestError> {
    read(value)
}

fn read<'de, D>(json: D) -> Result<AdapterManifest, ManifestError>
where
    D: Deserializer<'de, Error = serde_json::Error>,
{
    let manifest: AdapterManifest = serde_path_to_error::deserialize(json).map_err(explain)?;
    check_bindings(&manifest)?;
    Ok(manifest)
}

fn check_bindings(manifest: &AdapterManifest) -> Result<(), ManifestError> {
    let mut ids = BTreeMap::new();
    let mut tools = BTreeMap::new();
    for (index, capability) in manifest.capabilities.iter().enumerate() {
        let at = format!("capabilities[{index}]");
        let id = capability.capability_id.as_str();
        if ids.insert(id, index).is_some() {
            return Err(ManifestError::DuplicateCapability { at, id: id.to_owned() });
        }
        let tool = capability.tool.as_str();
        if let Some(other) = tools.insert(tool, id) {
            let (tool, other) = (tool.to_owned(), other.to_owned());
            return Err(ManifestError::ToolBoundTwice { at, tool, other });
        }
        if let Some(stated) = capability.adapter_id.clone().filter(|s| *s != manifest.adapter_id) {
            let adapter_id = manifest.adapter_id.clone();
            return Err(ManifestError::OtherAdapter { at, stated, adapter_id });
        }
    }
    Ok(())
}

pub(crate) fn explain(error: PathError<serde_json::Error>) -> ManifestError {
    let path = error.path().to_string();
    let at = if path == "." { String::new() } else { path };
    let error = error.into_inner();
    let message = error.to_string();
    if error.is_syntax() || error.is_eof() {
        return ManifestError::NotJson(message);
    }
    unknown_key(&at, &message).unwrap_or(ManifestError::Invalid { at, message })
}

/// Serde tells an unknown key, and the known ones, only in words: each stands in backticks.
fn unknown_key(at: &str, message: &str) -> Option<ManifestError> {
    let (key, known) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let known = known.split('`').skip(1).step_by(2);
    let at = at.strip_suffix(key).unwrap_or(at).trim_end_matches('.').to_owned();
    Some(ManifestError::UnknownKey { at, key: key.to_owned(), nearest: nearest(key, known) })
}

fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let rated = known.map(|name| (strsim::jaro_winkler(key, name), name));
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= LIKENESS_MIN).then(|| best.1.to_owned())
}
