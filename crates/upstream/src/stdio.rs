//! MCP servers that are child processes: started on first use, shared by all calls.
//!
//! Restart with backoff and idle stop belong to a later issue; a child that dies is started again
//! by the next call.

mod child;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use async_trait::async_trait;
use model::{Fault, Secret};
use protocol::{Revision, jsonrpc, peer};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::connector::Bell;
use crate::mcp::{Age, Asking, Greeting, Mcp, Reply, Wire, wish};
use crate::stdio::child::Child;

/// How to start the child.
#[derive(Clone, Debug)]
pub struct Config {
    pub command: String,
    pub args: Vec<String>,
    /// Added to a short list of harmless variables; nothing else of our environment is passed on.
    pub env: BTreeMap<String, Secret>,
    pub cwd: Option<PathBuf>,
    pub age: Age,
}

/// A server that is a child of ours.
pub type Stdio = Mcp<Pipe>;

#[derive(Debug)]
pub struct Pipe {
    config: Config,
    open: Mutex<Option<Arc<Conversation>>>,
    bell: StdMutex<Option<Bell>>,
    /// Resources somebody wants news of.
    followed: StdMutex<BTreeSet<String>>,
}

#[derive(Debug)]
struct Conversation {
    child: Child,
    greeting: Arc<Greeting>,
}

impl Stdio {
    pub fn new(config: Config) -> Self {
        Self::over(Pipe {
            config,
            open: Mutex::new(None),
            bell: StdMutex::new(None),
            followed: StdMutex::default(),
        })
    }
}

impl Pipe {
    /// The running child, started and introduced if need be.
    async fn conversation(&self) -> Result<Arc<Conversation>, Fault> {
        let mut slot = self.open.lock().await;
        if let Some(open) = slot.as_ref().filter(|open| open.child.is_alive()) {
            return Ok(Arc::clone(open));
        }
        let bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let child = Child::start(&self.config, bell)?;
        let greeting = Arc::new(introduce(&child, self.config.age).await?);
        let opened = Arc::new(Conversation { child, greeting });
        *slot = Some(Arc::clone(&opened));
        if opened.greeting.revision.is_modern() {
            self.listen(&opened);
        }
        Ok(opened)
    }

    /// 2026-07-28: one request that is answered by news for as long as the child lives.
    fn listen(&self, open: &Arc<Conversation>) {
        let uris: Vec<String> =
            self.followed.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        let open = Arc::clone(open);
        tokio::spawn(async move {
            let asking = wish(&open.greeting, &uris);
            let listen = |id| asking.frame(id, open.greeting.revision);
            if let Err(fault) = open.child.ask(None, listen).await {
                tracing::debug!(%fault, "an upstream tells of no changes");
            }
        });
    }
}

#[async_trait]
impl Wire for Pipe {
    async fn greet(&self) -> Result<Arc<Greeting>, Fault> {
        Ok(Arc::clone(&self.conversation().await?.greeting))
    }

    async fn ask(&self, asking: Asking<'_>) -> Result<Reply, Fault> {
        let open = self.conversation().await?;
        let revision = open.greeting.revision;
        open.child.ask(asking.errand, |id| asking.frame(id, revision)).await
    }

    async fn follow(&self, uri: &str, wanted: bool) -> Result<(), Fault> {
        let open = self.conversation().await?;
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let changed = if wanted { followed.insert(uri.to_owned()) } else { followed.remove(uri) };
        if !changed {
            return Ok(());
        }
        if !open.greeting.revision.is_modern() {
            let method = if wanted { "resources/subscribe" } else { "resources/unsubscribe" };
            let params = Map::from_iter([("uri".to_owned(), uri.into())]);
            self.ask(Asking::own(method, params)).await?;
        }
        *self.followed.lock().unwrap_or_else(PoisonError::into_inner) = followed;
        if open.greeting.revision.is_modern() {
            self.listen(&open);
        }
        Ok(())
    }

    fn attach(&self, bell: Bell) {
        *self.bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
    }

    async fn close(&self) {
        if let Some(open) = self.open.lock().await.take() {
            open.child.stop().await;
        }
    }
}

/// One age for the life of a child: some servers hold on to the first they hear.
async fn introduce(child: &Child, age: Age) -> Result<Greeting, Fault> {
    match age {
        Age::Pinned(revision) if revision.is_modern() => discover(child).await,
        Age::Pinned(revision) => initialize(child, revision).await,
        Age::Auto => match initialize(child, Revision::NEWEST_LEGACY).await {
            Err(fault) if is_too_modern(&fault) => discover(child).await,
            introduced => introduced,
        },
    }
}

async fn initialize(child: &Child, revision: Revision) -> Result<Greeting, Fault> {
    let result = child.ask(None, |id| peer::initialize(id, revision)).await?.value;
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let revision = version.parse().unwrap_or(Revision::V2024_11_05);
    child.tell(peer::initialized())?;
    Ok(Greeting::read(revision, &result))
}

async fn discover(child: &Child) -> Result<Greeting, Fault> {
    let revision = Revision::V2026_07_28;
    let asking = Asking::own("server/discover", Map::new());
    let result = child.ask(None, |id| asking.frame(id, revision)).await?.value;
    Ok(Greeting::read(revision, &result))
}

fn is_too_modern(fault: &Fault) -> bool {
    fault.upstream.as_ref().is_some_and(|error| {
        matches!(error.code, jsonrpc::UNSUPPORTED_VERSION | jsonrpc::METHOD_NOT_FOUND)
    })
}
