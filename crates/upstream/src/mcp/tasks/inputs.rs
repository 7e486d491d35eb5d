//! What tasks of 2025-11-25 servers wait for, for clients of 2026-07-28. Such a server asks while its
//! client waits for the result; such a client finds the questions when it looks at the task and brings
//! the answers by `tasks/update`. In between they are kept here, in this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::fault::WireError;
use model::{Code, Fault};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::asking;
use crate::errand::{Errand, Listener, News, Question};
use crate::limits;
use crate::mcp::wire::Wire;

/// Tasks that wait, by id. A task that nobody waits for any more is no longer waited for here.
#[derive(Debug, Default)]
pub(in crate::mcp) struct Inputs(Mutex<BTreeMap<String, Waiting>>);

#[derive(Debug)]
struct Waiting {
    desk: Arc<Desk>,
    /// Waits for the result in the client's place, so that the server can ask.
    _waiting: AbortOnDropHandle<()>,
}

/// Where the questions of one task lie until they are answered.
#[derive(Debug, Default)]
struct Desk {
    open: Mutex<Open>,
    came: Notify,
}

#[derive(Debug, Default)]
struct Open {
    asked: usize,
    questions: BTreeMap<String, Asked>,
    /// The server waits no longer, so it asks no more.
    over: bool,
}

#[derive(Debug)]
struct Asked {
    method: String,
    params: Map<String, Value>,
    reply: oneshot::Sender<Result<Value, WireError>>,
}

impl Inputs {
    /// What the task asks, in the words of 2026-07-28. Waits a moment for its server to say so.
    pub(super) async fn asked(
        &self,
        wire: &Arc<impl Wire>,
        id: &str,
        errand: &Errand,
    ) -> Result<Map<String, Value>, Fault> {
        let desk = self.desk(wire, id, errand)?;
        let came = desk.came();
        // Nothing is lost if the time is up first: what comes later is found at the next look.
        drop(tokio::time::timeout(limits::TASK_INPUT_PATIENCE, came).await);
        Ok(desk.shown())
    }

    /// Brings answers to the server that asked. Keys that ask nothing are ignored.
    pub(super) fn give(
        &self,
        id: &str,
        params: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Fault> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let desk = waiting.get(id).map(|waiting| Arc::clone(&waiting.desk));
        drop(waiting);
        let Some(desk) = desk else {
            let message = "nothing is asked of this task here; look at it with `tasks/get` first";
            return Err(Fault::new(Code::ArgsInvalid, message));
        };
        let given = params.get("inputResponses").and_then(Value::as_object);
        let mut open = desk.open.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, response) in given.into_iter().flatten() {
            let asked = open.questions.remove(key);
            if asked.is_some_and(|asked| asked.reply.send(Ok(response.clone())).is_err()) {
                tracing::debug!("an upstream no longer waits for its answer");
            }
        }
        Ok(Map::new())
    }

    /// The task has ended: nothing is asked any more.
    pub(super) fn forget(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// Waits for none of them any more.
    pub(in crate::mcp) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn desk(&self, wire: &Arc<impl Wire>, id: &str, errand: &Errand) -> Result<Arc<Desk>, Fault> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, waiting| !waiting.desk.is_over());
        if let Some(known) = all.get(id) {
            return Ok(Arc::clone(&known.desk));
        }
        if all.len() >= limits::TASK_INPUTS_MAX {
            let message = "too many tasks of this upstream wait for input";
            return Err(Fault::new(Code::RateLimited, message));
        }
        let desk = Arc::new(Desk::default());
        let errand = apart(errand, &desk);
        let waiting = wait(Arc::clone(wire), id.to_owned(), errand, Arc::clone(&desk));
        let handle = AbortOnDropHandle::new(tokio::spawn(waiting));
        all.insert(id.to_owned(), Waiting { desk: Arc::clone(&desk), _waiting: handle });
        Ok(desk)
    }
}

/// The errand of the one who waits: of the same client, but it outlives the look at the task.
fn apart(errand: &Errand, desk: &Arc<Desk>) -> Errand {
    let heard = Arc::downgrade(desk);
    let news = Listener::new(move |news| match (news, heard.upgrade()) {
        (News::Question(question), Some(desk)) => desk.ask(question),
        (News::Question(_), None) => false,
        (News::Progress(_) | News::Log { .. }, _) => true,
    });
    Errand {
        cancel: CancellationToken::new(),
        timeout: limits::QUESTIONS_TIME,
        time: Arc::default(),
        news: Some(news),
        report: false,
        ..errand.clone()
    }
}

/// Waits until the server says how it ended; that is asked for again once the task says it has.
async fn wait(wire: Arc<impl Wire>, id: String, errand: Errand, desk: Arc<Desk>) {
    let params = Map::from_iter([("taskId".to_owned(), id.clone().into())]);
    let asking = asking("tasks/result", &id, params, &errand);
    if let Err(fault) = errand.bound(wire.ask(&asking)).await {
        tracing::debug!(%fault, "a task that waits for input ended otherwise");
    }
    desk.end();
}

impl Desk {
    fn ask(&self, question: Question) -> bool {
        let Question { method, params, reply } = question;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.questions.len() >= limits::ROUNDS_MAX {
            return false;
        }
        open.asked += 1;
        let key = format!("question-{}", open.asked);
        open.questions.insert(key, Asked { method, params, reply });
        drop(open);
        self.came.notify_waiters();
        true
    }

    async fn came(&self) {
        loop {
            let mut next = std::pin::pin!(self.came.notified());
            // From here on no call is missed, so looking comes second.
            next.as_mut().enable();
            if self.has_come() {
                return;
            }
            next.await;
        }
    }

    fn has_come(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.over || !open.questions.is_empty()
    }

    fn shown(&self) -> Map<String, Value> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = |(key, asked): (&String, &Asked)| {
            let mut params = asked.params.clone();
            // 2026-07-28 has no use for either.
            params.shift_remove("elicitationId");
            params.shift_remove("_meta");
            (key.clone(), json!({"method": asked.method, "params": params}))
        };
        open.questions.iter().map(shown).collect()
    }

    fn end(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        self.came.notify_waiters();
    }

    fn is_over(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).over
    }
}
