//! `toolgate init`: the entry that makes a client use this gate, printed, or written where the
//! client looks for it.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::config::FILE_DEFAULT;

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The client
    #[arg(long, value_name = "NAME")]
    pub client: Client,
    /// The address of a running gate; else the client starts one of its own
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Add the entry to the client's file instead of printing it
    #[arg(long)]
    pub write: bool,
}

/// Clients whose files we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// `.mcp.json` in the current folder, for everybody who works in it
    ClaudeCode,
    /// `claude_desktop_config.json` of the user
    ClaudeDesktop,
    /// `.vscode/mcp.json` in the current folder
    Vscode,
}

pub(super) fn run(context: &Context, args: &InitArgs) -> Result<(), CliError> {
    let config = context.config_file().or_else(|| beside(args.client));
    let entry = entry(args.client, args.url.as_deref(), config.as_deref())?;
    let path = path(args.client)?;
    if !args.write {
        context.out.json(&file(args.client, Map::new(), entry).unwrap_or_default())?;
        context.out.note(&format!("this belongs into `{}`; --write adds it there", path.display()));
        return Ok(());
    }
    let kept = read(&path)?;
    let merged = file(args.client, kept, entry)
        .ok_or_else(|| unfit(&path, &format!("its `{}` is no JSON object", args.client.key())))?;
    let text = serde_json::to_string_pretty(&merged)
        .map_err(|error| CliError::new(Exit::Failure, error.to_string()))?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&path, text + "\n")?;
    context.out.line(&format!("`{}` now names toolgate", path.display()))
}

/// The file of this folder, for a client that starts its programs in another one. The others start
/// them in the folder whose file this is, and that file may be shared.
fn beside(client: Client) -> Option<PathBuf> {
    let file = Path::new(FILE_DEFAULT);
    (client == Client::ClaudeDesktop && file.exists()).then(|| std::path::absolute(file).ok())?
}

/// What the client needs to know of us.
fn entry(client: Client, url: Option<&str>, config: Option<&Path>) -> Result<Value, CliError> {
    match (url, client) {
        (Some(_), Client::ClaudeDesktop) => {
            let message = "Claude Desktop's file only knows programs that it starts";
            Err(CliError::usage(message).hint("leave out --url"))
        }
        (Some(url), _) => Ok(json!({"type": "http", "url": url})),
        (None, client) => {
            let config = config.map(|path| vec!["--config".into(), path.display().to_string()]);
            let args: Vec<String> =
                std::iter::once("serve".to_owned()).chain(config.into_iter().flatten()).collect();
            Ok(match client {
                Client::Vscode => json!({"type": "stdio", "command": "toolgate", "args": args}),
                _ => json!({"command": "toolgate", "args": args}),
            })
        }
    }
}

impl Client {
    /// Under which its file names servers.
    const fn key(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::ClaudeCode | Self::ClaudeDesktop => "mcpServers",
        }
    }
}

/// The client's file with our entry in it; everything else stays. Nothing, if what it has in the
/// place of servers is something else.
fn file(client: Client, mut kept: Map<String, Value>, entry: Value) -> Option<Value> {
    let servers = kept.entry(client.key()).or_insert_with(|| json!({}));
    servers.as_object_mut()?.insert("toolgate".to_owned(), entry);
    Some(Value::Object(kept))
}

fn path(client: Client) -> Result<PathBuf, CliError> {
    Ok(match client {
        Client::ClaudeCode => PathBuf::from(".mcp.json"),
        Client::Vscode => PathBuf::from(".vscode/mcp.json"),
        Client::ClaudeDesktop => desktop()?.join("Claude/claude_desktop_config.json"),
    })
}

fn desktop() -> Result<PathBuf, CliError> {
    use etcetera::BaseStrategy as _;
    let strategy = etcetera::base_strategy::choose_native_strategy();
    let strategy = strategy
        .map_err(|error| CliError::new(Exit::Config, format!("no home folder: {error}")))?;
    let folder = strategy.config_dir();
    // Where the strategy for Apple keeps preferences, Claude keeps nothing.
    if cfg!(target_os = "macos") {
        return Ok(strategy.home_dir().join("Library/Application Support"));
    }
    Ok(folder)
}

fn read(path: &Path) -> Result<Map<String, Value>, CliError> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        text => text?,
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(kept)) => Ok(kept),
        Ok(_) => Err(unfit(path, "it is no JSON object")),
        Err(error) => Err(unfit(path, &error.to_string())),
    }
}

fn unfit(path: &Path, why: &str) -> CliError {
    CliError::new(Exit::Config, format!("`{}` is left alone: {why}", path.display()))
        .hint("add the entry by hand; without --write it is printed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HTTP_PORT_DEFAULT;

    /// CW-95, CW-96, CW-97: each client gets its own form.
    #[test]
    fn each_client_gets_the_form_it_reads() {
        let check = |client, url: Option<&str>, expected: Value| {
            let entry = entry(client, url, Some(Path::new("/a/t.yaml"))).unwrap();
            assert_eq!(file(client, Map::new(), entry), Some(expected));
        };
        let url = format!("http://127.0.0.1:{HTTP_PORT_DEFAULT}/mcp");
        let started = json!({"command": "toolgate", "args": ["serve", "--config", "/a/t.yaml"]});
        check(Client::ClaudeDesktop, None, json!({"mcpServers": {"toolgate": started}}));
        check(
            Client::ClaudeCode,
            Some(&url),
            json!({"mcpServers": {"toolgate": {"type": "http", "url": "http://127.0.0.1:8642/mcp"}}}),
        );
        check(
            Client::Vscode,
            None,
            json!({"servers": {"toolgate": {"command": "toolgate", "args": ["serve", "--config", "/a/t.yaml"], "type": "stdio"}}}),
        );
        assert!(entry(Client::ClaudeDesktop, Some(&url), None).is_err());
    }

    #[test]
    fn what_the_file_held_before_stays() {
        let kept = json!({"inputs": [], "mcpServers": {"other": {"command": "x"}}});
        let merged = file(Client::ClaudeCode, kept.as_object().cloned().unwrap(), json!({"a": 1}));
        let expected =
            json!({"inputs": [], "mcpServers": {"other": {"command": "x"}, "toolgate": {"a": 1}}});
        assert_eq!(merged, Some(expected));
    }
}
