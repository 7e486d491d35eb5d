//! What is remembered of clients that begin with `initialize`: revision, name, requests under way.
//!
//! A session is a convenience of the wire, never a proof of identity: it is bound to the principal
//! that opened it, and a foreign session id answers exactly like an unknown one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Caller, Clock, Code, Fault, Principal, SessionId, Timestamp};
use protocol::{Id, Revision};
use tokio_util::sync::CancellationToken;

use crate::limits;

/// The other end of a request, as far as answering it needs to know.
#[derive(Clone, Debug)]
pub struct Visit {
    pub caller: Caller,
    pub revision: Revision,
    pub running: Arc<Running>,
}

impl Visit {
    pub fn new(caller: Caller, revision: Revision) -> Self {
        Self { caller, revision, running: Arc::default() }
    }
}

/// Requests under way, each with the means to cancel it.
#[derive(Debug, Default)]
pub struct Running {
    requests: Mutex<HashMap<Id, CancellationToken>>,
}

/// One request under way; dropping it ends its being cancellable.
#[derive(Debug)]
pub struct Underway {
    pub cancel: CancellationToken,
    id: Id,
    running: Arc<Running>,
}

impl Running {
    pub fn enter(self: &Arc<Self>, id: &Id) -> Result<Underway, Fault> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() >= limits::REQUESTS_PER_SESSION_MAX {
            return Err(Fault::new(
                Code::RateLimited,
                "too many requests of this session are running",
            ));
        }
        if requests.contains_key(id) {
            let message = format!(
                "request id `{}` is already in use",
                model::fault::one_line(&id.to_string(), 64)
            );
            return Err(Fault::new(Code::Protocol, message));
        }
        let cancel = CancellationToken::new();
        requests.insert(id.clone(), cancel.clone());
        Ok(Underway { cancel, id: id.clone(), running: Arc::clone(self) })
    }

    /// Cancels a request; one that has ended or never was is not missed.
    pub fn cancel(&self, id: &Id) {
        if let Some(cancel) = self.requests.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            cancel.cancel();
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.running.requests.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

#[derive(Debug)]
pub struct Sessions {
    clock: Clock,
    open: Mutex<HashMap<SessionId, Session>>,
}

#[derive(Debug)]
struct Session {
    visit: Visit,
    last_used: Timestamp,
}

impl Sessions {
    pub fn new(clock: Clock) -> Self {
        Self { clock, open: Mutex::default() }
    }

    /// Remembers a client that has introduced itself.
    pub fn begin(&self, mut visit: Visit) -> Result<SessionId, Fault> {
        let now = self.clock.now();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if is_full(&open, &visit.caller.principal) {
            open.retain(|_, session| now.since(session.last_used) < limits::SESSION_IDLE);
        }
        if is_full(&open, &visit.caller.principal) {
            return Err(Fault::new(Code::RateLimited, "too many sessions are open; close some"));
        }
        let id = SessionId::random();
        visit.caller.session = Some(id.clone());
        open.insert(id.clone(), Session { visit, last_used: now });
        Ok(id)
    }

    /// What is known of this session, for the principal that opened it.
    pub fn find(&self, id: &str, principal: &Principal) -> Option<Visit> {
        let now = self.clock.now();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let session = open.get_mut(&SessionId::from_string(id))?;
        let fresh = now.since(session.last_used) < limits::SESSION_IDLE;
        if !fresh || session.visit.caller.principal != *principal {
            return None;
        }
        session.last_used = now;
        Some(session.visit.clone())
    }

    /// Forgets a session; whether there was one for this principal.
    pub fn end(&self, id: &str, principal: &Principal) -> bool {
        let known = self.find(id, principal).is_some();
        if known {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.remove(&SessionId::from_string(id));
        }
        known
    }
}

fn is_full(open: &HashMap<SessionId, Session>, principal: &Principal) -> bool {
    let mine = open.values().filter(|session| session.visit.caller.principal == *principal);
    open.len() >= limits::SESSIONS_MAX || mine.count() >= limits::SESSIONS_PER_PRINCIPAL_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(user: &str) -> Visit {
        Visit::new(Caller::new(Principal::user(user)), Revision::V2025_11_25)
    }

    #[test]
    fn a_foreign_session_is_an_unknown_one() {
        let sessions = Sessions::new(Clock::default());
        let id = sessions.begin(visit("ann")).unwrap();
        assert!(sessions.find(id.as_str(), &Principal::user("ann")).is_some());
        assert!(sessions.find(id.as_str(), &Principal::user("bob")).is_none());
        assert!(!sessions.end(id.as_str(), &Principal::user("bob")));
        assert!(sessions.end(id.as_str(), &Principal::user("ann")));
        assert!(sessions.find(id.as_str(), &Principal::user("ann")).is_none());
    }

    #[test]
    fn an_idle_session_is_forgotten() {
        let clock = Clock::stopped(Timestamp::from_millis(0));
        let sessions = Sessions::new(clock.clone());
        let id = sessions.begin(visit("ann")).unwrap();
        clock.advance(limits::SESSION_IDLE);
        assert!(sessions.find(id.as_str(), &Principal::user("ann")).is_none());
    }

    #[test]
    fn one_principal_cannot_take_all_sessions() {
        let sessions = Sessions::new(Clock::default());
        for _ in 0..limits::SESSIONS_PER_PRINCIPAL_MAX {
            sessions.begin(visit("ann")).unwrap();
        }
        assert_eq!(sessions.begin(visit("ann")).unwrap_err().code, Code::RateLimited);
        assert!(sessions.begin(visit("bob")).is_ok());
    }

    #[test]
    fn a_request_id_is_used_once_at_a_time() {
        let running = Arc::new(Running::default());
        let id = Id::Number(1);
        let underway = running.enter(&id).unwrap();
        assert_eq!(running.enter(&id).unwrap_err().code, Code::Protocol);
        running.cancel(&id);
        running.cancel(&Id::Number(2));
        assert!(underway.cancel.is_cancelled());
        drop(underway);
        assert!(running.enter(&id).is_ok());
    }
}
