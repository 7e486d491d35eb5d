//! Calls that wait for their client to come back with what it was asked (2026-07-28).
//!
//! What a client carries from one round to the next is a random name. What it stands for is in the
//! store, bound to who asked and what for, so that any gate can go on: an upstream's own state, or that
//! the call waits in the memory of one gate and nowhere else.

use model::limits::ROUND_TIME;
use model::{Answer, Caller, Code, Fault, Finding, Method, SessionId, UpstreamName, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::RoundRow;

use crate::call::CallRequest;
use crate::gateway::Gateway;
use crate::questions;

/// Every state that leaves the gate begins like this.
const PREFIX: &str = "toolgate-1.";

/// What a state stands for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Round {
    /// The upstream's own state, and what it asked. It remembers nothing, so whoever sends it goes on.
    Upstream {
        state: String,
        upstream: UpstreamName,
        asked: Map<String, Value>,
        #[serde(default)]
        so_far: SoFar,
    },
    /// The upstream waits for the answer on a connection that one gate holds.
    Parked,
    /// What was asked, by key: answers are held against it. Written by earlier versions.
    Asked(Map<String, Value>),
    /// The same, with what was asked before it.
    Unstated { asked: Map<String, Value>, so_far: SoFar },
}

/// What a call was asked in all its rounds. Each round is a call of its own to us, and without this
/// an upstream could go on for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoFar {
    pub rounds: u32,
    pub questions: u32,
    /// Of these, those that asked for a sample.
    pub samples: u32,
}

impl Gateway {
    /// A state for a call that waits here. Should the store not take it, this gate still knows it.
    pub async fn park_round(&self, caller: &Caller, bound_to: &str) -> String {
        let state = fresh();
        if let Err(fault) = keep(self, &state, caller, bound_to, &Round::Parked).await {
            tracing::warn!(%fault, "only this gate will know a call that waits for its client");
        }
        state
    }

    /// The call that waited under this state goes on here.
    pub async fn resume_round(&self, state: &str, caller: &Caller, bound_to: &str) {
        let taken = self.store.take_round(&hash(state), &owner(caller), bound_to).await;
        if let Err(fault) = taken {
            tracing::debug!(%fault, "a state that was used will be forgotten later");
        }
    }

    /// Puts the upstream's own state, and what the client answered, into a request that came with a
    /// state of ours. An answer that does not fit what was asked is refused, and may be given again.
    /// Where the call may change something, the state counts once.
    pub async fn open_round(
        &self,
        state: &str,
        request: &mut CallRequest,
        mut responses: Option<Value>,
    ) -> Result<(), Fault> {
        let (id, owner, bound_to) = (hash(state), owner(&request.caller), bound_to(request));
        let found = self.store.round(&id, &owner, &bound_to).await?;
        let body = found.filter(|_| state.starts_with(PREFIX)).ok_or_else(unknown)?;
        let round = serde_json::from_str(&body).map_err(Fault::internal)?;
        let Round::Upstream { state: theirs, upstream, asked, so_far } = round else {
            return Err(lost());
        };
        let noted = self.fit(&upstream, &asked, responses.as_mut())?;
        let once = !request.method.only_looks();
        if once && self.store.take_round(&id, &owner, &bound_to).await?.is_none() {
            return Err(unknown());
        }
        request.noted = noted;
        request.so_far = so_far;
        request.params.extend(responses.map(|given| ("inputResponses".to_owned(), given)));
        request.params.insert("requestState".to_owned(), theirs.into());
        Ok(())
    }

    /// Holds each answer against its question; what is on record of them. What answers nothing goes
    /// nowhere.
    fn fit(
        &self,
        upstream: &UpstreamName,
        asked: &Map<String, Value>,
        responses: Option<&mut Value>,
    ) -> Result<Vec<Finding>, Fault> {
        let (manifest, open) = (self.manifest(upstream), self.settings.undeclared_asks);
        let Some(responses) = responses.and_then(Value::as_object_mut) else {
            return Ok(Vec::new());
        };
        responses.retain(|key, _| asked.contains_key(key));
        let mut noted = Vec::new();
        for (key, said) in responses {
            let question = asked.get(key);
            let part = |name: &str| question.and_then(|question| question.get(name));
            let method = part("method").and_then(Value::as_str).unwrap_or_default();
            let params = part("params").and_then(Value::as_object).cloned().unwrap_or_default();
            let (given, finding) =
                questions::answered(manifest.as_deref(), open, method, &params, said.take());
            *said = given.map_err(|why| {
                let message = format!("the answer to `{key}` is not passed on: {why}");
                Fault::new(Code::AnswerInvalid, message).at(key)
            })?;
            noted.push(finding);
        }
        Ok(noted)
    }
}

/// Who asked what: another request, another call. Who the caller is, is held beside it.
pub fn bound_to(request: &CallRequest) -> String {
    canonical::hash(&json!([request.method.as_str(), request.name, request.args]))
}

fn unknown() -> Fault {
    let message = "this `requestState` is unknown, used, expired or of another request; call again without it";
    Fault::new(Code::ArgsInvalid, message)
}

/// What a round is kept with.
pub(crate) struct Sealing<'a> {
    pub(crate) upstream: &'a UpstreamName,
    /// What a later round is bound to, where that is not the request as it stands.
    pub(crate) bound: Option<String>,
    pub(crate) so_far: SoFar,
}

/// Puts our state in the place of the upstream's, where an answer has one.
pub(crate) async fn seal(
    gateway: &Gateway,
    request: &CallRequest,
    Sealing { upstream, bound, so_far }: Sealing<'_>,
    answer: &mut Answer,
) -> Result<(), Fault> {
    if !["inputRequests", "requestState"].iter().any(|key| answer.rest.contains_key(*key)) {
        return Ok(());
    }
    let bound = bound.unwrap_or_else(|| bound_to(request));
    // Where the upstream has a state, ours stands for both.
    let stateless = answer.task_id().is_some() || !answer.rest.contains_key("requestState");
    let asked = answer.rest.get("inputRequests").filter(|_| stateless);
    if let Some(Value::Object(asked)) = asked {
        let about = answer.task_id().map_or_else(|| bound.clone(), task);
        let id = asked_id(&request.caller, &about);
        let asked = Round::Unstated { asked: asked.clone(), so_far };
        keep(gateway, &id, &request.caller, &about, &asked).await?;
    }
    let asks = answer.rest.get("resultType").is_some_and(|kind| kind == "input_required");
    let rounds = matches!(
        request.method,
        Method::CallTool | Method::ReadResource | Method::GetPrompt if asks
    );
    let theirs = answer.rest.get("requestState").and_then(Value::as_str);
    let Some(theirs) = theirs.filter(|_| rounds) else { return Ok(()) };
    let asked = answer.rest.get("inputRequests").and_then(Value::as_object).cloned();
    let (theirs, upstream) = (theirs.to_owned(), upstream.clone());
    let asked = asked.unwrap_or_default();
    let round = Round::Upstream { state: theirs, upstream, asked, so_far };
    let state = fresh();
    keep(gateway, &state, &request.caller, &bound, &round).await?;
    answer.written = None;
    answer.rest.insert("requestState".to_owned(), state.into());
    Ok(())
}

/// The request with answers that came without a state held to what was asked, and what is on record of
/// them; nothing where it answers nothing. With a state, [`Gateway::open_round`] has done it.
pub(crate) async fn answered(
    gateway: &Gateway,
    request: &CallRequest,
    upstream: &UpstreamName,
) -> Result<Option<(CallRequest, Vec<Finding>)>, Fault> {
    const ANSWERS: &str = "inputResponses";
    const STATE: &str = "requestState";
    let Some(said) = request.params.get(ANSWERS) else { return Ok(None) };
    if request.client.rounds && request.params.contains_key(STATE) {
        return Ok(None);
    }
    let about = match request.method {
        Method::Task(_) => task(&request.name),
        _ => bound_to(request),
    };
    let (id, owner) = (hash(&asked_id(&request.caller, &about)), owner(&request.caller));
    let kept = gateway.store.round(&id, &owner, &about).await?;
    let (asked, so_far) = match kept.as_deref().map(serde_json::from_str::<Round>) {
        Some(Ok(Round::Unstated { asked, so_far })) => (asked, so_far),
        Some(Ok(Round::Asked(asked))) => (asked, SoFar::default()),
        Some(Err(error)) => return Err(Fault::internal(format!("round: {error}"))),
        _ => (Map::new(), SoFar::default()),
    };
    let mut given = said.clone();
    let told = gateway.fit(upstream, &asked, Some(&mut given))?;
    let mut request = request.clone();
    request.params.shift_remove(STATE);
    request.so_far = so_far;
    let given = given.as_object().cloned().unwrap_or_default();
    if given.is_empty() && !matches!(request.method, Method::Task(_)) {
        // Whoever answers nothing that was asked is asked again.
        request.params.shift_remove(ANSWERS);
    } else {
        request.params.insert(ANSWERS.to_owned(), given.into());
    }
    Ok(Some((request, told)))
}

/// What the answers of a task are about, whatever call they come with.
fn task(id: &str) -> String {
    format!("task {id}")
}

fn asked_id(caller: &Caller, about: &str) -> String {
    format!("asked {} {about}", owner(caller))
}

async fn keep(
    gateway: &Gateway,
    state: &str,
    caller: &Caller,
    bound_to: &str,
    round: &Round,
) -> Result<(), Fault> {
    let body = serde_json::to_string(round).map_err(Fault::internal)?;
    let (round_id, principal) = (hash(state), owner(caller));
    let row = RoundRow { round_id, principal, bound_to: bound_to.to_owned(), body };
    Box::pin(gateway.store.keep_round(row, ROUND_TIME)).await
}

fn fresh() -> String {
    format!("{PREFIX}{}", SessionId::random())
}

/// The gate that holds the call is another, or was.
fn lost() -> Fault {
    let message =
        "the call waits at another gate or ended with one; call again without `requestState`";
    Fault::new(Code::RoundLost, message)
}

fn hash(state: &str) -> String {
    canonical::hash_bytes(state.as_bytes())
}

fn owner(caller: &Caller) -> String {
    caller.principal.account()
}
