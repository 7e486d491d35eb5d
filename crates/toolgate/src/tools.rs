//! Tools for a Rust program: load the servers of an `mcp.json`, filter, list and call. Every call goes
//! down the same road as an agent's, and a server that changes its list is asked for it again.
//!
//! ```
//! # use serde_json::json;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let file = home.path().join("mcp.json");
//! # std::fs::write(home.path().join("t.json"), r#"[{"name": "search"}, {"name": "dangerous_tool"}]"#)?;
//! # std::fs::write(&file, r#"{"catalog": "t.json"}"#)?;
//! use toolgate::tools::{Client, Filter, Output};
//!
//! let client = Client::load(&file, &home.path().join("data")).await?;
//! let filter = Filter { exclude: vec!["dangerous_tool".into()], ..Filter::default() };
//! let tools = client.tools(&filter);
//! for tool in &tools {
//!     println!("{}: {}", tool.name, tool.description);
//! }
//! let answer = tools[0].execute(json!({"query": "mcp"})).await?;
//! # assert_eq!(tools.len(), 1);
//! # assert!(matches!(answer, Output::Object(_)));
//! client.close().await;
//! # Ok(()) }
//! ```

mod bind;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use catalog::Entry;
use gateway::{CallRequest, Gateway, Watch};
use model::{Answer, Caller, Code, Fault, Principal};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

pub use catalog::names::parse_wire_name;
pub use model::tool_error::{McpToolError, ToolError};
pub use upstream::Filter;
pub use upstream::stdio::Config as Launch;

pub use self::bind::{Connection, Server};

use crate::assemble::{self, Gate};
use crate::config::{Config, StartupMode, Transport};

/// How long running calls may go on when a client closes.
const CLOSE: Duration = Duration::from_secs(5);

/// All servers of a configuration, connected.
#[derive(Debug)]
pub struct Client {
    gateway: Arc<Gateway>,
    /// What a configured gate keeps beside; a bound server needs none of it.
    _gate: Option<Gate>,
    caller: Caller,
    /// Takes in what servers tell, as `toolgate up` does. Ends with the client.
    watching: AbortOnDropHandle<()>,
}

impl Client {
    /// Connects every server of the file; one that fails fails the whole (OR-33). What is recorded
    /// goes into the folder `data`, which is this client's alone.
    pub async fn load(file: &Path, data: &Path) -> Result<Self, ToolError> {
        let env = |name: &str| std::env::var(name).ok();
        let mut config = Config::load(Some(file), &env)
            .map_err(|error| Fault::new(Code::ArgsInvalid, error.to_string()))?
            .config;
        config.startup.mode = StartupMode::Strict;
        Self::of(&config, data, Caller::new(Principal::user("local"))).await
    }

    /// The same for a configuration at hand, and for somebody else.
    pub async fn of(config: &Config, data: &Path, caller: Caller) -> Result<Self, ToolError> {
        let gate = assemble::gate(config, Transport::Stdio, data, "library").await;
        let gate = gate.map_err(|error| Fault::new(Code::UpstreamUnavailable, error.message))?;
        Ok(Self::over(Arc::clone(&gate.gateway), Some(gate), caller))
    }

    fn over(gateway: Arc<Gateway>, gate: Option<Gate>, caller: Caller) -> Self {
        let watched = Arc::clone(&gateway);
        let watching = AbortOnDropHandle::new(tokio::spawn(async move { watched.watch().await }));
        Self { gateway, _gate: gate, caller, watching }
    }

    /// The servers, in the order of their names.
    pub fn server_names(&self) -> Vec<String> {
        let catalogue = self.gateway.catalogue();
        let mut names: Vec<String> =
            catalogue.entries().iter().map(|e| e.item.key.upstream.to_string()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The tools of every server that the filter accepts.
    pub fn tools(&self, filter: &Filter) -> Vec<BoundTool> {
        let catalogue = self.gateway.catalogue();
        let wanted = catalogue
            .entries()
            .iter()
            .filter(|entry| entry.quarantined().is_none() && filter.accepts(&entry.item.name));
        wanted.map(|entry| self.bound(entry)).collect()
    }

    /// The tools of one server.
    pub fn tools_of(&self, server: &str, filter: &Filter) -> Result<Vec<BoundTool>, ToolError> {
        if !self.server_names().iter().any(|name| name == server) {
            let message = format!("no server is called `{}`", model::fault::one_line(server, 80));
            return Err(Fault::new(Code::UpstreamUnavailable, message).into());
        }
        Ok(self.tools(filter).into_iter().filter(|tool| tool.server_name == server).collect())
    }

    /// The same under another prefix than `mcp`: `namespace__server__tool`.
    pub fn tools_as(
        &self,
        namespace: &str,
        server: &str,
        filter: &Filter,
    ) -> Result<Vec<BoundTool>, ToolError> {
        let renamed = |tool: BoundTool| BoundTool {
            name: namespace_name(&tool.original_name, &tool.server_name, namespace),
            ..tool
        };
        Ok(self.tools_of(server, filter)?.into_iter().map(renamed).collect())
    }

    /// Lets running calls finish, for a while, and ends what was opened.
    pub async fn close(self) {
        self.gateway.close(CLOSE).await;
        if let Err(error) = self.watching.await {
            tracing::error!(%error, "looking after servers broke off");
        }
    }

    /// Calls a tool by any of its names, under the client's grants or under these in their place; its
    /// result as an object.
    pub async fn call(
        &self,
        tool: &str,
        args: Value,
        grants: Option<&[&str]>,
    ) -> Result<Value, ToolError> {
        let caller = match grants {
            None => self.caller.clone(),
            Some(grants) => Caller { grants: bind::read(grants), ..self.caller.clone() },
        };
        let answer = answer(&self.gateway, caller, tool, args).await?;
        Ok(match answer.structured {
            Some(object @ Value::Object(_)) => object,
            _ => json!({"content": answer.content}),
        })
    }

    fn bound(&self, entry: &Arc<Entry>) -> BoundTool {
        let item = &entry.item;
        BoundTool {
            name: item.ids.wire.clone(),
            description: match item.description.as_str() {
                "" => format!("MCP tool: {}", item.name),
                description => description.to_owned(),
            },
            parameters: extract_schema(&entry.definition()),
            output_schema: entry.definition().get("outputSchema").cloned(),
            original_name: item.name.clone(),
            server_name: item.key.upstream.to_string(),
            namespace: item.namespace.clone(),
            id: item.ids.wire.clone(),
            gateway: Arc::clone(&self.gateway),
            caller: self.caller.clone(),
        }
    }
}

/// One tool of one server, ready to be called by whoever loaded it.
#[derive(Clone, Debug)]
pub struct BoundTool {
    /// `mcp__server__tool`, or with another prefix.
    pub name: String,
    pub description: String,
    pub parameters: Value,
    /// What its structured answers look like, if it says.
    pub output_schema: Option<Value>,
    /// As its server calls it.
    pub original_name: String,
    pub server_name: String,
    /// The family it is shown under.
    pub namespace: String,
    /// By which the gate knows it, whatever its name here.
    id: String,
    gateway: Arc<Gateway>,
    caller: Caller,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    Text(String),
    /// It answered with structured content.
    Object(Value),
}

impl BoundTool {
    /// Calls the tool. What it flags as an error is one here.
    pub async fn execute(&self, args: Value) -> Result<Output, ToolError> {
        let answer = answer(&self.gateway, self.caller.clone(), &self.id, args);
        let answer = answer.await.map_err(|error| match error {
            ToolError::Mcp(mcp) => McpToolError { tool: self.original_name.clone(), ..mcp }.into(),
            fault @ ToolError::Fault(_) => fault,
        })?;
        let text = answer.full_text();
        Ok(answer.structured.map_or(Output::Text(text), Output::Object))
    }
}

async fn answer(
    gateway: &Gateway,
    caller: Caller,
    tool: &str,
    args: Value,
) -> Result<Answer, ToolError> {
    let args = if args.is_null() { json!({}) } else { args };
    let request = CallRequest::new(caller, tool, args);
    let done = Box::pin(gateway.call(request, Watch::default())).await;
    match done.fault {
        Some(fault) => Err(fault.into()),
        None => done.cleared.into_inner().into_result(tool),
    }
}

/// The parameters of a tool definition; an object without any where it has none.
pub fn extract_schema(definition: &Value) -> Value {
    let schema = definition.get("inputSchema").filter(|schema| schema.is_object());
    schema.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}))
}

/// `namespace__server__tool`, with every other character replaced by `_`.
pub fn namespace_name(tool: &str, server: &str, namespace: &str) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    };
    format!("{namespace}__{}__{}", plain(server), plain(tool))
}

#[cfg(test)]
mod tests;
