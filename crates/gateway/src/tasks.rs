//! Whose a task is and which tool began it, kept so that any replica knows it. The upstream keeps the
//! task itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use catalog::Entry as Tool;
use context::Cleared;
use model::limits::{TASK_KEPT, TASKS_LISTED_MAX, TASKS_MAX};
use model::task::TaskState;
use model::{
    Answer, Call, CallId, Caller, Client, Code, Fault, ItemKey, Method, TaskVerb, TraceId,
    UpstreamName,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::TaskRow;

use crate::call::{CallRequest, Watch};
use crate::gateway::Gateway;

/// Tasks this gate has met, by id and owner.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    known: Mutex<Known>,
}

/// An upstream's own name for it, and whose it is: upstreams may give the same to several.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    id: String,
    owner: String,
}

#[derive(Debug, Default)]
struct Known {
    homes: BTreeMap<Name, Home>,
    oldest_first: VecDeque<Name>,
}

/// Where a task came from, and the last that was heard of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Home {
    pub(crate) tool: ItemKey,
    /// The call that began it, which every later one is joined to.
    pub(crate) call_id: CallId,
    pub(crate) trace_id: TraceId,
    #[serde(skip)]
    ended: Option<TaskState>,
}

impl Tasks {
    /// Where a task of this caller comes from; another's task is an unknown one.
    pub(crate) fn home(&self, id: &str, caller: &Caller) -> Option<Home> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.homes.get(&Name { id: id.to_owned(), owner: owner(caller) }).cloned()
    }

    /// Whether this upstream began a task under this id, for this owner or for anybody.
    pub(crate) fn are_of(&self, upstream: &UpstreamName, owner: Option<&str>, id: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let first = Name { id: id.to_owned(), owner: owner.unwrap_or_default().to_owned() };
        let named = known.homes.range(first..).take_while(|(name, _)| name.id == id);
        let theirs = |name: &Name| owner.is_none_or(|owner| owner == name.owner);
        let mut named = named.take_while(|(name, _)| theirs(name));
        named.any(|(_, home)| home.tool.upstream == *upstream)
    }

    fn keep(&self, name: Name, home: Home) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.homes.insert(name.clone(), home).is_none() {
            known.oldest_first.push_back(name);
        }
        if known.oldest_first.len() > TASKS_MAX
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.homes.remove(&oldest);
        }
    }
}

/// Looks up the task a request is about before somebody asks for its home.
pub(crate) async fn recall(gateway: &Gateway, request: &CallRequest) -> Result<(), Fault> {
    let Method::Task(_) = request.method else { return Ok(()) };
    meet(gateway, &request.caller, &request.name).await
}

/// Takes in a task of an earlier run or of another gate.
pub(crate) async fn meet(gateway: &Gateway, caller: &Caller, id: &str) -> Result<(), Fault> {
    if gateway.tasks.home(id, caller).is_some() {
        return Ok(());
    }
    let owner = owner(caller);
    let Some((body, ended)) = gateway.store.task(id, &owner).await? else {
        return Ok(());
    };
    let home: Home =
        serde_json::from_str(&body).map_err(|error| Fault::internal(format!("task: {error}")))?;
    let ended = ended.as_deref().and_then(state);
    gateway.tasks.keep(Name { id: id.to_owned(), owner }, Home { ended, ..home });
    Ok(())
}

/// Remembers the task an answer speaks of, for the caller that began it. What has ended stays ended,
/// whatever is heard of it later: then the answer is made to say so.
pub(crate) async fn note(
    gateway: &Gateway,
    request: &CallRequest,
    answer: &mut Answer,
    tool: &Tool,
    call: &Call,
) {
    let Some(id) = answer.task_id().map(str::to_owned) else { return };
    let name = Name { id, owner: owner(&request.caller) };
    if request.method.is_tool_call() {
        begun(gateway, name.clone(), tool, call).await;
    }
    let ended = answer.task_state().filter(|said| said.is_final());
    let known = gateway.tasks.home(&name.id, &request.caller).and_then(|home| home.ended);
    let in_force = match (known, ended) {
        (Some(known), _) => Some(known),
        (None, Some(ended)) => Some(has_ended(gateway, &name, ended).await),
        (None, None) => None,
    };
    if let Some(in_force) = in_force.filter(|state| answer.task_state() != Some(*state)) {
        unsay(answer, in_force);
    }
}

/// How the task stands that was asked about. Its end is known by asking, and by nothing else.
pub(crate) fn told(call: &Call, answer: &Answer) -> Option<TaskState> {
    let about = call.method.as_deref().is_some_and(|name| name.starts_with("tasks/"));
    let said = if about { answer.task_state()? } else { return None };
    let result = answer.rest.get("result").and_then(|result| result.get("isError"));
    let failed = said == TaskState::Completed && result.is_some_and(|failed| failed == true);
    Some(if failed { TaskState::Failed } else { said })
}

/// Why a task failed, in its upstream's words, and whether it may be begun again.
pub(crate) fn failure(answer: &Answer) -> Fault {
    let part = |key: &str, name: &str| answer.rest.get(key).and_then(|part| part.get(name));
    let why = answer.rest.get("statusMessage").or_else(|| part("error", "message"));
    let why = why.and_then(Value::as_str).map(|why| format!(": {why}")).unwrap_or_default();
    let fault = Fault::new(Code::UpstreamError, format!("the task failed{why}"));
    let retryable = fault.retryable();
    let fault = fault.with("retryable", retryable);
    match part("error", "code") {
        Some(code) => fault.with("upstream_code", code.clone()),
        None => fault,
    }
}

async fn begun(gateway: &Gateway, name: Name, tool: &Tool, call: &Call) {
    let home = Home {
        tool: tool.item.key.clone(),
        call_id: call.call_id.clone(),
        trace_id: call.trace_id.clone(),
        ended: None,
    };
    let body = json!(home).to_string();
    let row = TaskRow { task_id: name.id.clone(), principal: name.owner.clone(), body };
    gateway.tasks.keep(name, home);
    if let Err(fault) = Box::pin(gateway.store.keep_task(row, TASK_KEPT)).await {
        tracing::warn!(%fault, "a task may not outlive this process");
    }
}

/// How a task has ended: as was heard now, or as another gate has heard before.
async fn has_ended(gateway: &Gateway, name: &Name, said: TaskState) -> TaskState {
    let Name { id, owner } = name;
    let stored = Box::pin(gateway.store.end_task(id, owner, &word(said))).await;
    let ended = match stored {
        Ok(stored) => stored.as_deref().and_then(state).unwrap_or(said),
        Err(fault) => {
            tracing::warn!(%fault, "the end of a task may be forgotten with this process");
            said
        }
    };
    let mut known = gateway.tasks.known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(home) = known.homes.get_mut(name) {
        home.ended = Some(ended);
    }
    ended
}

impl Gateway {
    /// The tasks of this caller as their upstreams see them now. One that is gone is left out.
    pub async fn tasks_of(&self, caller: &Caller, client: &Arc<Client>) -> Vec<Cleared> {
        let names = self.store.tasks_of(&owner(caller), TASKS_LISTED_MAX).await;
        let names = names.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "tasks cannot be listed");
            Vec::new()
        });
        let mut found = Vec::new();
        for id in names {
            let request = CallRequest {
                method: Method::Task(TaskVerb::Get),
                client: Arc::clone(client),
                ..CallRequest::new(caller.clone(), id, Value::Null)
            };
            let done = Box::pin(self.call(request, Watch::default())).await;
            if done.fault.is_none() {
                found.push(done.cleared);
            }
        }
        found
    }
}

fn owner(caller: &Caller) -> String {
    caller.principal.account()
}

fn word(state: TaskState) -> String {
    json!(state).as_str().unwrap_or_default().to_owned()
}

fn state(word: &str) -> Option<TaskState> {
    TaskState::deserialize(json!(word)).ok()
}

/// Takes back what an upstream says of a task that has ended otherwise.
fn unsay(answer: &mut Answer, state: TaskState) {
    answer.written = None;
    for late in ["result", "error", "inputRequests"] {
        answer.rest.shift_remove(late);
    }
    answer.rest.insert("status".to_owned(), json!(state));
}
