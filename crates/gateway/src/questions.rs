//! What upstreams ask of clients, under rule: which questions pass, how often, and what of an answer
//! goes back. Everything asked is on record.
//!
//! Off unless a manifest declares it, or the gate is set to let undeclared upstreams ask.

mod flat;
mod form;
mod review;
mod roots;
mod sampling;
mod told;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use context::Redactor;
use manifest::{AdapterManifest, Review};
use model::fault::WireError;
use model::{Client, Code, Fault, Finding, Severity, UpstreamName, limits};
use policy::Permit;
use serde_json::{Map, Value};
use store::Store;
use tokio::sync::oneshot;

use crate::call::CallRequest;
use crate::gateway::Gateway;
use crate::rounds::SoFar;
use crate::runs::{self, Asks, Runs};
use crate::settings::Reads;
use crate::visits::Visits;

pub(crate) use review::Patience;

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
    upstream: UpstreamName,
    /// Whose call it is.
    account: String,
    visits: Arc<Visits>,
    store: Store,
    desk: Option<review::Desk>,
    /// Whether the call leaves a record.
    recorded: bool,
    writes: bool,
    /// Rounds of this call, this one included.
    rounds: AtomicU32,
    /// Questions within this call, and those of them that ask for a sample.
    asked: AtomicU32,
    iterations: AtomicU32,
    told: Arc<Mutex<Vec<Finding>>>,
}

/// What must still happen before a question that may be asked is asked.
#[derive(Debug, Default)]
pub(crate) struct Due {
    asks: Option<Asks>,
    /// Of these in a run, by the manifest.
    most: Option<u32>,
    review: bool,
}

impl Judge {
    pub(crate) fn new(
        gateway: &Gateway,
        request: &CallRequest,
        permit: &Permit,
        policy_hash: &str,
    ) -> Self {
        let upstream = permit.upstream();
        let manifest = gateway.manifest(upstream);
        // Worked out only where somebody counts or looks: most upstreams ask nothing.
        let counts = gateway.runs.is_some() || manifest.as_deref().is_some_and(bounds_questions);
        let run = if counts { runs::key(request) } else { String::new() };
        let looked_at = manifest.as_deref().is_some_and(is_looked_at);
        let desk = looked_at.then(|| review::Desk::new(gateway, request, permit, policy_hash));
        let writes = permit.effect().is_write();
        Self {
            manifest,
            open: gateway.settings.undeclared_asks,
            client: Arc::clone(&request.client),
            redactor: gateway.settings.redactor.clone(),
            upstream: upstream.clone(),
            account: request.caller.principal.account(),
            visits: Arc::clone(&gateway.visits),
            run,
            runs: gateway.runs.clone(),
            store: gateway.store.clone(),
            desk,
            recorded: writes || gateway.settings.reads == Reads::Keep,
            writes,
            rounds: AtomicU32::new(request.so_far.rounds),
            asked: AtomicU32::new(request.so_far.questions),
            iterations: AtomicU32::new(request.so_far.samples),
            told: Arc::default(),
        }
    }

    /// Whether this may be asked at all, and what is due before. A refusal is on record.
    pub(crate) fn weigh(&self, method: &str, params: &Map<String, Value>) -> Result<Due, Fault> {
        let weighed = self.by_rule(method, params);
        weighed.map_err(|why| self.refused(method, Fault::new(Code::UpstreamError, why)))
    }

    /// Whether any question may have to be counted or looked at.
    pub(crate) fn takes_time(&self) -> bool {
        self.runs.is_some()
            || self.desk.is_some()
            || self.manifest.as_deref().is_some_and(bounds_questions)
    }

    /// Whether nobody need be asked and nothing counted. INVARIANT: if not, the judge takes time.
    pub(crate) fn is_free(&self, due: &Due) -> bool {
        !due.review && due.most.is_none() && (self.runs.is_none() || due.asks.is_none())
    }

    /// Counts the question, and waits for a person where one must look at it first.
    pub(crate) async fn settle(
        &self,
        due: Due,
        method: &str,
        params: &Map<String, Value>,
        patience: Patience,
    ) -> Result<(), Fault> {
        let settled = self.count(&due).await;
        settled.map_err(|fault| self.refused(method, fault))?;
        let Some(desk) = self.desk.as_ref().filter(|_| due.review) else { return Ok(()) };
        let reviewed = desk.review(method, params, patience).await;
        let approval = reviewed.map_err(|fault| self.refused(method, fault))?;
        let by = approval.approver.as_deref().unwrap_or_default();
        let id = &approval.approval_id;
        self.tell(Severity::Info, format!("`{method}` was let pass by `{by}`: approval {id}"));
        Ok(())
    }

    /// Counts a round in which the client is asked; an upstream that never has enough is refused.
    pub(crate) fn begin_round(&self) -> Result<(), Fault> {
        if self.rounds.fetch_add(1, Ordering::SeqCst) < limits::ROUNDS_MAX {
            return Ok(());
        }
        let message = "the upstream asks again and again and does not answer";
        Err(self.refused("input_required", Fault::new(Code::UpstreamError, message)))
    }

    /// What was asked in the course of the call, for its next round.
    pub(crate) fn so_far(&self) -> SoFar {
        SoFar {
            rounds: self.rounds.load(Ordering::SeqCst),
            questions: self.asked.load(Ordering::SeqCst),
            samples: self.iterations.load(Ordering::SeqCst),
        }
    }

    /// What the client is asked, which is not in all what the upstream asked. It is on record.
    pub(crate) fn asked(&self, method: &str, params: Map<String, Value>) -> Map<String, Value> {
        let params = self.routed(method, params);
        self.tell(Severity::Info, told::question(method, &params, &self.redactor));
        let visit = params.get("elicitationId").and_then(Value::as_str);
        // Newer clients are told no name and hear of no end.
        if let Some(visit) = visit.filter(|_| is_visit(&params) && !self.client.rounds) {
            self.visits.begin(&self.upstream, visit, &self.account);
        }
        params
    }

    fn routed(&self, method: &str, params: Map<String, Value>) -> Map<String, Value> {
        let manifest = self.manifest.as_deref();
        let rule = manifest.and_then(|manifest| manifest.sampling.as_ref());
        match rule.filter(|_| method == SAMPLE) {
            Some(rule) => sampling::routed(params, rule),
            None => params,
        }
    }

    fn by_rule(&self, method: &str, params: &Map<String, Value>) -> Result<Due, String> {
        if self.asked.fetch_add(1, Ordering::SeqCst) >= limits::QUESTIONS_PER_CALL_MAX {
            return Err(format!("one call asks at most {}", limits::QUESTIONS_PER_CALL_MAX));
        }
        let manifest = self.manifest.as_deref();
        match method {
            "elicitation/create" => {
                let rule = manifest.and_then(|manifest| manifest.elicitation.as_ref());
                form::check(params, rule, self.open, &self.redactor)?;
                let most = rule.and_then(|rule| rule.max_per_run);
                Ok(Due { asks: Some(Asks::Elicitation), most, review: false })
            }
            SAMPLE => {
                let rule = manifest.and_then(|manifest| manifest.sampling.as_ref());
                let before = self.iterations.fetch_add(1, Ordering::SeqCst);
                sampling::check(params, rule, self.open, &self.client, before)?;
                if let Some(rule) = rule.filter(|_| !self.open) {
                    let budgeted = self.runs.as_ref().is_some_and(|runs| runs.bounds_samples());
                    sampling::governed(rule, budgeted, self.recorded)?;
                }
                let review = rule.is_some_and(|rule| sampling::reviewed(params, rule, self.writes));
                let most = rule.and_then(|rule| rule.max_per_run);
                Ok(Due { asks: Some(Asks::Sample), most, review })
            }
            "roots/list" if self.open || manifest.is_some_and(|m| m.sandbox.is_some()) => {
                Ok(Due { asks: Some(Asks::Other), ..Due::default() })
            }
            "roots/list" => Err("no manifest says which folders it may know".to_owned()),
            _ => Err("nobody answers this here".to_owned()),
        }
    }

    /// Towards the run's budget and towards the manifest's bound.
    async fn count(&self, due: &Due) -> Result<(), Fault> {
        let Some(asks) = due.asks else { return Ok(()) };
        if let Some(runs) = &self.runs {
            runs.ask(&self.run, asks).await?;
        }
        let Some(most) = due.most else { return Ok(()) };
        let count = move |turn: &mut store::Turn| {
            let count = match asks {
                Asks::Elicitation => &mut turn.spending.elicitations,
                Asks::Sample => &mut turn.spending.samples,
                Asks::Other => return Ok(()),
            };
            if *count >= u64::from(most) {
                let message = format!("the manifest allows {most} of these in a run");
                return Err(Fault::new(Code::BudgetExceeded, message));
            }
            *count += 1;
            Ok(())
        };
        // Whose questions these are, and in which run.
        let key = format!("{} {}", self.upstream, self.run);
        self.store.spend(&key, None, count).await
    }

    /// What goes back to the upstream of what the client said.
    pub(crate) fn answered(
        &self,
        method: &str,
        params: &Map<String, Value>,
        said: Value,
    ) -> Result<Value, WireError> {
        let (given, finding) = answered(self.manifest.as_deref(), self.open, method, params, said);
        self.keep(finding);
        given.map_err(|why| refusal(&why))
    }

    fn refused(&self, method: &str, fault: Fault) -> Fault {
        self.tell(Severity::Warning, format!("not asked `{method}`: {}", fault.message));
        fault
    }

    fn tell(&self, severity: Severity, message: String) {
        self.keep(Finding::new(severity, RULE, message));
    }

    /// An upstream that asks without end does not make the record grow so.
    fn keep(&self, finding: Finding) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match told.len().cmp(&limits::QUESTIONS_TOLD_MAX) {
            std::cmp::Ordering::Less => told.push(finding),
            std::cmp::Ordering::Equal => {
                let message = "more was asked or answered than is kept here";
                told.push(Finding::new(Severity::Warning, RULE, message.to_owned()));
            }
            std::cmp::Ordering::Greater => {}
        }
    }

    /// What was asked so far, for the record.
    pub(crate) fn told(&self) -> Vec<Finding> {
        std::mem::take(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Under which rule questions are on record.
pub(crate) const RULE: &str = "question";
const SAMPLE: &str = "sampling/createMessage";

/// Whether a person is sent to an address.
fn is_visit(params: &Map<String, Value>) -> bool {
    params.get("mode").is_some_and(|mode| mode == "url")
}

/// The addresses an upstream wants its user to visit before it makes the call (2025-11-25).
pub(crate) fn in_refusal(fault: &Fault) -> Vec<Map<String, Value>> {
    const URL_ELICITATION_REQUIRED: i64 = -32042;
    let said = fault.upstream.as_deref().filter(|said| said.code == URL_ELICITATION_REQUIRED);
    let visits = said.and_then(|said| said.data.as_ref()?.get("elicitations")?.as_array());
    let each = visits.into_iter().flatten().filter_map(|visit| {
        let mut params = visit.as_object()?.clone();
        params.insert("mode".to_owned(), "url".into());
        Some(params)
    });
    each.collect()
}

fn bounds_questions(manifest: &AdapterManifest) -> bool {
    let elicited = manifest.elicitation.as_ref().and_then(|rule| rule.max_per_run);
    elicited.or(manifest.sampling.as_ref().and_then(|rule| rule.max_per_run)).is_some()
}

/// INVARIANT: whatever is due for review has a desk.
fn is_looked_at(manifest: &AdapterManifest) -> bool {
    manifest.sampling.as_ref().is_some_and(|rule| rule.review != Review::Never)
}

/// What of an answer goes back to the upstream, and what is on record of it.
pub(crate) fn answered(
    manifest: Option<&AdapterManifest>,
    open: bool,
    method: &str,
    params: &Map<String, Value>,
    said: Value,
) -> (Result<Value, String>, Finding) {
    let given = match method {
        "elicitation/create" => form::answered(params, said),
        "roots/list" => Ok(roots::within(said, manifest.and_then(|m| m.sandbox.as_ref()), open)),
        SAMPLE => sampling::answered(said, manifest.and_then(|m| m.sampling.as_ref())),
        _ => Ok(said),
    };
    let message = told::answer(method, given.as_ref());
    (given, Finding::new(Severity::Info, RULE, message))
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
pub(crate) fn in_answer(rest: &mut Map<String, Value>) -> Vec<(String, &mut Map<String, Value>)> {
    let asked = rest.get_mut("inputRequests").and_then(Value::as_object_mut);
    let each = asked.into_iter().flat_map(Map::values_mut).filter_map(|question| {
        let question = question.as_object_mut()?;
        let method = question.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let params = question.entry("params").or_insert_with(|| Map::new().into());
        Some((method, params.as_object_mut()?))
    });
    each.collect()
}
