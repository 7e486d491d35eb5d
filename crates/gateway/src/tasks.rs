//! Whose a task is and which tool began it. The upstream keeps the task itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use catalog::Entry as Tool;
use context::Cleared;
use model::{Answer, Caller, Client, ItemKey, Method, TaskVerb};
use serde_json::Value;

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

#[derive(Clone, Debug)]
struct Home {
    tool: ItemKey,
    owner: String,
}

impl Tasks {
    /// Remembers the task an answer speaks of, for the caller that began it.
    pub(crate) fn note(&self, answer: &Answer, tool: &Tool, caller: &Caller) {
        let Some(id) = task_id(answer) else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.homes.contains_key(id) {
            return;
        }
        let home = Home { tool: tool.item.key.clone(), owner: owner(caller) };
        known.homes.insert(id.to_owned(), home);
        known.oldest_first.push_back(id.to_owned());
        if known.oldest_first.len() > TASKS_MAX
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.homes.remove(&oldest);
        }
    }

    /// The tool that began a task of this caller; another's task is an unknown one.
    pub(crate) fn home(&self, id: &str, caller: &Caller) -> Option<ItemKey> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let home = known.homes.get(id).filter(|home| home.owner == owner(caller))?;
        Some(home.tool.clone())
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

/// 2026-07-28 puts the task into the result itself, 2025-11-25 one level down.
fn task_id(answer: &Answer) -> Option<&str> {
    let flat = answer.rest.get("taskId");
    let nested = answer.rest.get("task").and_then(|task| task.get("taskId"));
    flat.or(nested).and_then(Value::as_str)
}
