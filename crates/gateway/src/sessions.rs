//! Sessions of clients that begin with `initialize`, kept so that any replica knows them.
//!
//! The id is random and leaves the gate once; what is kept is its hash.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use model::limits::{
    SESSION_HELD, SESSION_IDLE, SESSION_TOLD, SESSIONS_MAX, SESSIONS_PER_PRINCIPAL_MAX,
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

#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<HashMap<String, Session>>);

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
        let id = self.remember(caller, introduction)?;
        let body = serde_json::to_string(introduction)
            .map_err(|error| Fault::internal(format!("session: {error}")))?;
        let session_id = SessionId::from_string(hash(id.as_str()));
        let row = SessionRow { session_id, principal: owner(caller), body };
        Box::pin(self.store.keep_session(row, SESSION_IDLE)).await?;
        Ok(id)
    }

    fn remember(&self, caller: &Caller, introduction: &Introduction) -> Result<SessionId, Fault> {
        let now = self.clock.now();
        let mut kept = self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owner(caller);
        let full = |kept: &HashMap<String, Session>| {
            let mine = kept.values().filter(|session| session.owner == owner).count();
            kept.len() >= SESSIONS_MAX || mine >= SESSIONS_PER_PRINCIPAL_MAX
        };
        if full(&kept) {
            kept.retain(|_, session| now.since(session.last_used) < SESSION_HELD);
        }
        if full(&kept) {
            return Err(Fault::new(Code::RateLimited, "too many sessions are open; close some"));
        }
        let id = SessionId::random();
        let introduction = introduction.clone();
        let session = Session { owner, introduction, last_used: now, stored: now };
        kept.insert(hash(id.as_str()), session);
        Ok(id)
    }

    /// The session with this id, if it is the caller's and has not ended.
    pub async fn find_session(
        &self,
        id: &str,
        caller: &Caller,
    ) -> Result<Option<Introduction>, Fault> {
        match self.known_session(id, caller) {
            Some((known, false)) => Ok(Some(known)),
            Some((known, true)) => {
                let touched = Box::pin(self.store.touch_session(&hash(id), &owner(caller))).await;
                if let Err(fault) = touched {
                    tracing::warn!(%fault, "a session in use may not outlive this process");
                }
                Ok(Some(known))
            }
            None => Box::pin(self.stored_session(id, caller)).await,
        }
    }

    /// A session of an earlier run or of another gate.
    async fn stored_session(
        &self,
        id: &str,
        caller: &Caller,
    ) -> Result<Option<Introduction>, Fault> {
        let (owner, now) = (owner(caller), self.clock.now());
        let found = self.store.session(&hash(id), &owner, SESSION_IDLE).await?;
        let Some(body) = found else { return Ok(None) };
        let introduction: Introduction = serde_json::from_str(&body)
            .map_err(|error| Fault::internal(format!("session: {error}")))?;
        let known = introduction.clone();
        // Told to the store at the next use: it may have been seen last an hour ago.
        let stored = Timestamp::from_millis(0);
        let session = Session { owner, introduction, last_used: now, stored };
        self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner).insert(hash(id), session);
        Ok(Some(known))
    }

    /// A session that this gate holds, and whether the store should hear of it again.
    fn known_session(&self, id: &str, caller: &Caller) -> Option<(Introduction, bool)> {
        let now = self.clock.now();
        let mut kept = self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = kept.get_mut(&hash(id)).filter(|session| {
            session.owner == owner(caller) && now.since(session.last_used) < SESSION_HELD
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
            self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(id));
        }
        if mine {
            Box::pin(self.store.end_session(&hash(id), &owner(caller))).await?;
        }
        Ok(mine)
    }
}

fn hash(id: &str) -> String {
    canonical::hash_bytes(id.as_bytes())
}

fn owner(caller: &Caller) -> String {
    let tenant = caller.principal.tenant_id.as_deref().unwrap_or_default();
    format!("{tenant}/{}", caller.principal)
}
