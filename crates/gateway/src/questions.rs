//! What upstreams ask of clients, under rule: which questions pass, how often, and what of an answer
//! goes back. Everything asked is on record.
//!
//! Off unless a manifest declares it, or the gate is set to let undeclared upstreams ask.

mod form;
mod roots;
mod sampling;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use context::Redactor;
use manifest::AdapterManifest;
use model::fault::WireError;
use model::{Client, Clock, Finding, Severity, UpstreamName};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::call::CallRequest;
use crate::gateway::Gateway;
use crate::runs::{self, Asks, Runs};

/// Questions of one upstream in one run that are remembered; beyond that, all are forgotten.
const RUNS_MAX: usize = 10_000;

/// How often each upstream has asked in each run: elicitations and samples.
pub(crate) type Asked = Arc<Mutex<HashMap<String, (u32, u32)>>>;

/// Judges what one upstream asks in the course of one call.
#[derive(Debug)]
pub(crate) struct Judge {
    manifest: Option<Arc<AdapterManifest>>,
    /// Whether an upstream without a manifest may ask.
    open: bool,
    client: Arc<Client>,
    redactor: Redactor,
    run: String,
    runs: Option<Arc<Runs>>,
    asked: Asked,
    key: String,
    clock: Clock,
    /// Samples asked for within this call.
    iterations: AtomicU32,
    told: Arc<Mutex<Vec<Finding>>>,
}

impl Judge {
    pub(crate) fn new(gateway: &Gateway, request: &CallRequest, upstream: &UpstreamName) -> Self {
        let run = runs::key(request);
        Self {
            manifest: gateway.manifests.get(upstream).map(Arc::clone),
            open: gateway.settings.undeclared_asks,
            client: Arc::clone(&request.client),
            redactor: gateway.settings.redactor.clone(),
            key: format!("{upstream} {run}"),
            run,
            runs: gateway.runs.clone(),
            asked: Arc::clone(&gateway.asked),
            clock: gateway.clock.clone(),
            iterations: AtomicU32::new(0),
            told: Arc::default(),
        }
    }

    /// Whether this may be asked; if so it is counted.
    pub(crate) fn judge(&self, method: &str, params: &Map<String, Value>) -> Result<(), String> {
        let judged = self.weigh(method, params);
        let (severity, word) = match &judged {
            Ok(()) => (Severity::Info, "asked"),
            Err(_) => (Severity::Warning, "not asked"),
        };
        let why = judged.as_ref().err().map(|why| format!(": {why}")).unwrap_or_default();
        self.tell(severity, format!("{word} `{method}`{why}"));
        judged
    }

    fn weigh(&self, method: &str, params: &Map<String, Value>) -> Result<(), String> {
        let manifest = self.manifest.as_deref();
        let (asks, most) = match method {
            "elicitation/create" => {
                let rule = manifest.and_then(|manifest| manifest.elicitation.as_ref());
                form::check(params, rule, self.open, &self.redactor)?;
                (Asks::Elicitation, rule.and_then(|rule| rule.max_per_run))
            }
            "sampling/createMessage" => {
                let rule = manifest.and_then(|manifest| manifest.sampling.as_ref());
                let before = self.iterations.fetch_add(1, Ordering::SeqCst);
                sampling::check(params, rule, self.open, &self.client, before)?;
                (Asks::Sample, rule.and_then(|rule| rule.max_per_run))
            }
            "roots/list" if self.open || manifest.is_some_and(|m| m.sandbox.is_some()) => {
                (Asks::Other, None)
            }
            "roots/list" => return Err("no manifest says which folders it may know".to_owned()),
            _ => return Err("nobody answers this here".to_owned()),
        };
        self.count(asks, most)
    }

    fn count(&self, asks: Asks, most: Option<u32>) -> Result<(), String> {
        if let Some(runs) = &self.runs {
            runs.ask(&self.run, asks, self.clock.now()).map_err(|fault| fault.message)?;
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() >= RUNS_MAX && !asked.contains_key(&self.key) {
            asked.clear();
        }
        let (elicited, sampled) = asked.entry(self.key.clone()).or_default();
        let count = match asks {
            Asks::Elicitation => elicited,
            Asks::Sample => sampled,
            Asks::Other => return Ok(()),
        };
        if most.is_some_and(|most| *count >= most) {
            return Err(format!("the manifest allows {count} of these in a run"));
        }
        *count += 1;
        Ok(())
    }

    /// What goes back to the upstream of what the client said.
    pub(crate) fn answered(
        &self,
        method: &str,
        params: &Map<String, Value>,
        said: Value,
    ) -> Result<Value, WireError> {
        let sandbox = self.manifest.as_deref().and_then(|manifest| manifest.sandbox.as_ref());
        let given = match method {
            "elicitation/create" => form::answered(params, said),
            "roots/list" => Ok(roots::within(said, sandbox, self.open)),
            _ => Ok(said),
        };
        let word = match &given {
            Ok(given) => given.get("action").and_then(Value::as_str).unwrap_or("answered"),
            Err(_) => "with what does not fit the form",
        };
        self.tell(Severity::Info, format!("`{method}` was answered: {word}"));
        given.map_err(|why| refusal(&why))
    }

    fn tell(&self, severity: Severity, message: String) {
        let finding = Finding::new(severity, "question", message);
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
    }

    /// What was asked so far, for the record.
    pub(crate) fn told(&self) -> Vec<Finding> {
        std::mem::take(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A reply that goes through the judge on its way back to the upstream.
pub(crate) fn through(
    judge: &Arc<Judge>,
    method: &str,
    params: &Map<String, Value>,
    reply: oneshot::Sender<Result<Value, WireError>>,
) -> oneshot::Sender<Result<Value, WireError>> {
    let (sender, said) = oneshot::channel::<Result<Value, WireError>>();
    let (judge, method, params) = (Arc::clone(judge), method.to_owned(), params.clone());
    tokio::spawn(async move {
        // Unanswered, the upstream's own end is dropped with this, and it hears that nobody answers.
        let Ok(said) = said.await else { return };
        let given = said.and_then(|said| judge.answered(&method, &params, said));
        if reply.send(given).is_err() {
            tracing::debug!("an upstream no longer waits for its answer");
        }
    });
    sender
}

/// How an upstream hears that its question was not passed on.
pub(crate) fn refusal(why: &str) -> WireError {
    const INVALID_PARAMS: i64 = -32602;
    WireError { code: INVALID_PARAMS, message: format!("not passed on: {why}"), data: None }
}

/// Each question of an answer that is not the last, for clients that take part in rounds.
pub(crate) fn in_answer(rest: &Map<String, Value>) -> Vec<(String, Map<String, Value>)> {
    let asked = rest.get("inputRequests").and_then(Value::as_object);
    let each = asked.into_iter().flat_map(Map::values).map(|question| {
        let method = question.get("method").and_then(Value::as_str).unwrap_or_default();
        let params = question.get("params").and_then(Value::as_object);
        (method.to_owned(), params.cloned().unwrap_or_default())
    });
    each.collect()
}
