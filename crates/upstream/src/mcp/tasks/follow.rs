//! A task followed to its end by the gate, for a client that knows nothing of it. Who gives the call
//! up gives the task up: nobody else could.

use std::sync::Arc;
use std::time::Duration;

use model::{Code, Fault};
use protocol::{RpcError, jsonrpc, peer};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{about, asking, rounds, status};
use crate::errand::Errand;
use crate::limits;
use crate::mcp::wire::{Reply, Wire};

/// Follows a task of 2026-07-28 that was made in the client's place. It is called off with the call.
pub(super) async fn for_client(
    wire: &Arc<impl Wire>,
    task: &Map<String, Value>,
    errand: &Errand,
) -> Result<Map<String, Value>, Fault> {
    let mut own = Own::new(wire, id(task), errand);
    let done = follow(wire.as_ref(), task, errand).await;
    own.over = true;
    done
}

/// The same for a server of 2025-11-25: it lets its client wait for the result, and asks what it
/// needs meanwhile.
pub(super) async fn to_its_end(
    wire: &Arc<impl Wire>,
    task: &Map<String, Value>,
    errand: &Errand,
) -> Result<Reply, Fault> {
    let id = id(task);
    let mut own = Own::new(wire, id.clone(), errand);
    let params = Map::from_iter([("taskId".to_owned(), id.clone().into())]);
    let done = wire.ask(&asking("tasks/result", &id, params, errand)).await;
    own.over = true;
    done
}

/// Follows a task of 2026-07-28 to its end, answering what it asks on the way.
pub(super) async fn follow(
    wire: &impl Wire,
    task: &Map<String, Value>,
    errand: &Errand,
) -> Result<Map<String, Value>, Fault> {
    let id = id(task);
    let mut task = task.clone();
    loop {
        match status(&task) {
            "completed" | "failed" => return outcome(task),
            "cancelled" => {
                return Err(Fault::new(Code::UpstreamError, "the upstream cancelled the task"));
            }
            "input_required" => {
                let responses = answers(errand, task.get("inputRequests")).await?;
                let params = Map::from_iter([
                    ("taskId".to_owned(), id.clone().into()),
                    ("inputResponses".to_owned(), responses.into()),
                ]);
                wire.ask(&asking("tasks/update", &id, params, errand)).await?;
            }
            _ => {}
        }
        tokio::time::sleep(poll_interval(&task)).await;
        task = about(wire, "tasks/get", &id, errand).await?;
    }
}

/// A task nobody but us knows of. Dropped before its end, it is cancelled.
struct Own<W: Wire> {
    wire: Arc<W>,
    id: String,
    errand: Errand,
    over: bool,
}

impl<W: Wire> Own<W> {
    fn new(wire: &Arc<W>, id: String, errand: &Errand) -> Self {
        // The call may be given up; this errand may not.
        let errand = Errand {
            cancel: CancellationToken::new(),
            timeout: limits::STOP_GRACE,
            time: Arc::default(),
            news: None,
            ..errand.clone()
        };
        Self { wire: Arc::clone(wire), id, errand, over: false }
    }
}

impl<W: Wire> Drop for Own<W> {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.over {
            return;
        }
        let (wire, id, errand) =
            (Arc::clone(&self.wire), std::mem::take(&mut self.id), self.errand.clone());
        runtime.spawn(async move {
            let told = errand.bound(about(wire.as_ref(), "tasks/cancel", &id, &errand)).await;
            if let Err(fault) = told {
                tracing::debug!(%fault, "a task nobody waits for could not be cancelled");
            }
        });
    }
}

fn id(task: &Map<String, Value>) -> String {
    task.get("taskId").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn outcome(mut task: Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    if let Some(Value::Object(mut result)) = task.shift_remove("result") {
        result.shift_remove("resultType");
        return Ok(result);
    }
    let error = task.get("error");
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
    let message = error.and_then(|error| error.get("message")).and_then(Value::as_str);
    let error = RpcError::new(
        code.unwrap_or(jsonrpc::INTERNAL_ERROR),
        message.unwrap_or("the task failed").to_owned(),
    );
    Err(peer::call_fault(error))
}

async fn answers(errand: &Errand, questions: Option<&Value>) -> Result<Map<String, Value>, Fault> {
    let mut responses = Map::new();
    for (key, question) in questions.and_then(Value::as_object).into_iter().flatten() {
        responses.insert(key.clone(), rounds::ask(errand, question).await?);
    }
    Ok(responses)
}

fn poll_interval(task: &Map<String, Value>) -> Duration {
    let wanted = task.get("pollIntervalMs").and_then(Value::as_u64).map(Duration::from_millis);
    let wanted = wanted.unwrap_or(limits::TASK_POLL_MAX);
    wanted.clamp(limits::TASK_POLL_MIN, limits::TASK_POLL_MAX)
}
