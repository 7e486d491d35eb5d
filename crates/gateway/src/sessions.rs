//! Sessions of clients that begin with `initialize`, kept so that any replica knows them.
//!
//! The id is random and leaves the gate once; what is kept is its hash.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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

/// A session nobody used for this long has ended.
pub const SESSION_IDLE: Duration = Duration::from_hours(1);
/// Sessions over all principals and for each.
pub const SESSIONS_MAX: usize = 10_000;
pub const SESSIONS_PER_PRINCIPAL_MAX: usize = 2_000;

#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<HashMap<String, Session>>);

#[derive(Debug)]
struct Session {
    owner: String,
    introduction: Introduction,
    last_used: Timestamp,
}

impl Gateway {
    pub async fn begin_session(
        &self,
        caller: &Caller,
        introduction: &Introduction,
    ) -> Result<SessionId, Fault> {
        let id = self.remember(caller, introduction)?;
        if self.store.is_shared() {
            let body = serde_json::to_string(introduction)
                .map_err(|error| Fault::internal(format!("session: {error}")))?;
            let session_id = SessionId::from_string(hash(id.as_str()));
            let row = SessionRow { session_id, principal: owner(caller), body };
            self.store.keep_session(row, SESSION_IDLE).await?;
        }
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
            kept.retain(|_, session| now.since(session.last_used) < SESSION_IDLE);
        }
        if full(&kept) {
            return Err(Fault::new(Code::RateLimited, "too many sessions are open; close some"));
        }
        let id = SessionId::random();
        let introduction = introduction.clone();
        kept.insert(hash(id.as_str()), Session { owner, introduction, last_used: now });
        Ok(id)
    }

    /// The session with this id, if it is the caller's and has not ended.
    pub async fn find_session(
        &self,
        id: &str,
        caller: &Caller,
    ) -> Result<Option<Introduction>, Fault> {
        if let Some(known) = self.known_session(id, caller) {
            return Ok(Some(known));
        }
        if !self.store.is_shared() {
            return Ok(None);
        }
        let owner = owner(caller);
        let Some(body) = self.store.session(&hash(id), &owner).await? else { return Ok(None) };
        let introduction: Introduction = serde_json::from_str(&body)
            .map_err(|error| Fault::internal(format!("session: {error}")))?;
        let last_used = self.clock.now();
        let session = Session { owner, introduction: introduction.clone(), last_used };
        self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner).insert(hash(id), session);
        Ok(Some(introduction))
    }

    /// A session that this gate has met before.
    fn known_session(&self, id: &str, caller: &Caller) -> Option<Introduction> {
        let now = self.clock.now();
        let mut kept = self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get_mut(&hash(id)).filter(|session| {
            session.owner == owner(caller) && now.since(session.last_used) < SESSION_IDLE
        });
        found.map(|session| {
            session.last_used = now;
            session.introduction.clone()
        })
    }

    /// Ends a session; whether there was one of this caller's.
    pub async fn end_session(&self, id: &str, caller: &Caller) -> Result<bool, Fault> {
        let mine = self.find_session(id, caller).await?.is_some();
        if mine {
            self.sessions.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(id));
        }
        if mine && self.store.is_shared() {
            self.store.end_session(&hash(id), &owner(caller)).await?;
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
