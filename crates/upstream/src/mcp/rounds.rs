//! A server of 2026-07-28 asks by answering "input required"; a client from before is asked while it
//! waits. Here the one becomes the other. Clients that take part in rounds themselves get theirs.

use model::{Code, Fault};
use protocol::peer;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::visit;
use super::wire::{Asking, Reply, Wire};
use crate::errand::{Errand, News, Question};
use crate::limits;

/// Asks until the server is content, or the client is one that goes on itself.
pub(super) async fn settle(wire: &impl Wire, mut asking: Asking<'_>) -> Result<Reply, Fault> {
    visit::returned(&mut asking)?;
    for _ in 0..limits::ROUNDS_MAX {
        let reply = match (wire.ask(&asking).await, asking.errand) {
            (Err(fault), Some(errand)) => visit::wanted(fault, errand)?,
            (asked, _) => asked?,
        };
        let Some(errand) = asking.errand.filter(|errand| !errand.client.rounds) else {
            return Ok(reply);
        };
        if reply.value.get("resultType").is_none_or(|kind| kind != "input_required") {
            return Ok(reply);
        }
        let mut responses = Map::new();
        let questions = reply.value.get("inputRequests").and_then(Value::as_object);
        for (key, question) in questions.into_iter().flatten() {
            responses.insert(key.clone(), ask(errand, question).await?);
        }
        asking.params.to_mut().insert("inputResponses".to_owned(), responses.into());
        match reply.value.get("requestState") {
            Some(state) => {
                drop(asking.params.to_mut().insert("requestState".to_owned(), state.clone()));
            }
            None => drop(asking.params.to_mut().shift_remove("requestState")),
        }
    }
    Err(Fault::new(Code::UpstreamError, "the upstream asks again and again and does not answer"))
}

#[cfg(test)]
mod tests;

pub(super) async fn ask(errand: &Errand, question: &Value) -> Result<Value, Fault> {
    let method = question.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    let params = question.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
    let listener = errand.news.as_ref().filter(|_| errand.client.can_answer(&method, &params));
    let (reply, answer) = oneshot::channel();
    let _paused = errand.time.pause();
    let heard = listener.is_some_and(|listener| {
        listener.tell(News::Question(Question { method: method.clone(), params, reply }))
    });
    let outcome = if heard { answer.await.ok() } else { None };
    match outcome {
        Some(Ok(result)) => Ok(result),
        Some(Err(error)) => Err(Fault::new(
            Code::UpstreamError,
            format!("the client did not answer what the upstream asked: {}", error.message),
        )),
        None => peer::unanswered(&method).map_err(|_not_offered| {
            let message =
                format!("the upstream asks for `{method}`, which this client does not offer");
            Fault::new(Code::UpstreamError, message)
        }),
    }
}
