//! An upstream that follows a script and remembers every permit it was shown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use model::{Answer, ApprovalId, CallId, Code, Effect, Fault};
use policy::Permit;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use upstream::{Connector, Errand, Progress};

use crate::notes::Notes;

/// What a tool does when it is called.
#[derive(Clone, Debug)]
pub enum Script {
    Answer(Answer),
    /// Answers with what it was given, as structured content.
    Echo,
    Fault(Fault),
    /// Never answers.
    Hang,
    /// Answers once [`Recorder::release`] is called.
    Wait(Answer),
    /// Reports each of these, then answers.
    Report(Vec<Progress>, Answer),
}

/// One call as the upstream saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub call_id: CallId,
    pub tool: String,
    pub args: Value,
    /// These letter by letter, where the value does not keep how numbers are spelled.
    pub written: Option<String>,
    /// What else came with the request.
    pub params: serde_json::Map<String, Value>,
    pub effect: Effect,
    pub approval_id: Option<ApprovalId>,
    pub traceparent: Option<String>,
    pub timeout: Duration,
    pub meta: serde_json::Map<String, Value>,
}

/// The upstream. Clones share script and memory, so a test keeps one and gives one away.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    tools: BTreeMap<String, (Value, Script)>,
    host: Option<String>,
    seen: Notes<Seen>,
    lost: Notes<CallId>,
    closings: Arc<AtomicUsize>,
    released: CancellationToken,
}

impl Recorder {
    pub fn new() -> Self {
        Self::default()
    }

    /// One tool `name` that takes any object.
    pub fn one(name: &str, script: Script) -> Self {
        Self::new().tool(crate::tool(name, serde_json::json!({})), script)
    }

    #[must_use]
    pub fn tool(mut self, definition: Value, script: Script) -> Self {
        let name = definition["name"].as_str().expect("a tool has a name").to_owned();
        self.tools.insert(name, (definition, script));
        self
    }

    /// Pretends to reach this host over the network.
    #[must_use]
    pub fn at_host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub fn calls(&self) -> Vec<Seen> {
        self.seen.all()
    }

    pub fn count(&self) -> usize {
        self.seen.count()
    }

    /// Waits until a call has arrived.
    pub async fn arrived(&self) -> Seen {
        self.seen.wait_for(|_| true).await
    }

    /// Calls that were dropped before they had answered.
    pub fn lost(&self) -> Vec<CallId> {
        self.lost.all()
    }

    /// How often the gate has closed this upstream.
    pub fn closings(&self) -> usize {
        self.closings.load(Ordering::SeqCst)
    }

    /// Lets every [`Script::Wait`] answer, from now on.
    pub fn release(&self) {
        self.released.cancel();
    }

    async fn follow(
        &self,
        script: &Script,
        args: &Value,
        errand: &Errand,
    ) -> Result<Answer, Fault> {
        match script {
            Script::Answer(answer) => Ok(answer.clone()),
            Script::Echo => Ok(Answer::structured(args.clone())),
            Script::Fault(fault) => Err(fault.clone()),
            Script::Hang => std::future::pending().await,
            Script::Wait(answer) => {
                self.released.cancelled().await;
                Ok(answer.clone())
            }
            Script::Report(news, answer) => {
                for progress in news {
                    errand.report(progress.clone());
                }
                Ok(answer.clone())
            }
        }
    }
}

#[async_trait]
impl Connector for Recorder {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    fn endpoint_host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        Ok(self.tools.values().map(|(definition, _)| definition.clone()).collect())
    }

    async fn call(&self, permit: &Permit, errand: &Errand) -> Result<Answer, Fault> {
        self.seen.push(Seen {
            call_id: permit.call_id().clone(),
            tool: permit.tool().to_owned(),
            args: permit.arguments().clone(),
            written: permit.written().map(str::to_owned),
            params: permit.params().clone(),
            effect: permit.effect(),
            approval_id: permit.approval_id().cloned(),
            traceparent: errand.traceparent.clone(),
            timeout: errand.timeout,
            meta: errand.meta.clone(),
        });
        let Some((_, script)) = self.tools.get(permit.tool()) else {
            return Err(Fault::new(Code::ToolNotFound, "no such tool").at(permit.tool()));
        };
        let mut loss = Loss { lost: &self.lost, call_id: Some(permit.call_id().clone()) };
        let answer = self.follow(script, permit.arguments(), errand).await;
        loss.call_id = None;
        answer
    }

    async fn close(&self) {
        self.closings.fetch_add(1, Ordering::SeqCst);
    }
}

/// Notes a call whose future goes away before its answer.
struct Loss<'a> {
    lost: &'a Notes<CallId>,
    call_id: Option<CallId>,
}

impl Drop for Loss<'_> {
    fn drop(&mut self) {
        if let Some(call_id) = self.call_id.take() {
            self.lost.push(call_id);
        }
    }
}
