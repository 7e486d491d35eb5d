//! Servers as MCP clients write them (Claude Desktop and Code, Cursor, Windsurf, VS Code, orbiter),
//! turned into entries. What has no meaning here is taken and named in a note.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::json;

use super::node::{Data, Node};
use super::problem::nearest;
use super::substitute::Env;
use super::text::{ConfigPath, Hidden, Text};
use super::upstream::{Entry, Kind};

/// Keys that clients write and Toolgate has no use for, each with the reason.
const UNUSED: &[(&str, &str)] = &[
    ("alwaysAllow", "policy decides what runs without asking"),
    ("autoApprove", "policy decides what runs without asking"),
    ("auth", "signing in at a server is not supported; put a token into `headers`"),
    ("autoStart", "upstreams start with the gateway"),
    ("cache_tools", "the catalogue is always cached"),
    ("description", "it is for people"),
    ("dev", "it is for the client's debugger"),
    ("fromGalleryId", "it is the client's own"),
    ("gallery", "it is the client's own"),
    ("headersHelper", "no command is run to make headers; put them into `headers`"),
    ("icon", "it is for people"),
    ("id", "it is the client's own"),
    ("name", "the key is the name"),
    ("oauth", "signing in at a server is not supported; put a token into `headers`"),
    ("sandbox", "Toolgate does not confine what it starts"),
    ("sandboxEnabled", "Toolgate does not confine what it starts"),
    ("session_timeout", "`limits` has the timeouts"),
    ("sse_read_timeout", "`limits` has the timeouts"),
    ("trust", "policy decides what runs without asking"),
    ("version", "it is the client's own"),
];

/// One server in the form of an MCP client's own file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = close)]
pub(super) struct McpServer {
    /// How it is reached. Left out: `stdio` with a `command`, `http` with a `url`.
    #[serde(rename = "type")]
    kind: Option<McpKind>,
    /// The same as `type`.
    transport: Option<McpKind>,
    /// The program to start.
    command: Option<ConfigPath>,
    /// Its arguments.
    args: Vec<Text>,
    /// Variables it gets.
    env: BTreeMap<String, Hidden>,
    /// A file of variables it gets, a `NAME=value` in each line.
    #[serde(rename = "envFile")]
    env_file: Option<ConfigPath>,
    /// The folder it starts in.
    cwd: Option<ConfigPath>,
    /// The address.
    url: Option<Text>,
    /// The same as `url`, as Windsurf writes it.
    #[serde(rename = "serverUrl")]
    server_url: Option<Text>,
    /// The same as `url`, as Gemini writes it.
    #[serde(rename = "httpUrl")]
    http_url: Option<Text>,
    /// Headers sent with every request.
    headers: BTreeMap<String, Hidden>,
    /// How long one call may take, in seconds.
    #[schemars(range(min = 0.001, max = 3600))]
    timeout: Option<f64>,
    /// Keeps the entry but not its tools.
    disabled: Option<bool>,
    /// Never these tools.
    #[serde(rename = "disabledTools")]
    disabled_tools: Option<Vec<Text>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum McpKind {
    Stdio,
    Sse,
    Http,
    StreamableHttp,
    #[serde(rename = "streamableHttp")]
    StreamableHttpCamel,
    #[serde(rename = "streamable_http")]
    StreamableHttpSnake,
}

impl McpServer {
    pub(super) fn into_entry(self) -> Entry {
        let url = self.url.or(self.server_url).or(self.http_url);
        let kind = self.kind.or(self.transport).map(McpKind::kind);
        let remote = match kind {
            Some(kind) => kind != Kind::Stdio,
            None => self.command.is_none() && url.is_some(),
        };
        Entry {
            kind,
            command: self.command,
            // Clients write empty `args` and `env` beside a `url`, and empty `headers` beside a
            // `command`; only what says something is held against the kind.
            args: (!remote || !self.args.is_empty()).then_some(self.args),
            env: (!remote || !self.env.is_empty()).then_some(self.env),
            env_file: self.env_file,
            cwd: self.cwd,
            url,
            headers: (remote || !self.headers.is_empty()).then_some(self.headers),
            timeout_ms: self.timeout.map(millis),
            enabled: self.disabled.map(|disabled| !disabled),
            exclude: self.disabled_tools,
            ..Entry::default()
        }
    }
}

impl McpKind {
    const fn kind(self) -> Kind {
        match self {
            Self::Stdio => Kind::Stdio,
            Self::Sse => Kind::Sse,
            Self::Http
            | Self::StreamableHttp
            | Self::StreamableHttpCamel
            | Self::StreamableHttpSnake => Kind::Http,
        }
    }
}

/// A name an upstream may have, made from one it may not.
pub(super) fn usable_name(name: &str) -> String {
    let allowed = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
    let clean = name.chars().map(|char| if allowed(char) { char } else { '-' }).collect::<String>();
    let clean = clean.trim_start_matches(|char: char| !char.is_ascii_alphanumeric());
    clean.trim_end_matches('-').chars().take(super::check::NAME_CHARS_MAX).collect()
}

/// Takes out of a client's own file what is about that client, and says so. A key that looks like one
/// of ours misspelled stays, to be complained about.
pub(super) fn without_the_clients_own(root: &mut Node, known: &[&str]) -> Vec<String> {
    let is_ours = root.get("upstreams").is_some();
    let is_theirs = root.get("mcpServers").or_else(|| root.get("servers")).is_some();
    let Data::Map(pairs) = &mut root.data else { return Vec::new() };
    if is_ours || !is_theirs {
        return Vec::new();
    }
    let mut notes = Vec::new();
    pairs.retain(|(key, value)| {
        // VS Code writes an empty list where nothing is asked for.
        if key.text == "inputs" {
            return !matches!(&value.data, Data::List(items) if items.is_empty());
        }
        let kept = known.contains(&key.text.as_str()) || nearest(&key.text, known).is_some();
        if !kept {
            let line = key.at.line;
            notes.push(format!("line {line}: `{}` is not used: it is the client's own", key.text));
        }
        kept
    });
    notes
}

/// What an editor puts into its file for places: the folder of the project, and the person's own.
pub(super) fn place(name: &str, file: &Path, env: Env<'_>) -> Option<String> {
    let folder = || {
        let folder = std::path::absolute(file.parent()?).ok()?;
        let inner = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if inner { folder.parent().map(Path::to_owned) } else { Some(folder) }
    };
    match name {
        "workspaceFolder" => folder().map(|folder| folder.display().to_string()),
        "workspaceFolderBasename" => {
            folder()?.file_name().map(|name| name.to_string_lossy().into_owned())
        }
        "userHome" => env("HOME").or_else(|| env("USERPROFILE")),
        "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
        _ => None,
    }
}

/// What is said about the keys of one server that have no use here.
pub(super) fn notes<'a>(name: &'a str, server: &'a Node) -> impl Iterator<Item = String> + 'a {
    server.pairs().iter().filter_map(move |(key, _)| {
        let (_, why) = UNUSED.iter().find(|(unused, _)| *unused == key.text)?;
        Some(format!("line {}: `{}` of `{name}` is not used: {why}", key.at.line, key.text))
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the schema bounds it to an hour, and a cast saturates"
)]
fn millis(seconds: f64) -> u64 {
    ((seconds * 1000.0).round() as u64).max(1)
}

/// Names the unused keys in the schema, so that every other unknown key can be refused.
fn close(schema: &mut Schema) {
    if let Some(properties) = schema.get_mut("properties").and_then(|known| known.as_object_mut()) {
        for (key, why) in UNUSED {
            let unused = json!({"description": format!("Taken but not used: {why}.")});
            properties.insert((*key).to_owned(), unused);
        }
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
}
