//! Calls that go on as tasks, between the two designs there have been: 2025-11-25, where the client
//! asks for a task, and the extension of 2026-07-28, where the server decides. Each side gets its own,
//! and a client that follows none gets the answer once it is there.

mod follow;
mod inputs;

use std::borrow::Cow;
use std::sync::Arc;

use model::{Client, Code, Fault, Method, TaskVerb};
use protocol::jsonrpc;
use protocol::tasks::{EXTENSION, as_legacy, as_modern};
use serde_json::{Map, Value, json};

use self::follow::follow;
pub(super) use self::inputs::Inputs;
use super::rounds;
use super::wire::{Asking, Reply, Wire};
use crate::errand::Errand;

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// In the parameters of a call, that its client asks for a task (2025-11-25).
pub(super) const WISH: &str = "task";

/// The parameters as a client means them: since 2026-07-28 it is not for clients to ask for a task.
pub(super) fn without_wish<'p>(
    params: &'p Map<String, Value>,
    errand: &Errand,
) -> Cow<'p, Map<String, Value>> {
    if !errand.client.rounds || !params.contains_key(WISH) {
        return Cow::Borrowed(params);
    }
    let mut params = params.clone();
    params.shift_remove(WISH);
    Cow::Owned(params)
}

/// Makes a call that is to become a task: its client asked for one, or its server of 2025-11-25 makes
/// it no other way.
pub(super) async fn call(
    wire: &Arc<impl Wire>,
    mut asking: Asking<'_>,
    errand: &Errand,
) -> Result<Reply, Fault> {
    let wanted = asking.params.contains_key(WISH);
    if !is_modern(wire.as_ref()).await? {
        asking.params.to_mut().entry(WISH).or_insert_with(|| json!({}));
        let reply = rounds::settle(wire.as_ref(), asking).await?;
        return match legacy_task(&reply.value) {
            Some(task) if errand.client.rounds && follows(&errand.client) => {
                Ok(reply_of(as_modern(task)))
            }
            Some(task) if !wanted => follow::to_its_end(wire, task, errand).await,
            _ => Ok(reply),
        };
    }
    // Here the server decides, and the word has no meaning.
    asking.params.to_mut().shift_remove(WISH);
    if errand.client.rounds {
        return rounds::settle(wire.as_ref(), asking).await;
    }
    let able = declaring(errand);
    let reply = rounds::settle(wire.as_ref(), Asking { errand: Some(&able), ..asking }).await?;
    Ok(match modern_task(&reply.value) {
        Some(task) => reply_of(Map::from_iter([("task".to_owned(), as_legacy(task).into())])),
        None => reply,
    })
}

/// Whether a server of 2026-07-28 refused for want of a client that follows tasks, and this client
/// cannot know of them.
pub(super) fn stand_in(fault: &Fault, errand: &Errand) -> bool {
    !errand.client.rounds && wants_tasks(fault)
}

/// Makes the call as a task, follows that in the client's place, and gives its result.
pub(super) async fn in_its_place(
    wire: &Arc<impl Wire>,
    asking: Asking<'_>,
    errand: &Errand,
) -> Result<Reply, Fault> {
    let able = declaring(errand);
    let reply = rounds::settle(wire.as_ref(), Asking { errand: Some(&able), ..asking }).await?;
    finish_unasked(wire, &reply, &able).await
}

/// Whether a server of 2026-07-28 made a task for a client that cannot follow it: one that does not
/// declare the extension, or one from before, to which it means nothing whatever it declares.
pub(super) fn is_unasked(reply: &Reply, errand: &Errand) -> bool {
    modern_task(&reply.value).is_some() && !(errand.client.rounds && follows(&errand.client))
}

/// Follows such a task in the client's place, and gives its result.
pub(super) async fn finish_unasked(
    wire: &Arc<impl Wire>,
    reply: &Reply,
    errand: &Errand,
) -> Result<Reply, Fault> {
    match modern_task(&reply.value) {
        Some(task) => follow::for_client(wire, task, &declaring(errand)).await.map(reply_of),
        None => Ok(reply.clone()),
    }
}

/// Does something about a task for a client of the other design; none where both have the same.
pub(super) async fn ask(
    wire: &Arc<impl Wire>,
    inputs: &Inputs,
    method: &Method,
    params: &Map<String, Value>,
    errand: &Errand,
) -> Option<Result<Map<String, Value>, Fault>> {
    let Method::Task(verb) = method else { return None };
    let modern = match is_modern(wire.as_ref()).await {
        Ok(modern) => modern,
        Err(fault) => return Some(Err(fault)),
    };
    let id = params.get("taskId").and_then(Value::as_str).unwrap_or_default();
    match (errand.client.rounds, modern) {
        (true, false) => Some(match verb {
            TaskVerb::Update => inputs.give(id, params),
            verb => for_modern(wire, inputs, *verb, id, errand).await,
        }),
        (false, true) => Some(for_legacy(wire.as_ref(), *verb, id, &declaring(errand)).await),
        _ => None,
    }
}

/// A client of 2026-07-28 asks a server of 2025-11-25.
async fn for_modern(
    wire: &Arc<impl Wire>,
    inputs: &Inputs,
    verb: TaskVerb,
    id: &str,
    errand: &Errand,
) -> Result<Map<String, Value>, Fault> {
    if verb == TaskVerb::Cancel {
        inputs.forget(id);
        return about(wire.as_ref(), "tasks/cancel", id, errand).await.map(|_task| Map::new());
    }
    let task = about(wire.as_ref(), "tasks/get", id, errand).await?;
    let mut told = as_modern(&task);
    told.insert("resultType".to_owned(), "complete".into());
    match status(&task) {
        "completed" | "failed" => {
            inputs.forget(id);
            match about(wire.as_ref(), "tasks/result", id, errand).await {
                Ok(result) => drop(told.insert("result".to_owned(), result.into())),
                Err(fault) => drop(told.insert("error".to_owned(), error_of(fault)?)),
            }
        }
        "input_required" => {
            let asked = inputs.asked(wire, id, errand).await?;
            told.insert("inputRequests".to_owned(), asked.into());
        }
        _ => {}
    }
    Ok(told)
}

/// A client of 2025-11-25 asks a server of 2026-07-28.
async fn for_legacy(
    wire: &impl Wire,
    verb: TaskVerb,
    id: &str,
    errand: &Errand,
) -> Result<Map<String, Value>, Fault> {
    match verb {
        TaskVerb::Get | TaskVerb::Update => {
            about(wire, "tasks/get", id, errand).await.map(|task| as_legacy(&task))
        }
        TaskVerb::Result => {
            let task = about(wire, "tasks/get", id, errand).await?;
            let mut result = follow(wire, &task, errand).await?;
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert(RELATED.to_owned(), json!({"taskId": id}));
            }
            Ok(result)
        }
        TaskVerb::Cancel => {
            about(wire, "tasks/cancel", id, errand).await?;
            about(wire, "tasks/get", id, errand).await.map(|task| as_legacy(&task))
        }
    }
}

async fn about(
    wire: &impl Wire,
    method: &str,
    id: &str,
    errand: &Errand,
) -> Result<Map<String, Value>, Fault> {
    let params = Map::from_iter([("taskId".to_owned(), id.into())]);
    match wire.ask(&asking(method, id, params, errand)).await?.value {
        Value::Object(told) => Ok(told),
        _ => Err(Fault::new(Code::UpstreamError, "the upstream's result is not an object")),
    }
}

fn asking<'a>(
    method: &'a str,
    id: &'a str,
    params: Map<String, Value>,
    errand: &'a Errand,
) -> Asking<'a> {
    Asking { name: Some(id), errand: Some(errand), ..Asking::own(method, params) }
}

/// The same errand for a client that says it follows tasks: the gate does so in its place.
fn declaring(errand: &Errand) -> Errand {
    let mut client = Client::clone(&errand.client);
    let extensions = client.capabilities.entry("extensions").or_insert_with(|| json!({}));
    if let Some(extensions) = extensions.as_object_mut() {
        extensions.insert(EXTENSION.to_owned(), json!({}));
    }
    Errand { client: client.into(), ..errand.clone() }
}

fn follows(client: &Client) -> bool {
    let extensions = client.capabilities.get("extensions");
    extensions.is_some_and(|extensions| extensions.get(EXTENSION).is_some())
}

/// It refuses for want of nothing else.
fn wants_tasks(fault: &Fault) -> bool {
    fault.upstream.as_ref().is_some_and(|error| {
        let wanted = format!("/requiredCapabilities/extensions/{}", EXTENSION.replace('/', "~1"));
        let data = error.data.as_ref();
        error.code == jsonrpc::MISSING_CAPABILITY
            && data.is_some_and(|data| data.pointer(&wanted).is_some())
    })
}

fn legacy_task(result: &Value) -> Option<&Map<String, Value>> {
    result.get("task")?.as_object().filter(|task| task.contains_key("taskId"))
}

fn modern_task(result: &Value) -> Option<&Map<String, Value>> {
    result.as_object().filter(|task| task.get("resultType").is_some_and(|kind| kind == "task"))
}

/// What a server answered in place of a result, for those who look for it in the task.
fn error_of(fault: Fault) -> Result<Value, Fault> {
    match &fault.upstream {
        Some(error) => {
            Ok(json!({"code": error.code, "message": error.message, "data": error.data}))
        }
        None => Err(fault),
    }
}

fn status(task: &Map<String, Value>) -> &str {
    task.get("status").and_then(Value::as_str).unwrap_or_default()
}

fn reply_of(result: Map<String, Value>) -> Reply {
    Reply { value: result.into(), written: None }
}

/// Asked of the server, which may have to be started first, not of what is known of it.
async fn is_modern(wire: &impl Wire) -> Result<bool, Fault> {
    Ok(wire.greet().await?.revision.is_modern())
}

#[cfg(test)]
mod tests;
