//! MCP servers that are child processes: started on first use, shared by all calls.
//!
//! Era detection, restart with backoff and idle stop belong to a later issue; a child that dies is
//! started again by the next call.

mod child;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use model::{Answer, Fault, Secret};
use policy::Permit;
use protocol::peer;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::connector::Connector;
use crate::errand::Errand;
use crate::pages::Pages;
use crate::stdio::child::Child;

/// How to start the child.
#[derive(Clone, Debug)]
pub struct Config {
    pub command: String,
    pub args: Vec<String>,
    /// Added to a short list of harmless variables; nothing else of our environment is passed on.
    pub env: BTreeMap<String, Secret>,
    pub cwd: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Stdio {
    config: Config,
    child: Mutex<Option<Arc<Child>>>,
}

impl Stdio {
    pub fn new(config: Config) -> Self {
        Self { config, child: Mutex::new(None) }
    }

    /// The running child, started and introduced if need be.
    async fn child(&self) -> Result<Arc<Child>, Fault> {
        let mut slot = self.child.lock().await;
        if let Some(child) = slot.as_ref().filter(|child| child.is_alive()) {
            return Ok(Arc::clone(child));
        }
        let child = Arc::new(Child::start(&self.config)?);
        introduce(&child).await?;
        *slot = Some(Arc::clone(&child));
        Ok(child)
    }
}

#[async_trait]
impl Connector for Stdio {
    fn protocol(&self) -> &'static str {
        "mcp"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        let child = self.child().await?;
        let mut pages = Pages::new();
        while let Some(cursor) = pages.wanted() {
            pages.take(child.ask(None, |id| peer::tools_list(id, cursor.as_deref())).await?)?;
        }
        Ok(pages.tools)
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let child = self.child().await?;
        let news = errand.news.clone();
        let report = news.is_some();
        let frame = |id| peer::tools_call(id, permit.tool(), permit.arguments(), report);
        peer::call_answer(child.ask(news, frame).await?)
    }

    async fn close(&self) {
        if let Some(child) = self.child.lock().await.take() {
            child.stop().await;
        }
    }
}

async fn introduce(child: &Child) -> Result<(), Fault> {
    child.ask(None, peer::initialize).await?;
    child.tell(peer::initialized())
}
