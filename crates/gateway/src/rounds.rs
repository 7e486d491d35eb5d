//! Calls that wait for their client to come back with what it was asked (2026-07-28).
//!
//! What a client carries from one round to the next is a random name. What it stands for is in the
//! store, bound to who asked and what for, so that any gate can go on: an upstream's own state, or that
//! the call waits in the memory of one gate and nowhere else.

use model::limits::ROUND_TIME;
use model::{Answer, Caller, Code, Fault, Method, SessionId, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::RoundRow;

use crate::call::CallRequest;
use crate::gateway::Gateway;

/// Every state that leaves the gate begins like this.
const PREFIX: &str = "toolgate-1.";

/// What a state stands for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Round {
    /// The upstream's own state. It remembers nothing, so whoever sends it goes on.
    Upstream(String),
    /// The upstream waits for the answer on a connection that one gate holds.
    Parked,
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

    /// The upstream's own state under this one of ours. Where the call may change something, it counts
    /// once.
    pub async fn open_round(&self, state: &str, request: &CallRequest) -> Result<String, Fault> {
        let (id, owner, bound_to) = (hash(state), owner(&request.caller), bound_to(request));
        let found = if request.method.only_looks() {
            self.store.round(&id, &owner, &bound_to).await?
        } else {
            Box::pin(self.store.take_round(&id, &owner, &bound_to)).await?
        };
        let round = found.as_deref().map(serde_json::from_str::<Round>);
        match round.filter(|_| state.starts_with(PREFIX)).transpose() {
            Ok(Some(Round::Upstream(theirs))) => Ok(theirs),
            Ok(Some(Round::Parked)) => Err(lost()),
            Ok(None) => Err(unknown()),
            Err(error) => Err(Fault::internal(format!("round: {error}"))),
        }
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

/// Puts our state in the place of the upstream's, where an answer has one.
pub(crate) async fn seal(
    gateway: &Gateway,
    request: &CallRequest,
    answer: &mut Answer,
) -> Result<(), Fault> {
    let asks = answer.rest.get("resultType").is_some_and(|kind| kind == "input_required");
    let rounds = matches!(
        request.method,
        Method::CallTool | Method::ReadResource | Method::GetPrompt if asks
    );
    let theirs = answer.rest.get("requestState").and_then(Value::as_str);
    let Some(theirs) = theirs.filter(|_| rounds) else { return Ok(()) };
    let (state, round) = (fresh(), Round::Upstream(theirs.to_owned()));
    keep(gateway, &state, &request.caller, &bound_to(request), &round).await?;
    answer.written = None;
    answer.rest.insert("requestState".to_owned(), state.into());
    Ok(())
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
    let tenant = caller.principal.tenant_id.as_deref().unwrap_or_default();
    format!("{tenant}/{}", caller.principal)
}
