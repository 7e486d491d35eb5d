//! Tools that are functions of this process: the built-in demo, and what library users bring.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use model::{Answer, Code, Fault};
use policy::Permit;
use serde_json::Value;

use crate::connector::Connector;
use crate::demo::Demo;
use crate::errand::Errand;

type Work = Pin<Box<dyn Future<Output = Result<Answer, Fault>> + Send>>;
type Body = Arc<dyn Fn(Value, Errand) -> Work + Send + Sync>;

/// A set of functions offered as tools.
#[derive(Clone, Default)]
pub struct Functions {
    tools: BTreeMap<String, (Value, Body)>,
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

impl Functions {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool: its definition in the shape of MCP, and what to do.
    #[must_use]
    pub fn tool<F, W>(mut self, definition: Value, body: F) -> Self
    where
        F: Fn(Value, Errand) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Answer, Fault>> + Send + 'static,
    {
        let name = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let body: Body = Arc::new(move |args, errand| Box::pin(body(args, errand)));
        self.tools.insert(name, (definition, body));
        self
    }
}

#[async_trait]
impl Connector for Functions {
    fn protocol(&self) -> &'static str {
        "function"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(self.tools.values().map(|(definition, _)| definition.clone()).collect())
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        match self.tools.get(permit.tool()) {
            Some((_, body)) => body(permit.arguments().clone(), errand.clone()).await,
            None => Err(Fault::new(Code::ToolNotFound, "no such function").at(permit.tool())),
        }
    }
}

#[async_trait]
impl Connector for Demo {
    fn protocol(&self) -> &'static str {
        "function"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(Self::definitions())
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        Self::call(self, permit.tool(), permit.arguments(), errand).await
    }
}
