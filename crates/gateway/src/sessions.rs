//! Sessions of clients that begin with `initialize`, kept so that any replica knows them.
//!
//! The id is random and leaves the gate once; what is kept, here and of calls, is its hash.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use model::limits::{
    INTRODUCTION_BYTES_MAX, INTRODUCTION_VALUES_MAX, SESSION_HELD, SESSION_IDLE, SESSION_TOLD,
    SESSIONS_MAX, SESSIONS_PER_PRINCIPAL_MAX,
};
use model::{Caller, Code, Fault, SessionId, Timestamp, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::SessionRow;

use crate::gateway::Gateway;

/// How a client introduced itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Introduction {
    pub revision: String,
    pub client: Option<String>,
    pub capabilities: Map<String, Value>,
    pub info: Option<Value>,
}

/// Refuses what a client says of itself if it is too long to be kept.
pub fn fits(capabilities: &Map<String, Value>, info: Option<&Value>) -> Result<(), Fault> {
    let written = serde_json::to_vec(&(capabilities, info)).map_or(usize::MAX, |text| text.len());
    let values = capabilities.values().chain(info).map(count).sum::<usize>();
    if written <= INTRODUCTION_BYTES_MAX && values <= INTRODUCTION_VALUES_MAX {
        return Ok(());
    }
    let most = INTRODUCTION_BYTES_MAX / 1024;
    let message = format!(
        "`capabilities` and `clientInfo` may have at most {most} KiB and {INTRODUCTION_VALUES_MAX} \
         values together"
    );
    Err(Fault::new(Code::ArgsInvalid, message))
}

/// A value and those within it: in memory, it is their number that costs.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The name under which a session is kept and recorded. Nobody can go on with a session by it.
pub fn kept_as(id: &str) -> SessionId {
    SessionId::from_string(canonical::hash_bytes(id.as_bytes()))
}

#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<HashMap<SessionId, Session>>);

#[derive(Debug)]
struct Session {
    owner: String,
    introduction: Introduction,
    last_used: Timestamp,
    /// When the store last heard that it is in use.
    stored: Timestamp,
}

impl Gateway {
    pub async fn begin_session(
        &self,
        caller: &Caller,
        introduction: &Introduction,
    ) -> Result<SessionId, Fault> {
        fits(&introduction.capabilities, introduction.info.as_ref())?;
        let id = self.remember(caller, introduction)?;
        let body = serde_json::to_string(introduction)
            .map_err(|error| Fault::internal(format!("session: {error}")))?;
        let session_id = kept_as(id.as_str());
        let row = SessionRow { session_id, principal: owner(caller), body };
        Box::pin(self.store.keep_session(row, SESSION_IDLE, SESSIONS_PER_PRINCIPAL_MAX)).await?;
        Ok(id)
    }

    fn remember(&self, caller: &Caller, introduction: &Introduction) -> Result<SessionId, Fault> {
        let (owner, now) = (owner(caller), self.clock.now());
        let mut kept = self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !has_room(&mut kept, &owner, now) {
            return Err(Fault::new(Code::RateLimited, "too many sessions are open; close some"));
        }
        let id = SessionId::random();
        let introduction = introduction.clone();
        let session = Session { owner, introduction, last_used: now, stored: now };
        kept.insert(kept_as(id.as_str()), session);
        Ok(id)
    }

    /// The session with this id, if it is the caller's and has not ended, here or at another gate.
    ///
    /// The store is asked each time: whoever serves many requests takes the answer for granted for
    /// a while.
    pub async fn find_session(
        &self,
        id: &str,
        caller: &Caller,
    ) -> Result<Option<Introduction>, Fault> {
        let (id, owner) = (kept_as(id), owner(caller));
        let Some((known, untold)) = self.known_session(&id, &owner) else {
            return Box::pin(self.stored_session(id, owner)).await;
        };
        let alive = if untold {
            Box::pin(self.store.touch_session(id.as_str(), &owner)).await
        } else {
            let found = Box::pin(self.store.session(id.as_str(), &owner, SESSION_IDLE)).await;
            found.map(|body| body.is_some())
        };
        match alive {
            Ok(true) => Ok(Some(known)),
            Ok(false) => {
                self.forget_session(&id);
                Ok(None)
            }
            Err(fault) => {
                tracing::warn!(%fault, "a session in use may not outlive this process");
                Ok(Some(known))
            }
        }
    }

    /// A session of an earlier run or of another gate. Where memory has no room for it, the store is
    /// asked again next time.
    async fn stored_session(
        &self,
        id: SessionId,
        owner: String,
    ) -> Result<Option<Introduction>, Fault> {
        let now = self.clock.now();
        let found = self.store.session(id.as_str(), &owner, SESSION_IDLE).await?;
        let Some(body) = found else { return Ok(None) };
        let introduction: Introduction = serde_json::from_str(&body)
            .map_err(|error| Fault::internal(format!("session: {error}")))?;
        let mut kept = self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
        if has_room(&mut kept, &owner, now) {
            let introduction = introduction.clone();
            // Told to the store at the next use: it may have been seen last an hour ago.
            let stored = Timestamp::from_millis(0);
            kept.insert(id, Session { owner, introduction, last_used: now, stored });
        }
        Ok(Some(introduction))
    }

    /// A session that this gate holds, and whether the store should hear that it is in use.
    fn known_session(&self, id: &SessionId, owner: &str) -> Option<(Introduction, bool)> {
        let now = self.clock.now();
        let mut kept = self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = kept.get_mut(id).filter(|session| {
            session.owner == owner && now.since(session.last_used) < SESSION_HELD
        })?;
        session.last_used = now;
        let untold = now.since(session.stored) >= SESSION_TOLD;
        if untold {
            session.stored = now;
        }
        Some((session.introduction.clone(), untold))
    }

    /// Ends a session; whether there was one of this caller's.
    pub async fn end_session(&self, id: &str, caller: &Caller) -> Result<bool, Fault> {
        let mine = self.find_session(id, caller).await?.is_some();
        if mine {
            let id = kept_as(id);
            self.forget_session(&id);
            Box::pin(self.store.end_session(id.as_str(), &owner(caller))).await?;
        }
        Ok(mine)
    }

    fn forget_session(&self, id: &SessionId) {
        self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// Whether one more of this owner's finds room, once those that nobody uses have left.
fn has_room(kept: &mut HashMap<SessionId, Session>, owner: &str, now: Timestamp) -> bool {
    kept.retain(|_, session| now.since(session.last_used) < SESSION_HELD);
    let mine = kept.values().filter(|session| session.owner == owner).count();
    kept.len() < SESSIONS_MAX && mine < SESSIONS_PER_PRINCIPAL_MAX
}

fn owner(caller: &Caller) -> String {
    caller.principal.account()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// D3: in memory a bracket costs many times its byte.
    #[test]
    fn what_a_client_says_of_itself_has_few_values() {
        let check = |lists: usize, fitting: bool| {
            let lists = vec![json!([]); lists];
            let capabilities = Map::from_iter([("experimental".to_owned(), json!(lists))]);
            assert_eq!(fits(&capabilities, Some(&json!({"name": "c"}))).is_ok(), fitting);
        };
        // The list itself, what the client is, and its name.
        check(INTRODUCTION_VALUES_MAX - 3, true);
        check(INTRODUCTION_VALUES_MAX - 2, false);
    }
}
