//! Whose a task is and which tool began it. The upstream keeps the task itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use catalog::Entry as Tool;
use context::Cleared;
use model::task::TaskState;
use model::{Answer, Call, CallId, Caller, Client, ItemKey, Method, TaskVerb, TraceId};
use serde_json::{Value, json};

use crate::call::{CallRequest, Watch};
use crate::gateway::Gateway;

/// Tasks remembered; beyond that the oldest are forgotten.
const TASKS_MAX: usize = 10_000;
/// Tasks of one list, newest first.
const TASKS_LISTED_MAX: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    homes: BTreeMap<String, Home>,
    oldest_first: VecDeque<String>,
}

/// Where a task came from, and the last that was heard of it.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) tool: ItemKey,
    /// The call that began it, which every later one is joined to.
    pub(crate) call_id: CallId,
    pub(crate) trace_id: TraceId,
    owner: String,
    state: TaskState,
}

impl Tasks {
    /// Remembers the task an answer speaks of, for the caller that began it. What has ended stays
    /// ended, whatever is heard of it later: then the answer is made to say so.
    pub(crate) fn note(&self, answer: &mut Answer, tool: &Tool, caller: &Caller, call: &Call) {
        let Some(id) = answer.task_id().map(str::to_owned) else { return };
        let said = answer.task_state();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = known.homes.get_mut(&id) {
            match said {
                Some(said) if home.state.is_final() && said != home.state => {
                    unsay(answer, home.state);
                }
                Some(said) => home.state = said,
                None => {}
            }
            return;
        }
        let home = Home {
            tool: tool.item.key.clone(),
            call_id: call.call_id.clone(),
            trace_id: call.trace_id.clone(),
            owner: owner(caller),
            state: said.unwrap_or(TaskState::Working),
        };
        known.homes.insert(id.clone(), home);
        known.oldest_first.push_back(id);
        if known.oldest_first.len() > TASKS_MAX
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.homes.remove(&oldest);
        }
    }

    /// Where a task of this caller comes from; another's task is an unknown one.
    pub(crate) fn home(&self, id: &str, caller: &Caller) -> Option<Home> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.homes.get(id).filter(|home| home.owner == owner(caller)).cloned()
    }

    /// The tasks of this caller, oldest first.
    pub(crate) fn of(&self, caller: &Caller) -> Vec<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owner(caller);
        let mine = |id: &&String| known.homes.get(*id).is_some_and(|home| home.owner == owner);
        known.oldest_first.iter().filter(mine).cloned().collect()
    }
}

impl Gateway {
    /// The tasks of this caller as their upstreams see them now. One that is gone is left out.
    pub async fn tasks_of(&self, caller: &Caller, client: &Arc<Client>) -> Vec<Cleared> {
        let mut found = Vec::new();
        for id in self.tasks.of(caller).into_iter().rev().take(TASKS_LISTED_MAX) {
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
    let tenant = caller.principal.tenant_id.as_deref().unwrap_or_default();
    format!("{tenant}/{}", caller.principal)
}

/// Takes back what an upstream says of a task that has ended otherwise.
fn unsay(answer: &mut Answer, state: TaskState) {
    answer.written = None;
    for late in ["result", "error", "inputRequests"] {
        answer.rest.shift_remove(late);
    }
    answer.rest.insert("status".to_owned(), json!(state));
}
