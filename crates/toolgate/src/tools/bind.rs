//! Servers that a program has at hand: a session of its own, or a program to start. They are bound to
//! grants once, and every call after that is held against them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use catalog::Naming;
use gateway::{Gateway, Parts, Settings};
use manifest::AdapterManifest;
use model::{Answer, Caller, Clock, Code, Fault, Grant, Principal, UpstreamName};
use policy::{Permit, Rules};
use serde_json::Value;
use store::Store;
use upstream::stdio::{self, Stdio};
use upstream::{Connector, Errand, Member, Upstreams};

use super::{Client, ToolError};

/// The family of every tool of a bound server, whatever its name or its manifest says (C2).
const NAMESPACE: &str = "mcp";

/// A live connection to a server. It is used as it is: nothing is opened and nothing closed.
#[async_trait]
pub trait Connection: Send + Sync {
    fn name(&self) -> &str;

    /// The definitions, in the shape of MCP.
    async fn list_tools(&self) -> Result<Vec<Value>, Fault>;

    /// The result of one call, in the shape of MCP.
    async fn call_tool(&self, tool: &str, arguments: Value) -> Result<Value, Fault>;
}

/// A server to bind.
#[derive(Debug)]
pub struct Server {
    name: String,
    connector: Arc<dyn Connector>,
    manifest: Option<Arc<AdapterManifest>>,
}

impl Server {
    /// One that is connected already.
    pub fn session(connection: Arc<dyn Connection>) -> Self {
        let name = connection.name().to_owned();
        Self { name, connector: Arc::new(Session(connection)), manifest: None }
    }

    /// One that is started when it is bound, and speaks over its standard input and output.
    pub fn launch(name: &str, config: stdio::Config) -> Self {
        Self { name: name.to_owned(), connector: Arc::new(Stdio::new(config)), manifest: None }
    }

    /// What its tools require, by name, and all else that a manifest says.
    pub fn declared(self, manifest: &Value) -> Result<Self, ToolError> {
        let read = manifest::from_value(manifest.clone());
        let read = read.map_err(|error| Fault::new(Code::ArgsInvalid, error.to_string()))?;
        let manifest = AdapterManifest { domain: None, ..read };
        Ok(Self { manifest: Some(Arc::new(manifest)), ..self })
    }
}

impl Client {
    /// Binds one server to these grants (`name` or `name:scope`). Its tools are then called without
    /// being given any again. What is recorded goes into the folder `data`.
    pub async fn bind(server: Server, grants: &[&str], data: &Path) -> Result<Self, ToolError> {
        let name = UpstreamName::from_string(server.name.as_str());
        let opened = Store::open(&store::Config::folder(data), Clock::System).await;
        let store = opened.map_err(|e| Fault::new(Code::StoreUnavailable, e.to_string()))?;
        let gateway = Gateway::new(Parts {
            upstreams: Upstreams::new([(name.clone(), Member::new(server.connector))]),
            manifests: server
                .manifest
                .into_iter()
                .map(|manifest| (name.clone(), manifest))
                .collect(),
            namespaces: BTreeMap::from([(name.clone(), NAMESPACE.to_owned())]),
            naming: Naming::Auto,
            rules: Rules::permit_all(),
            store,
            clock: Clock::System,
            settings: Settings::default(),
        });
        let refreshed = Box::pin(gateway.refresh()).await;
        if let Some((_, fault)) = refreshed.failures.into_iter().next() {
            let message = format!("server `{name}`: {}", fault.message);
            return Err(Fault { message, ..fault }.into());
        }
        let caller = Caller { grants: read(grants), ..Caller::new(Principal::user("local")) };
        Ok(Self::over(Arc::new(gateway), None, caller))
    }
}

pub(super) fn read(grants: &[&str]) -> Vec<Grant> {
    grants.iter().map(|grant| Grant::read(grant)).collect()
}

/// A connection, as the gate wants its upstreams.
struct Session(Arc<dyn Connection>);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.0.name()).finish()
    }
}

#[async_trait]
impl Connector for Session {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        self.0.list_tools().await
    }

    async fn call(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        let result = self.0.call_tool(permit.tool(), permit.arguments().clone()).await?;
        Answer::read(result).map_err(|why| {
            Fault::new(Code::UpstreamError, "the server's answer is not a tool result").logging(why)
        })
    }
}
