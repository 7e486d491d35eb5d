//! Step 4 of the road: one match that says which surface and which method of the gateway.

mod batch;
pub(crate) mod body;
pub mod http;
mod listen;
mod offered;
mod sse;
pub mod stdio;
mod talk;

use std::sync::Arc;

use auth::Doorkeeper;
use gateway::queue::Sender;
use gateway::{CallRequest, Cleared, Gateway, Reader, Verb, Via};
use model::trace::Trace;
use model::{Caller, Client, Code, Fault, ItemKind, Listed, Method};
use protocol::decode::{self, Reference};
use protocol::encode::{self, About, ServerInfo};
use protocol::{Ask, Id, Request};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::offered::is_offered;
use crate::parked::Parked;
use crate::reply::{self, Said, UnknownTool};
use crate::running::Underway;
use crate::sessions::Visit;
use crate::streams::Streams;

/// The MCP surface of one gate, whatever the transport.
#[derive(Clone, Debug)]
pub struct Mcp {
    pub gateway: Arc<Gateway>,
    pub doorkeeper: Arc<Doorkeeper>,
    pub server: Arc<ServerInfo>,
    /// Calls that wait for a client to come back.
    pub parked: Arc<Parked>,
    pub streams: Streams,
    pub unknown_tool: UnknownTool,
}

/// Where news of a call goes before its answer.
pub(crate) type Frames = Sender<Vec<u8>>;

/// How one request can be called off, and where its news goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlet<'a> {
    pub(crate) cancel: &'a CancellationToken,
    /// The gate takes nothing new; long answers end.
    pub(crate) stop: &'a CancellationToken,
    pub(crate) frames: &'a Frames,
    pub(crate) carrier: Carrier,
}

/// Whether what carries the frames carries those of others, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// This request's alone: its end is the end of it.
    Own,
    /// Everybody's.
    Shared,
}

/// Queues an answer for a client on a line of its own, and ends its request just before the client can
/// see that: a client that does not read keeps its requests, and so gets no more than its share of
/// room, and one that does may use the id again. Who cancelled must not get an answer any more.
async fn end(underway: Underway, frames: &Frames, answer: Vec<u8>) {
    let last = || {
        let wanted = !underway.cancel.is_cancelled();
        drop(underway);
        wanted.then_some(answer)
    };
    if frames.send_last(last).await.is_err() {
        tracing::debug!("an answer found no client");
    }
}

async fn deliver(frames: &Frames, answer: Vec<u8>) {
    if frames.send(answer).await.is_err() {
        tracing::debug!("an answer found no client");
    }
}

impl Mcp {
    /// Answers one request. News of a call under way goes to the line's frames.
    pub(crate) async fn answer(
        &self,
        visit: &Visit,
        mut request: Box<Request>,
        outlet: &Outlet<'_>,
    ) -> Said {
        if !is_offered(&request.ask, visit.revision, &self.gateway) {
            return reply::unknown_method(&request.id, &request.method);
        }
        // The rest of the request stays in its place: what is under way is moved when it begins.
        match std::mem::replace(&mut request.ask, Ask::Other) {
            Ask::Initialize { .. } => self.welcome(&request.id, visit),
            Ask::Discover => encode::discovered(
                &request.id,
                &self.server(&visit.caller),
                &self.gateway.capabilities(true),
            )
            .into(),
            Ask::Ping => encode::done(&request.id, visit.revision, &self.server).into(),
            Ask::List { what: Listed::Tasks, .. } => Box::pin(self.tasks(&request.id, visit)).await,
            Ask::List { what, cursor } => self.list(&request.id, visit, what, cursor.as_deref()),
            Ask::SetLevel(level) => {
                visit.memory.set_level(level);
                Box::pin(self.gateway.set_log_level(&visit.caller, level)).await;
                encode::done(&request.id, visit.revision, &self.server).into()
            }
            Ask::Subscribe { uri, wanted } => {
                Box::pin(self.follow(&request.id, visit, &uri, wanted)).await
            }
            Ask::Listen(interest) => {
                Box::pin(self.listen(&request.id, visit, interest, outlet)).await
            }
            Ask::CallTool { name, arguments } => {
                let method = Method::CallTool;
                let (mut asked, token) = call_request(visit, &mut request, method, name, arguments);
                asked.written = request.written.take();
                self.use_tool(&request.id, visit, asked, token, outlet).await
            }
            Ask::Task { .. } if visit.revision.is_modern() && !knows_tasks(visit) => {
                reply::missing_capability(&request.id, &json!({"extensions": {TASKS: {}}}))
            }
            other => {
                let method = std::mem::take(&mut request.method);
                let (method, name, args) = forwarded(other, method);
                let (mut asked, token) = call_request(visit, &mut request, method, name, args);
                asked.written = request.written.take();
                self.call(&request.id, visit, asked, token, outlet).await
            }
        }
    }

    fn welcome(&self, id: &Id, visit: &Visit) -> Said {
        let capabilities = self.gateway.capabilities(false);
        let server = self.server(&visit.caller);
        let said = encode::initialized(id, visit.revision, &server, &capabilities);
        visit.memory.promise(capabilities);
        said.into()
    }

    fn list(&self, id: &Id, visit: &Visit, what: Listed, cursor: Option<&str>) -> Said {
        match self.gateway.list(&visit.caller, what, cursor) {
            Ok(page) => {
                let about = About { next_cursor: page.next_cursor.as_deref(), stale: page.stale };
                let modern = visit.revision.is_modern();
                let items = page.items(if modern { Reader::Newest } else { Reader::Older });
                encode::list(id, visit.revision, &self.server, what, items, about).into()
            }
            Err(fault) => reply::error(id, visit.revision, &fault),
        }
    }

    async fn tasks(&self, id: &Id, visit: &Visit) -> Said {
        let tasks = self.gateway.tasks_of(&visit.caller, &visit.client).await;
        let texts: Vec<String> =
            tasks.iter().map(|task| Value::Object(task.get().rest.clone()).to_string()).collect();
        let items = texts.iter().map(String::as_str);
        let about = About::default();
        encode::list(id, visit.revision, &self.server, Listed::Tasks, items, about).into()
    }

    async fn follow(&self, id: &Id, visit: &Visit, uri: &str, wanted: bool) -> Said {
        visit.memory.follow_through(&self.gateway, &visit.caller);
        let noted = match visit.memory.follow(uri, wanted) {
            Ok(true) => {
                let followed = self.gateway.follow(&visit.caller, uri, wanted).await;
                followed.inspect_err(|_| visit.memory.take_back(uri, wanted))
            }
            Ok(false) => Ok(()),
            Err(fault) => Err(fault),
        };
        match noted {
            Ok(()) => encode::done(id, visit.revision, &self.server).into(),
            Err(fault) => reply::error(id, visit.revision, &fault),
        }
    }

    async fn use_tool(
        &self,
        id: &Id,
        visit: &Visit,
        mut asked: Box<CallRequest>,
        token: Option<Value>,
        outlet: &Outlet<'_>,
    ) -> Said {
        let caller = &visit.caller;
        let said = |cleared: &Cleared| {
            let method = Method::CallTool;
            encode::answer(id, visit.revision, &self.server, cleared.get(), &method).into()
        };
        let (name, args) = (std::mem::take(&mut asked.name), std::mem::take(&mut asked.args));
        let run = asked.run_id.as_deref();
        // Arguments within arguments are a part of what is written.
        let within = asked.written.as_deref().and_then(|text| decode::part(text, "args"));
        let (via, name, args, up_to) = match Verb::read(self.gateway.reading(), name, args) {
            Ok(Verb::Call { name, args }) if !args.is_object() => {
                let fault = Fault::new(Code::ArgsInvalid, "`arguments` must be an object").at(name);
                return reply::error(id, visit.revision, &fault);
            }
            Ok(Verb::Call { name, args }) => (Via::Name, name, args, None),
            Ok(Verb::Execute { tool_id, args, dry_run: false, up_to }) => {
                (Via::Argument, tool_id, args, Some(up_to))
            }
            Ok(Verb::Execute { tool_id: name, args, dry_run: true, up_to }) => {
                let (via, up_to, written) = (Via::Argument, Some(up_to), within);
                *asked = CallRequest { via, name, args, up_to, written, ..*asked };
                return said(&Box::pin(self.gateway.rehearse(&asked)).await);
            }
            Ok(Verb::Browse { query, top_k }) => {
                let browsing = self.gateway.browse_in(caller, run, &query, top_k);
                return said(&Box::pin(browsing).await);
            }
            Ok(Verb::Hydrate { tool_id }) => {
                return said(&self.gateway.hydrate_in(caller, run, &tool_id));
            }
            Ok(Verb::Look { kind, query, top_k }) => {
                return said(&self.gateway.look(caller, kind, query.as_deref(), top_k));
            }
            Ok(Verb::Fetch { method, name, args }) => {
                let (via, written) = (Via::Argument, within);
                let asked = CallRequest { via, method, name, args, written, ..*asked };
                return Box::pin(self.call(id, visit, asked.into(), token, outlet)).await;
            }
            Ok(Verb::View { handle, selector }) => {
                return said(&Box::pin(self.gateway.view(caller, &handle, &selector)).await);
            }
            Err(fault) => return said(&self.gateway.refuse(&fault)),
        };
        if via == Via::Argument {
            asked.written = within;
        }
        asked.via = via;
        asked.name = name;
        asked.args = args;
        asked.up_to = up_to;
        self.call(id, visit, asked, token, outlet).await
    }

    /// How the gate presents itself, with what holds for its tools at this moment.
    fn server(&self, caller: &Caller) -> ServerInfo {
        let instructions = self.gateway.instructions(caller);
        ServerInfo { instructions, ..self.server.as_ref().clone() }
    }
}

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Whether the client said that it can deal with tasks.
fn knows_tasks(visit: &Visit) -> bool {
    let extensions = visit.client.capabilities.get("extensions");
    extensions.and_then(|extensions| extensions.get(TASKS)).is_some()
}

/// What is passed on to an upstream: how, to whom, with what.
fn forwarded(ask: Ask, method: String) -> (Method, String, Value) {
    match ask {
        Ask::ReadResource { uri } => (Method::ReadResource, uri, Value::Null),
        Ask::GetPrompt { name, arguments } => (Method::GetPrompt, name, arguments),
        Ask::Complete(Reference::Prompt(name)) => {
            (Method::Complete(ItemKind::Prompt), name, Value::Null)
        }
        Ask::Complete(Reference::Resource(uri)) => {
            (Method::Complete(ItemKind::Resource), uri, Value::Null)
        }
        Ask::Task { verb, id } => (Method::Task(verb), id, Value::Null),
        _ => (Method::Other(method.clone()), method, Value::Null),
    }
}

/// What is asked for, and the token by which its progress is wanted.
fn call_request(
    visit: &Visit,
    asked: &mut Request,
    method: Method,
    name: String,
    args: Value,
) -> (Box<CallRequest>, Option<Value>) {
    let meta = std::mem::take(&mut asked.meta);
    let mut caller: Caller = visit.caller.clone();
    if let Some(ceiling) = meta.ceiling {
        caller.lower_ceiling(ceiling);
    }
    let request = CallRequest {
        intent: meta.intent,
        method,
        params: std::mem::take(&mut asked.rest),
        meta: meta.rest,
        run_id: meta.run_id,
        trace: meta.traceparent.as_deref().and_then(Trace::read),
        idempotency_key: meta.idempotency_key,
        evidence: meta.evidence,
        ..CallRequest::of(client_of(visit), caller, name, args)
    };
    (Box::new(request), meta.progress_token)
}

/// The level an older client has set once goes with each of its requests: newer upstreams hear of
/// it in no other way.
fn client_of(visit: &Visit) -> Arc<Client> {
    match visit.memory.level().filter(|_| !visit.client.rounds) {
        None => Arc::clone(&visit.client),
        level => Arc::new(Client { log_level: level, ..visit.client.as_ref().clone() }),
    }
}

/// A method that only native mode passes on.
fn not_here(method: &Method) -> Fault {
    let message = format!("method `{}` is not offered here", method.as_str());
    Fault::new(Code::MethodNotFound, message)
}
