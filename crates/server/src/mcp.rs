//! Step 4 of the road: one match that says which surface and which method of the gateway.

pub mod http;
mod sse;
pub mod stdio;

use std::sync::Arc;

use auth::Doorkeeper;
use gateway::{CallRequest, Cleared, Done, Gateway, Progress, Verb, Via, Watch};
use model::Caller;
use protocol::decode::Meta;
use protocol::encode::{self, ServerInfo};
use protocol::{Ask, Id, Request, Revision};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::reply;
use crate::sessions::Visit;

/// The MCP surface of one gate, whatever the transport.
#[derive(Clone, Debug)]
pub struct Mcp {
    pub gateway: Arc<Gateway>,
    pub doorkeeper: Arc<Doorkeeper>,
    pub server: Arc<ServerInfo>,
}

/// Where news of a call goes before its answer.
pub(crate) type Frames = mpsc::Sender<Vec<u8>>;

impl Mcp {
    /// Answers one request. News of a call under way goes to `frames`.
    pub(crate) async fn answer(
        &self,
        visit: &Visit,
        request: Request,
        cancel: CancellationToken,
        frames: &Frames,
    ) -> Vec<u8> {
        let (id, revision) = (&request.id, visit.revision);
        match request.ask {
            Ask::Initialize { asked_version, .. } => {
                encode::initialized(id, Revision::negotiate(&asked_version), &self.server)
            }
            Ask::Discover => encode::discovered(id, &self.server),
            Ask::Ping if !revision.is_modern() => encode::done(id, revision, &self.server),
            Ask::ToolsList { .. } => {
                let menu = self.gateway.menu(&visit.caller);
                encode::tools(id, revision, &self.server, menu.get(), None)
            }
            Ask::ToolsCall { name, arguments } => {
                let called = Called { name, arguments, meta: request.meta, cancel };
                self.use_tool(id, visit, called, frames).await
            }
            Ask::Ping | Ask::Unknown => reply::unknown_method(id, &request.method),
        }
    }

    async fn use_tool(&self, id: &Id, visit: &Visit, called: Called, frames: &Frames) -> Vec<u8> {
        let caller = &visit.caller;
        let said =
            |cleared: &Cleared| encode::answer(id, visit.revision, &self.server, cleared.get());
        let Called { name, arguments, meta, cancel } = called;
        let (via, name, args) = match Verb::read(self.gateway.settings().mode, &name, arguments) {
            Ok(Verb::Call { name, args }) => (Via::Name, name, args),
            Ok(Verb::Execute { tool_id, args }) => (Via::Argument, tool_id, args),
            Ok(Verb::Browse { query, top_k }) => {
                return said(&self.gateway.browse(caller, &query, top_k));
            }
            Ok(Verb::Hydrate { tool_id }) => return said(&self.gateway.hydrate(caller, &tool_id)),
            Ok(Verb::View { handle, selector }) => {
                return said(&self.gateway.view(caller, &handle, &selector).await);
            }
            Err(fault) => return said(&self.gateway.refuse(&fault)),
        };
        let request = CallRequest { via, ..call_request(caller, name, args, &meta) };
        let done = self.call(request, cancel, meta.progress_token, frames).await;
        reply::call(id, visit.revision, &self.server, &done)
    }

    /// Makes the call and passes its progress on to whoever gave a token for it.
    async fn call(
        &self,
        request: CallRequest,
        cancel: CancellationToken,
        token: Option<Value>,
        frames: &Frames,
    ) -> Done {
        let Some(token) = token else {
            return Box::pin(self.gateway.call(request, Watch { cancel, news: None })).await;
        };
        let (news, mut heard) = mpsc::channel(limits::NEWS_QUEUED);
        let mut call = Box::pin(self.gateway.call(request, Watch { cancel, news: Some(news) }));
        let done = loop {
            // Neither arm loses anything: `recv` is cancel safe and the call is only borrowed.
            tokio::select! {
                biased;
                Some(progress) = heard.recv() => pass_on(&token, &progress, frames),
                done = &mut call => break done,
            }
        };
        while let Ok(progress) = heard.try_recv() {
            pass_on(&token, &progress, frames);
        }
        done
    }
}

/// A `tools/call` on its way to becoming a verb.
struct Called {
    name: String,
    arguments: Value,
    meta: Meta,
    cancel: CancellationToken,
}

fn call_request(caller: &Caller, name: String, args: Value, meta: &Meta) -> CallRequest {
    CallRequest {
        run_id: meta.run_id.clone(),
        trace_id: meta.traceparent.as_deref().and_then(trace_id),
        idempotency_key: meta.idempotency_key.clone(),
        ..CallRequest::new(caller.clone(), name, args)
    }
}

/// A slow client misses progress; its call does not wait for it.
fn pass_on(token: &Value, progress: &Progress, frames: &Frames) {
    let Progress { progress, total, message } = progress;
    let frame = encode::progress(token, *progress, *total, message.as_deref());
    if frames.try_send(frame).is_err() {
        tracing::trace!("progress dropped: the client is slow or gone");
    }
}

/// The trace id of a W3C `traceparent`: `00-<32 hex>-<16 hex>-<2 hex>`.
fn trace_id(traceparent: &str) -> Option<String> {
    let id = traceparent.split('-').nth(1)?;
    let valid = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    valid.then(|| id.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_well_formed_trace_is_continued() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_id(&format!("00-{id}-00f067aa0ba902b7-01")).as_deref(), Some(id));
        assert_eq!(trace_id("00-short-00f067aa0ba902b7-01"), None);
        assert_eq!(trace_id("garbage"), None);
    }
}
