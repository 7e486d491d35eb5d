//! The road of a call, from its opening entry to its closing one.
//!
//! [`Gateway::call`] reads as the table of contents. Each stage is a file below; a stage takes the
//! former one's value and returns the next; none calls another. Only this file knows the order.

/// 5 and 12: the entry, opened and closed.
mod record;

/// 6: which tool is meant.
mod resolve;

/// 7: whether this call may be made.
mod authorize;

/// 7, where a policy permits and asks for more.
mod oblige;

/// Before anybody is asked, and after the answer: what a critic says, where there is one.
mod verify;

/// Before anybody is asked: whether this key was answered already.
mod claim;

/// 8: whether a human says yes, where one must.
mod approve;

/// 8, where the client can ask its person.
mod elicit;

/// 9: whether it may be made now; from here on an effect may follow.
mod admit;

/// What of it is kept for ever.
mod keep;

/// 10: the call itself.
mod dispatch;

/// When it may be made again.
mod again;

/// 11: what came back, checked and cleared.
mod inspect;

/// What its manifest wants to know of it.
mod measure;

/// The first half of the road, with nothing touched: what would happen.
mod rehearse;

pub(crate) use admit::host_matches;

use std::sync::Arc;
use std::time::Duration;

use catalog::{Deed, Entry as Tool};
use context::Cleared;
use model::fault::WireError;
use model::trace::Trace;
use model::{
    Answer, CallResult, Caller, Client, Fault, Finding, Method, Principal, PrincipalKind, RecordId,
};
use policy::Way;
use serde_json::{Map, Value};
use store::Claim;
use tokio_util::sync::CancellationToken;

use crate::call::approve::Known;
use crate::call::inspect::Inspected;
use crate::call::record::{Ended, Entry};
use crate::gateway::Gateway;
use crate::news::News;
use crate::queue::Sender;
use crate::rounds::{self, SoFar};
use crate::tasks;

/// What a caller asks for.
#[derive(Clone, Debug)]
pub struct CallRequest {
    pub caller: Caller,
    pub method: Method,
    /// Any rendering of the tool's name; the prompt's name, the resource's URI, the task's id.
    pub name: String,
    pub args: Value,
    /// `args` letter by letter, where the value does not keep how numbers are spelled; for a method of
    /// an extension, `params`.
    pub written: Option<String>,
    /// What else the request carries to the upstream.
    pub params: Map<String, Value>,
    /// `_meta` to be passed on.
    pub meta: Map<String, Value>,
    /// For whom, as the client describes itself.
    pub client: Arc<Client>,
    pub via: Via,
    pub run_id: Option<String>,
    /// The trace the caller is in, where it is in one.
    pub trace: Option<Trace>,
    pub idempotency_key: Option<String>,
    /// The facts the call rests on, by what records call them.
    pub evidence: Vec<String>,
    /// What the caller says it is about.
    pub intent: Option<String>,
    /// The caller's own patience; ours may be shorter.
    pub timeout: Option<Duration>,
    /// The gravest deed the call may do; absent, any that policy allows.
    pub up_to: Option<Deed>,
    /// What was found out about it before, for its record.
    pub noted: Vec<Finding>,
    /// What it was asked in former rounds.
    pub so_far: SoFar,
}

impl CallRequest {
    pub fn new(caller: Caller, name: impl Into<String>, args: Value) -> Self {
        Self::of(Arc::default(), caller, name, args)
    }

    /// The same, of a client that has described itself.
    pub fn of(client: Arc<Client>, caller: Caller, name: impl Into<String>, args: Value) -> Self {
        Self {
            caller,
            method: Method::CallTool,
            name: name.into(),
            args,
            written: None,
            params: Map::new(),
            meta: Map::new(),
            client,
            via: Via::Name,
            run_id: None,
            trace: None,
            idempotency_key: None,
            evidence: Vec::new(),
            intent: None,
            timeout: None,
            up_to: None,
            noted: Vec::new(),
            so_far: SoFar::default(),
        }
    }
}

/// How the tool was named, which decides in what channel an unknown name is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// As the tool of `tools/call`.
    Name,
    /// As an argument of a tool of ours.
    Argument,
}

/// How the caller follows the call.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    pub cancel: CancellationToken,
    pub news: Option<Sender<News>>,
    /// Progress is wanted, not only what cannot be left unsaid.
    pub progress: bool,
}

/// A call that has been made or refused, and recorded.
#[derive(Debug)]
pub struct Done {
    /// Absent when there is no record: it could not be opened, or reads leave none.
    pub record_id: Option<RecordId>,
    /// What the client may read, refusals included.
    pub cleared: Cleared,
    pub result: Option<CallResult>,
    /// Set when the call was refused or failed on our side of the tool.
    pub fault: Option<Fault>,
    /// The upstream's own refusal, where it gave one in the protocol's channel.
    pub refused: Option<Cleared<WireError>>,
}

impl Gateway {
    /// Carries one call down the road. Whatever happens, it leaves a record.
    ///
    /// A call under way is moved when it begins, so it is kept small: the request and its record have
    /// places of their own, and so has whatever few calls come to.
    pub fn call(
        &self,
        request: impl Into<Box<CallRequest>>,
        watch: Watch,
    ) -> impl Future<Output = Done> + Send {
        let request = request.into();
        async move {
            let _running = match self.enter() {
                Ok(running) => running,
                Err(fault) => return record::unopened(self, fault),
            };
            let mut entry = record::open(self, &request);
            let outcome = self.road(&request, &watch, &mut entry).await;
            if self.runs.is_some() {
                Box::pin(record::settle(self, &entry, outcome.as_ref())).await;
            }
            match record::end(self, entry, outcome) {
                ended if ended.unrecorded => record::let_go(self, ended),
                ended => Box::pin(self.put_on_record(ended)).await,
            }
        }
    }

    /// Scores what came of the call, and lets it go once it is on record.
    async fn put_on_record(&self, mut ended: Ended) -> Done {
        verify::score(self, &mut ended).await;
        record::close(self, ended).await
    }

    /// Puts on record something the operator did that is no call, as `what` and its particulars.
    pub async fn note(&self, what: &str, particulars: Value) -> Result<RecordId, Fault> {
        let gate = Principal { kind: PrincipalKind::Automation, ..Principal::user("toolgate") };
        let request = CallRequest {
            method: Method::Other(what.to_owned()),
            ..CallRequest::new(Caller::new(gate), what, particulars)
        };
        Box::pin(record::note(self, &request)).await
    }

    async fn road(
        &self,
        request: &CallRequest,
        watch: &Watch,
        entry: &mut Entry,
    ) -> Result<Inspected, Fault> {
        tasks::recall(self, request).await?;
        let compared = resolve::compare(self, request, &entry.rules).await;
        let tool = resolve::resolve(self, request, entry)?;
        // About what the caller may not see, what came of comparing counts for nothing.
        compared?;
        let Judged { changed, way, claim, stored } = self.judge(request, &tool, entry).await?;
        let request = changed.as_deref().unwrap_or(request);
        if let Some(stored) = stored {
            return Box::pin(inspect::inspect(self, request, &tool, stored, entry)).await;
        }
        verify::verify(self, request, &tool, &way, entry).await?;
        let asking = Asking { request, tool: &tool, watch };
        let permit = approve::approve(self, &asking, way, entry).await?;
        let mut admitted = admit::admit(self, request, &tool, permit, claim, entry).await?;
        let answer = dispatch::dispatch(self, request, &mut admitted, watch, entry).await;
        // Whoever waits for its place need not wait until the answer is looked at.
        drop(admitted);
        let answer = answer.map_err(|fault| about(fault, &tool))?;
        inspect::inspect(self, request, &tool, answer, entry).await
    }

    /// The road as a dry run takes it: nobody is asked, for a list or a yes; what the later stages would
    /// say is looked at, and nothing used up.
    async fn foresee(
        &self,
        request: &CallRequest,
        entry: &mut Entry,
    ) -> Result<(Arc<Tool>, &'static str), Fault> {
        tasks::recall(self, request).await?;
        let tool = resolve::resolve(self, request, entry)?;
        let Judged { changed, way, stored, .. } = self.judge(request, &tool, entry).await?;
        let request = changed.as_deref().unwrap_or(request);
        if stored.is_some() {
            return Ok((tool, "its stored answer would be given again, and nothing called"));
        }
        verify::foresee(self, request, &tool, &way, entry).await?;
        let (permit, outcome) = match way {
            Way::No(fault) => return Err(fault),
            Way::Go(permit) => (permit, "it would be called"),
            Way::Ask(question) => match approve::known(self, question).await? {
                Known::Unanswered(outcome) => return Ok((tool, outcome)),
                Known::Approved(permit) => {
                    entry.stage("approval");
                    (*permit, "a human has approved it, and it would be called")
                }
            },
        };
        admit::foresee(self, request, &tool, &permit, entry).await?;
        Ok((tool, outcome))
    }

    /// The half of the road that touches nothing, which a dry run takes too.
    async fn judge(
        &self,
        request: &CallRequest,
        tool: &Tool,
        entry: &mut Entry,
    ) -> Result<Judged, Fault> {
        let answered = rounds::answered(self, request, &tool.item.key.upstream).await?;
        let answered = answered.map(|(request, told)| {
            entry.findings.extend(told);
            Box::new(request)
        });
        let keyed = claim::with_key(self, answered.as_deref().unwrap_or(request), tool, entry);
        let changed = keyed.map(Box::new).or(answered);
        let request = changed.as_deref().unwrap_or(request);
        let way = authorize::authorize(self, request, tool, entry).await?;
        let claim = claim::claim(self, request, tool, entry)?;
        let stored = claim::recall(self, tool, claim.as_ref(), entry).await?;
        Ok(Judged { changed, way, claim, stored })
    }
}

/// Whoever reads what went wrong on the way learns with which tool.
fn about(fault: Fault, tool: &Tool) -> Fault {
    if fault.path.is_empty() { fault.at(&tool.shown_name) } else { fault }
}

/// A call, its tool, and who follows it.
#[derive(Clone, Copy)]
struct Asking<'a> {
    request: &'a CallRequest,
    tool: &'a Tool,
    watch: &'a Watch,
}

/// A call that nothing has been done about yet.
struct Judged {
    /// The request with what was answered or the key that was put into it, where that was done.
    changed: Option<Box<CallRequest>>,
    way: Way,
    claim: Option<Claim>,
    /// The answer this key got before.
    stored: Option<Answer>,
}
