//! What this process remembers of one client between its requests, and only this process.
//!
//! Nothing here is needed to answer a request; a client that comes back to another replica loses
//! questions that were open and what it follows, as after a broken connection.

mod stream;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use gateway::Gateway;
use model::fault::WireError;
use model::{Caller, Code, Fault, LogLevel};
use protocol::{Id, RpcError};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub use self::stream::Stream;
use self::stream::Streams;
use crate::limits;

type Reply = oneshot::Sender<Result<Value, WireError>>;

#[derive(Debug)]
pub struct Memory {
    /// None once the client has gone.
    asked: Mutex<Option<HashMap<Id, Reply>>>,
    last_question: AtomicU64,
    level: Mutex<Option<LogLevel>>,
    followed: Mutex<BTreeSet<String>>,
    /// Where it is followed, and for whom.
    through: OnceLock<(Weak<Gateway>, Caller)>,
    /// Visits the client was asked for, oldest first, by the names they have.
    visits: Mutex<VecDeque<String>>,
    streams: Mutex<Streams>,
    /// Made by who wants to hear that the client has gone.
    gone: OnceLock<CancellationToken>,
    promised: Mutex<Option<Map<String, Value>>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            asked: Mutex::new(Some(HashMap::new())),
            last_question: AtomicU64::default(),
            level: Mutex::default(),
            followed: Mutex::default(),
            through: OnceLock::new(),
            visits: Mutex::default(),
            streams: Mutex::default(),
            gone: OnceLock::new(),
            promised: Mutex::default(),
        }
    }
}

impl Memory {
    /// Remembers a question to the client and gives the id it goes out under. Of one that has gone
    /// nobody need wait for an answer.
    pub fn ask(&self, reply: Reply) -> Id {
        let number = self.last_question.fetch_add(1, Ordering::Relaxed) + 1;
        let id = Id::Text(format!("gate-{number}"));
        if let Some(asked) = self.asked.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            asked.insert(id.clone(), reply);
        }
        id
    }

    /// Hands the client's answer to whoever asked. Answers nobody waits for are not missed.
    pub fn answered(&self, id: &Id, outcome: Result<Value, RpcError>) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = asked.as_mut().and_then(|asked| asked.remove(id));
        drop(asked);
        let outcome = outcome.map_err(|error| WireError {
            code: error.code,
            message: error.message,
            data: error.data,
        });
        if reply.is_none_or(|reply| reply.send(outcome).is_err()) {
            tracing::debug!("a client answered what nobody asked");
        }
    }

    /// Gives questions up; whoever asked hears that nobody answers.
    pub fn forget(&self, questions: &[Id]) {
        if questions.is_empty() {
            return;
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = asked.as_mut() {
            asked.retain(|id, _| !questions.contains(id));
        }
    }

    /// The client has gone: nobody answers what it was asked, now or later, and its streams end.
    pub fn leave(&self) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.gone.get_or_init(CancellationToken::new).cancel();
    }

    /// Whether nothing of what the client wants to hear would be lost with this.
    pub fn is_blank(&self) -> bool {
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        followed.is_empty() && visits.is_empty() && self.level().is_none()
    }

    pub fn level(&self) -> Option<LogLevel> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_level(&self, level: LogLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// What the client was told that the gate can do; it counts on no more and on no less, whatever
    /// the gate can do by now.
    pub fn promised(&self) -> Option<Map<String, Value>> {
        self.promised.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn promise(&self, capabilities: Map<String, Value>) {
        *self.promised.lock().unwrap_or_else(PoisonError::into_inner) = Some(capabilities);
    }

    /// Notes that a resource is followed, or no longer; whether that is news.
    pub fn follow(&self, uri: &str, wanted: bool) -> Result<bool, Fault> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if !wanted {
            return Ok(followed.remove(uri));
        }
        if followed.len() >= limits::FOLLOWED_PER_CLIENT_MAX && !followed.contains(uri) {
            let message = "too many resources are followed; let some go";
            return Err(Fault::new(Code::RateLimited, message));
        }
        Ok(followed.insert(uri.to_owned()))
    }

    /// What was noted has not come about.
    pub fn take_back(&self, uri: &str, wanted: bool) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted {
            followed.remove(uri)
        } else {
            followed.insert(uri.to_owned())
        };
    }

    /// What is followed is let go there when this is forgotten.
    pub fn follow_through(&self, gateway: &Arc<Gateway>, caller: &Caller) {
        self.through.get_or_init(|| (Arc::downgrade(gateway), caller.clone()));
    }

    pub fn follows(&self, uri: &str) -> bool {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }

    pub fn followed(&self) -> Vec<String> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Notes that the client's person was sent somewhere.
    pub fn sent_away(&self, elicitation_id: &str) {
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        visits.retain(|visit| visit != elicitation_id);
        if visits.len() >= limits::VISITS_PER_ACCOUNT_MAX {
            visits.pop_front();
        }
        visits.push_back(elicitation_id.to_owned());
    }

    /// Whether this client's person was sent there. It is told so once.
    pub fn came_back(&self, elicitation_id: &str) -> bool {
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let before = visits.len();
        visits.retain(|visit| visit != elicitation_id);
        visits.len() < before
    }
}

impl Drop for Memory {
    /// A client that has gone follows nothing any more, and an upstream nobody follows may rest.
    fn drop(&mut self) {
        let followed = self.followed();
        let Some((gateway, caller)) = self.through.take().filter(|_| !followed.is_empty()) else {
            return;
        };
        let (Some(gateway), Ok(runtime)) =
            (gateway.upgrade(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        drop(runtime.spawn(async move {
            for uri in followed {
                if let Err(fault) = gateway.follow(&caller, &uri, false).await {
                    tracing::debug!(%fault, "an upstream was not told that a follower has gone");
                }
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn an_answer_finds_its_question() {
        let memory = Memory::default();
        let (reply, answer) = oneshot::channel();
        let id = memory.ask(reply);
        memory.answered(&Id::Text("other".into()), Ok(json!(1)));
        memory.answered(&id, Ok(json!({"action": "accept"})));
        assert_eq!(answer.await.unwrap().unwrap(), json!({"action": "accept"}));
        memory.answered(&id, Ok(json!(2)));
    }

    #[tokio::test]
    async fn a_question_given_up_is_answered_by_nobody() {
        let memory = Memory::default();
        let (reply, answer) = oneshot::channel();
        let id = memory.ask(reply);
        memory.forget(&[id]);
        assert!(answer.await.is_err());
    }

    #[tokio::test]
    async fn a_client_that_has_gone_answers_nothing() {
        let memory = Memory::default();
        let (before, answer_before) = oneshot::channel();
        memory.ask(before);
        memory.leave();
        let (after, answer_after) = oneshot::channel();
        memory.ask(after);
        assert!(answer_before.await.is_err() && answer_after.await.is_err());
    }

    #[test]
    fn what_was_not_granted_is_not_followed() {
        let memory = Memory::default();
        assert_eq!(memory.follow("a:b", true), Ok(true));
        assert_eq!(memory.follow("a:b", true), Ok(false));
        memory.take_back("a:b", true);
        assert_eq!(memory.follow("a:b", false), Ok(false));
        for number in 0..limits::FOLLOWED_PER_CLIENT_MAX {
            assert_eq!(memory.follow(&format!("a:{number}"), true), Ok(true));
        }
        assert_eq!(memory.follow("a:b", true).unwrap_err().code, Code::RateLimited);
        assert_eq!(memory.follow("a:0", true), Ok(false));
    }
}
