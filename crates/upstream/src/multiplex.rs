//! Many calls over one pipe: our own numbers, and who waits for which.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Code, Fault};
use protocol::RpcError;
use protocol::peer::FromServer;
use tokio::sync::oneshot;

use crate::connector::Bell;
use crate::errand::Errand;
use crate::limits;
use crate::mcp::Reply;
use crate::mcp::talk::{self, Heard, Questions};

type Outcome = Result<Reply, RpcError>;

/// The calls waiting for one upstream.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    next_id: AtomicI64,
    waiting: Mutex<BTreeMap<i64, Waiting>>,
    questions: Questions,
}

#[derive(Debug)]
struct Waiting {
    done: oneshot::Sender<Outcome>,
    errand: Option<Errand>,
}

/// A place in the queue. Dropping it before the answer frees the place and calls `on_drop`.
pub(crate) struct Ticket<F: FnMut(i64)> {
    pub(crate) id: i64,
    answer: oneshot::Receiver<Outcome>,
    pending: Arc<Pending>,
    on_drop: F,
    settled: bool,
}

impl Pending {
    /// Takes a number for one call. `on_drop` runs if the call is given up before its answer.
    pub(crate) fn enter<F: FnMut(i64)>(
        self: &Arc<Self>,
        errand: Option<&Errand>,
        on_drop: F,
    ) -> Result<Ticket<F>, Fault> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (done, answer) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= limits::PENDING_CALLS_MAX {
            return Err(Fault::new(Code::RateLimited, "too many calls wait for this upstream"));
        }
        waiting.insert(id, Waiting { done, errand: errand.cloned() });
        drop(waiting);
        Ok(Ticket { id, answer, pending: Arc::clone(self), on_drop, settled: false })
    }

    /// Hands a message to whoever waits for it. Late and unknown answers are nobody's.
    pub(crate) fn deliver(&self, message: FromServer, bell: Option<&Bell>) -> Heard {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let concerned = match message {
            FromServer::Response { id, outcome, written } => {
                let entry = waiting.remove(&id);
                let outcome = outcome.map(|value| Reply { value, written });
                if entry.is_none_or(|entry| entry.done.send(outcome).is_err()) {
                    tracing::debug!(id, "an answer nobody waits for");
                }
                return Heard::Done;
            }
            FromServer::Progress { id, .. } => waiting.get(&id).and_then(|w| w.errand.as_ref()),
            _ => concerned(waiting.values().filter_map(|w| w.errand.as_ref()), &message),
        };
        talk::hear(message, concerned, bell, &self.questions)
    }

    /// The upstream is gone: everybody who waits learns it now.
    pub(crate) fn fail_all(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Whose call a message belongs to that names none: the newest that can take it, and nobody's while
/// calls of several owners are under way.
pub(crate) fn concerned<'a>(
    underway: impl Iterator<Item = &'a Errand>,
    message: &FromServer,
) -> Option<&'a Errand> {
    let mut newest: Option<&Errand> = None;
    let mut owner: Option<&str> = None;
    for errand in underway {
        if owner.is_some_and(|owner| owner != errand.owner) {
            return None;
        }
        owner = Some(&errand.owner);
        let takes = match message {
            FromServer::Question { method, .. } => errand.client.takes(method),
            _ => true,
        };
        if takes {
            newest = Some(errand);
        }
    }
    newest
}

impl<F: FnMut(i64)> Ticket<F> {
    /// Waits for the answer. Losing this future gives the call up.
    pub(crate) async fn answer(mut self) -> Result<Reply, Fault> {
        let outcome = (&mut self.answer).await;
        self.settled = true;
        match outcome {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(protocol::peer::call_fault(error)),
            Err(_gone) => Err(Fault::new(
                Code::UpstreamUnavailable,
                "the upstream went away before it answered",
            )),
        }
    }
}

impl<F: FnMut(i64)> Drop for Ticket<F> {
    fn drop(&mut self) {
        if !self.settled {
            self.pending.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
            (self.on_drop)(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn response(id: i64) -> FromServer {
        FromServer::Response { id, outcome: Ok(json!(id)), written: None }
    }

    #[tokio::test]
    async fn answers_find_their_callers_in_any_order() {
        let pending = Arc::new(Pending::default());
        let first = pending.enter(None, |_| {}).unwrap();
        let second = pending.enter(None, |_| {}).unwrap();
        pending.deliver(response(second.id), None);
        pending.deliver(response(99), None);
        pending.deliver(response(first.id), None);
        assert_eq!(first.answer().await.unwrap().value, json!(1));
        assert_eq!(second.answer().await.unwrap().value, json!(2));
    }

    #[tokio::test]
    async fn giving_up_tells_the_upstream_and_frees_the_place() {
        let pending = Arc::new(Pending::default());
        let told = Mutex::new(Vec::new());
        let ticket = pending.enter(None, |id| told.lock().unwrap().push(id)).unwrap();
        drop(ticket);
        assert_eq!(*told.lock().unwrap(), [1]);
        assert!(pending.waiting.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn everybody_learns_that_the_upstream_is_gone() {
        let pending = Arc::new(Pending::default());
        let ticket = pending.enter(None, |_| panic!("nothing to cancel")).unwrap();
        pending.fail_all();
        assert_eq!(ticket.answer().await.unwrap_err().code, Code::UpstreamUnavailable);
    }

    #[test]
    fn what_names_no_call_reaches_nobody_while_several_could_be_meant() {
        let of = |owner: &str| Errand { owner: owner.to_owned(), ..Errand::quiet() };
        let check = |owners: &[&str], heard: bool| {
            let errands: Vec<Errand> = owners.iter().map(|owner| of(owner)).collect();
            assert_eq!(
                concerned(errands.iter(), &FromServer::Other).is_some(),
                heard,
                "{owners:?}"
            );
        };
        check(&[], false);
        check(&["ann"], true);
        check(&["ann", "ann"], true);
        check(&["ann", "bob"], false);
    }

    #[tokio::test]
    async fn the_queue_is_bounded() {
        let pending = Arc::new(Pending::default());
        let tickets: Vec<_> =
            (0..limits::PENDING_CALLS_MAX).map(|_| pending.enter(None, |_| {}).unwrap()).collect();
        let refused = pending.enter(None, |_| {}).map(|ticket| ticket.id);
        assert_eq!(refused.unwrap_err().code, Code::RateLimited);
        drop(tickets);
        assert!(pending.enter(None, |_| {}).is_ok());
    }
}
