//! MCP servers, whatever carries their messages: what the gate asks of them and in which words.
//!
//! A [`Wire`] carries messages; this file knows which to send. Pipes and sockets are elsewhere.

mod logging;
mod offer;
mod rounds;
pub(crate) mod talk;
mod tasks;
mod visit;
mod wire;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use model::call::ServerLineage;
use model::{Answer, Code, Fault, Listed, LogLevel, Method};
use policy::Permit;
use protocol::headers::{self, Mirrored};
use protocol::jsonrpc;
use serde_json::{Map, Value};

use self::logging::Logging;
pub(crate) use self::wire::{Asking, Greeting, Reply, offered, subscriptions, wish};
pub use self::wire::{Followed, Wire};
use crate::connector::{Bell, Connector, Offer};
use crate::errand::Errand;
pub use protocol::Revision;

/// How an upstream is to be spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Age {
    /// As it answers.
    #[default]
    Auto,
    Pinned(Revision),
}

/// One MCP server over a wire of its own.
#[derive(Debug)]
pub struct Mcp<W> {
    wire: Arc<W>,
    /// Arguments that go into headers too, by tool, as last listed.
    mirrored: RwLock<BTreeMap<String, Vec<Mirrored>>>,
    /// Tools that are called as tasks or not at all, as last listed.
    only_tasks: RwLock<BTreeSet<String>>,
    /// Who it said it is when it was last asked for its tools.
    introduced: RwLock<Option<Arc<ServerLineage>>>,
    /// What tasks of 2025-11-25 wait for.
    inputs: tasks::Inputs,
    logging: Logging,
}

impl<W: Wire> Mcp<W> {
    pub(crate) fn over(wire: W) -> Self {
        Self {
            wire: Arc::new(wire),
            mirrored: RwLock::default(),
            only_tasks: RwLock::default(),
            introduced: RwLock::default(),
            inputs: tasks::Inputs::default(),
            logging: Logging::default(),
        }
    }

    fn asking<'a>(&self, permit: &'a Permit, errand: &'a Errand) -> Asking<'a> {
        Asking {
            method: "tools/call",
            name: Some(permit.tool()),
            params: tasks::without_wish(permit.params(), errand),
            arguments: Some(permit.arguments()),
            errand: Some(errand),
            headers: self.headers(permit),
            written: permit.written(),
        }
    }

    async fn settle(&self, permit: &Permit, errand: &Errand) -> Result<Reply, Fault> {
        let asking = self.asking(permit, errand);
        if asking.params.contains_key(tasks::WISH) || self.is_only_a_task(permit.tool()) {
            return tasks::call(&self.wire, asking, errand).await;
        }
        match rounds::settle(self.wire.as_ref(), asking).await {
            Err(fault) if tasks::stand_in(&fault, errand) => {
                tasks::in_its_place(&self.wire, self.asking(permit, errand), errand).await
            }
            Ok(reply) if tasks::is_unasked(&reply, errand) => {
                tasks::finish_unasked(&self.wire, &reply, errand).await
            }
            settled => settled,
        }
    }

    fn is_only_a_task(&self, tool: &str) -> bool {
        self.only_tasks.read().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }

    /// Keeps which tools of 2025-11-25 want to be tasks.
    fn note_tasks(&self, tools: &[Value]) {
        let required = |tool: &&Value| {
            tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required")
        };
        let names = tools.iter().filter(required).filter_map(|tool| tool.get("name")?.as_str());
        let names = names.map(str::to_owned).collect();
        *self.only_tasks.write().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The headers a call of this tool needs, over wires that have headers.
    fn headers(&self, permit: &Permit) -> Vec<(String, String)> {
        let known = self.mirrored.read().unwrap_or_else(PoisonError::into_inner);
        let wanted = known.get(permit.tool()).map(Vec::as_slice).unwrap_or_default();
        let header = |mirrored: &Mirrored| {
            let value = headers::value_at(permit.arguments(), &mirrored.path)?;
            Some((mirrored.header.clone(), headers::encode(&value)))
        };
        wanted.iter().filter_map(header).collect()
    }

    /// Leaves out tools whose annotations a client must not follow, and keeps the others'.
    fn note_headers(&self, tools: &mut Vec<Value>) {
        let mut noted = BTreeMap::new();
        tools.retain(|tool| {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
            match headers::mirrored(schema) {
                Ok(wanted) => {
                    if !wanted.is_empty() {
                        noted.insert(name.to_owned(), wanted);
                    }
                    true
                }
                Err(why) => {
                    tracing::warn!(tool.name = name, why, "a tool is left out");
                    false
                }
            }
        });
        *self.mirrored.write().unwrap_or_else(PoisonError::into_inner) = noted;
    }
}

#[async_trait]
impl<W: Wire> Connector for Mcp<W> {
    fn protocol(&self) -> &'static str {
        "mcp"
    }

    fn endpoint_host(&self) -> Option<&str> {
        self.wire.host()
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(self.offer().await?.tools)
    }

    async fn offer(&self) -> Result<Offer, Fault> {
        let greeting = self.wire.greet().await?;
        let mut offer = offer::offer(self.wire.as_ref(), &greeting).await?;
        *self.introduced.write().unwrap_or_else(PoisonError::into_inner) =
            Some(Arc::new(greeting.lineage()));
        offer.speaks = Some(greeting.revision.as_str().to_owned());
        if !greeting.revision.is_modern() {
            self.note_tasks(&offer.tools);
        } else if self.wire.host().is_some() {
            self.note_headers(&mut offer.tools);
        }
        Ok(offer)
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        if let Some(level) = errand.client.log_level {
            self.logging.wish(self.wire.as_ref(), level).await;
        }
        let Reply { value, written } = self.settle(permit, errand).await?;
        let answer = Answer::read(value).map_err(|why| {
            Fault::new(Code::UpstreamError, "the upstream's answer is not a tool result")
                .logging(why)
        })?;
        Ok(Answer { written: written.map(Into::into), ..answer })
    }

    async fn ask(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        let (method, params) = (permit.method(), permit.params());
        let bridged = tasks::ask(&self.wire, &self.inputs, method, params, errand).await;
        if let Some(told) = bridged {
            return told.map(Answer::bare);
        }
        let params = permit.params();
        let name = match permit.method() {
            Method::ReadResource => params.get("uri"),
            Method::GetPrompt => params.get("name"),
            Method::Task(_) => params.get("taskId"),
            Method::CallTool | Method::Complete(_) | Method::Other(_) => None,
        };
        let name = name.and_then(Value::as_str).map(str::to_owned);
        let asking = Asking {
            method: permit.method().as_str(),
            name: name.as_deref(),
            params: Cow::Borrowed(params),
            arguments: None,
            errand: Some(errand),
            headers: Vec::new(),
            written: permit.written().filter(|_| matches!(permit.method(), Method::Other(_))),
        };
        let modern = self.wire.revision().is_some_and(Revision::is_modern);
        let settled = rounds::settle(self.wire.as_ref(), asking).await;
        let reply = settled.map_err(|fault| not_there(fault, permit.method(), modern))?;
        match reply.value {
            Value::Object(result) => {
                Ok(Answer { written: reply.written.map(Into::into), ..Answer::bare(result) })
            }
            _ => Err(Fault::new(Code::UpstreamError, "the upstream's result is not an object")),
        }
    }

    async fn follow(&self, permit: &Permit, _owner: &str, wanted: bool) -> Result<(), Fault> {
        let param = |key: &str| permit.params().get(key).and_then(Value::as_str).map(str::to_owned);
        let what = match permit.method() {
            Method::Task(_) => param("taskId").map(Followed::Task),
            _ => param("uri").map(Followed::Resource),
        };
        let what = what.ok_or_else(|| Fault::internal("nothing to follow is named"))?;
        self.wire.follow(what, wanted).await
    }

    async fn set_log_level(&self, level: LogLevel) {
        self.logging.wish(self.wire.as_ref(), level).await;
    }

    fn said(&self) -> Vec<String> {
        self.wire.said()
    }

    fn speaks(&self) -> Option<String> {
        self.wire.revision().map(|revision| revision.as_str().to_owned())
    }

    fn introduced(&self) -> Option<Arc<ServerLineage>> {
        self.introduced.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn recall(&self, speaks: &str) {
        if let Ok(revision) = speaks.parse() {
            self.wire.recall(revision);
        }
    }

    fn attach(&self, bell: Bell) {
        self.wire.attach(bell);
    }

    async fn close(&self) {
        self.inputs.clear();
        self.wire.close().await;
    }
}

/// Since 2026-07-28 an unknown resource is an invalid parameter; before it had a code of its own.
fn not_there(mut fault: Fault, method: &Method, modern: bool) -> Fault {
    if modern
        && *method == Method::ReadResource
        && let Some(error) = fault.upstream.as_mut()
        && error.code == jsonrpc::INVALID_PARAMS
    {
        error.code = jsonrpc::RESOURCE_NOT_FOUND;
    }
    fault
}

/// What is worth asking for, given what a server says it has.
fn lists(capabilities: &Map<String, Value>) -> impl Iterator<Item = Listed> + use<'_> {
    let has = |key: &str| capabilities.get(key).is_some_and(Value::is_object);
    [
        // Old servers forget to declare their tools, so these are always asked for.
        (Listed::Tools, true),
        (Listed::Prompts, has("prompts")),
        (Listed::Resources, has("resources")),
        (Listed::Templates, has("resources")),
    ]
    .into_iter()
    .filter_map(|(listed, wanted)| wanted.then_some(listed))
}
