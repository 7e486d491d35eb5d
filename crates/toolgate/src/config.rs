//! Configuration: read once at the edge, checked, and handed out in typed parts.
//!
//! A file goes through these stages in order: text to tree, variables put in, tree held against the
//! schema, types, and last what only the whole can show. Nothing here opens a connection or any
//! other file than the one it is given.

mod bounds;
mod check;
mod choices;
mod deserialize;
mod env_file;
mod fit;
mod json;
mod manifest;
mod mcp_json;
mod node;
mod overrides;
mod parse;
mod problem;
mod scalar;
mod sections;
mod shape;
mod shown;
mod substitute;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod upstream;

use std::path::{Path, PathBuf};

pub use bounds::{RateLimit, RunBounds};
pub use choices::{CallerKind, Ceiling, Private};
pub use choices::{
    Drift, Duplicates, LogLevel, Mode, Naming, OutputSchema, Profile, Reads, RequireStructured,
    Sanitise, StartupMode,
};
pub use choices::{Transport, UnknownTool, Unset};
pub use overrides::Overrides;
pub use problem::{ConfigError, Problem};
pub use sections::{
    Approvals, Artifacts, Auth, Egress, Endpoint, EnvSettings, HttpSettings, Limits, Records,
    Results, Search, Startup, Telemetry, Token,
};
pub use sections::{Hook, Hooks};
pub use shown::{Browse, Compat, Exposure};
pub use substitute::Env;
pub use text::{ConfigPath, Hidden, Text};
pub use tree::{CATALOG_UPSTREAM, Config, HTTP_PORT_DEFAULT, SSE_PORT_DEFAULT};
pub use upstream::{OutputRules, Protocol, Share, StubTools, Target, Upstream};

pub(crate) use self::manifest::{BindingFile, ManifestFile, Unbound};
pub(crate) use check::files;

use node::{Data, Node};
use problem::{Place, Problems};

/// The file taken from the current folder when none is named.
pub const FILE_DEFAULT: &str = "toolgate.yaml";

/// A configuration and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub config: Config,
    /// What the reader should know: keys without use, names changed, defaults taken.
    pub notes: Vec<String>,
    /// The file it was read from; `None` if there was none.
    pub file: Option<PathBuf>,
}

impl Config {
    /// Reads the named file; else `toolgate.yaml` in the current folder; else takes the defaults.
    pub fn load(path: Option<&Path>, env: Env<'_>) -> Result<Loaded, ConfigError> {
        let default = Path::new(FILE_DEFAULT);
        match path {
            Some(path) => load_file(path, env),
            None if default.exists() => {
                let mut loaded = load_file(default, env)?;
                let note = format!("using `{FILE_DEFAULT}` of the current folder");
                loaded.notes.insert(0, note);
                Ok(loaded)
            }
            None => {
                let note = format!(
                    "no `{FILE_DEFAULT}` in the current folder and no --config: serving the built-in upstream `demo`"
                );
                Ok(Loaded { config: Self::demo(), notes: vec![note], file: None })
            }
        }
    }
}

/// Reads a configuration from text. The name says where it came from and gives relative paths
/// their folder; no file is touched.
pub fn read(text: &str, file: &Path, env: Env<'_>) -> Result<Loaded, ConfigError> {
    let mut problems = Problems::of(file.display().to_string());
    let json = json::is_json(file).then(|| json::as_yaml(text));
    let mut root = parse_root(json.as_deref().unwrap_or(text), &mut problems)?;
    let unset = unset_of(&root);
    let schema = Config::json_schema();
    let known = schema.pointer("/properties").and_then(serde_json::Value::as_object);
    let known = known.into_iter().flatten().map(|(key, _)| key.as_str()).collect::<Vec<_>>();
    let mut notes = mcp_json::without_the_clients_own(&mut root, &known);
    let env = |name: &str| env(name).or_else(|| mcp_json::place(name, file, env));
    substitute::substitute(&mut root, &env, unset, &mut problems);
    shape::check(&schema, &mut root, &mut problems);
    problems.settle()?;
    let mut config = typed(&root, &mut problems)?;
    notes.extend(check::check(&mut config, &root, &mut problems));
    problems.settle()?;
    check::resolve_paths(&mut config, file.parent().unwrap_or(Path::new("")));
    Ok(Loaded { config, notes, file: Some(file.to_owned()) })
}

/// Other data in the same notation, such as cases for a policy.
pub(crate) fn read_data<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    let json = text.trim_start().starts_with('{').then(|| json::as_yaml(text));
    let parsed = parse::parse(json.as_deref().unwrap_or(text));
    let root = parsed.map_err(|(place, message)| format!("line {}: {message}", place.line))?;
    let Some(root) = root else { return Err("it is empty".to_owned()) };
    serde_path_to_error::deserialize(&root).map_err(|error| {
        let path = error.path().to_string();
        let segments = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
        let place = root.place(&segments.collect::<Vec<_>>());
        format!("line {}: `{path}`: {}", place.line, error.inner())
    })
}

fn load_file(path: &Path, env: Env<'_>) -> Result<Loaded, ConfigError> {
    let refuse = |message: String| {
        let problem =
            Problem { file: path.display().to_string(), line: None, column: None, message };
        ConfigError::from(problem)
    };
    let bytes = read_bounded(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    if bytes.len() > parse::FILE_BYTES_MAX {
        return Err(refuse(format!("longer than {} bytes", parse::FILE_BYTES_MAX)));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(format!("not a text file: byte {at} is not UTF-8"))
    })?;
    let mut loaded = read(&text, path, env)?;
    env_file::take_in(&mut loaded.config).map_err(refuse)?;
    Ok(loaded)
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let bound = u64::try_from(parse::FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    std::fs::File::open(path)?.take(bound).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse_root(text: &str, problems: &mut Problems) -> Result<Node, ConfigError> {
    match parse::parse(text) {
        Ok(Some(root)) if !matches!(root.data, Data::Null) => return Ok(root),
        Ok(_) => check::nothing_to_serve(problems),
        Err((place, message)) => problems.add(Some(place), message),
    }
    problems.settle()?;
    Ok(Node::container(Place { line: 1, column: 1 }, Data::Map(Vec::new())))
}

/// Read ahead of everything else, since it decides how the rest is read.
fn unset_of(root: &Node) -> Unset {
    let unset = root.get("env").and_then(|env| env.get("unset"));
    match unset.map(|unset| &unset.data) {
        Some(Data::Text(word)) if word == "empty" => Unset::Empty,
        _ => Unset::Error,
    }
}

fn typed(root: &Node, problems: &mut Problems) -> Result<Config, ConfigError> {
    serde_path_to_error::deserialize(root).or_else(|error| {
        // The schema caught every common mistake before; serde's own words could show a value.
        let path = error.path().to_string();
        let segments = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
        let place = root.place(&segments.collect::<Vec<_>>());
        problems.add(Some(place), format!("`{path}` does not fit"));
        problems.settle().map(|()| Config::default())
    })
}
