//! What is remembered of clients that begin with `initialize`: revision, name, requests under way.
//!
//! A session is a convenience of the wire, never a proof of identity: it is bound to the principal
//! that opened it, and a foreign session id answers exactly like an unknown one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gateway::{Gateway, Introduction};
use model::{Caller, Client, Code, Fault, LogLevel, SessionId, Timestamp};
use protocol::decode::Meta;
use protocol::{Id, Revision};
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::memory::Memory;

/// The other end of a request, as far as answering it needs to know.
#[derive(Clone, Debug)]
pub struct Visit {
    pub caller: Caller,
    pub revision: Revision,
    /// What the client said of itself when it introduced itself, or with this request.
    pub client: Arc<Client>,
    pub running: Arc<Running>,
    pub memory: Arc<Memory>,
}

impl Visit {
    pub fn new(caller: Caller, revision: Revision) -> Self {
        Self {
            caller,
            revision,
            client: Arc::default(),
            running: Arc::default(),
            memory: Arc::default(),
        }
    }

    /// Takes in an `initialize`: what follows is spoken in the revision it ends up with.
    pub fn introduce(&mut self, asked: &str, client: Client) {
        self.revision = Revision::negotiate(asked);
        self.caller.client = client.info.as_ref().and_then(protocol::decode::label);
        self.client = Arc::new(client);
    }

    /// The visit of one request, which may name its own revision and client.
    #[must_use]
    pub fn of(&self, meta: &Meta) -> Self {
        let Some(revision) = meta.revision else { return self.clone() };
        let mut visit = self.clone();
        let named = meta.client.info.as_ref().and_then(protocol::decode::label);
        visit.caller.client = named.or(visit.caller.client);
        visit.revision = revision;
        visit.client = Arc::new(meta.client.clone());
        visit
    }

    /// Whether a log message is wanted: older clients get all until they say otherwise, newer ones
    /// only what the request asks for.
    pub fn wants_log(&self, level: LogLevel) -> bool {
        if self.revision.is_modern() {
            return self.client.wants_log(level);
        }
        self.memory.level().is_none_or(|least| level >= least)
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

/// The sessions of clients that begin with `initialize`, and the streams they hold open.
///
/// What must outlive this process is in the store, under a hash of the id; what only this process
/// can know, such as requests under way, is here.
#[derive(Debug)]
pub struct Sessions {
    gateway: Arc<Gateway>,
    here: Mutex<HashMap<String, Here>>,
    streams: Arc<Mutex<HashMap<String, usize>>>,
}

/// What this process holds of a session.
#[derive(Debug)]
struct Here {
    visit: Visit,
    last_used: Timestamp,
}

impl Sessions {
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway, here: Mutex::default(), streams: Arc::default() }
    }

    /// Remembers a client that has introduced itself.
    pub async fn begin(&self, visit: &Visit) -> Result<SessionId, Fault> {
        let introduction = Introduction {
            revision: visit.revision.as_str().to_owned(),
            client: visit.caller.client.clone(),
            capabilities: visit.client.capabilities.clone(),
            info: visit.client.info.clone(),
        };
        let id = self.gateway.begin_session(&visit.caller, &introduction).await?;
        let mut visit = visit.clone();
        visit.caller.session = Some(id.clone());
        self.keep(&id, visit);
        Ok(id)
    }

    /// What is known of this session, for the principal that opened it.
    pub async fn find(&self, id: &str, caller: &Caller) -> Option<Visit> {
        if let Some(visit) = self.find_here(id, caller) {
            return Some(visit);
        }
        let found = self.gateway.find_session(id, caller).await;
        let introduction = found.unwrap_or_else(|fault| {
            tracing::error!(%fault, "a session could not be looked up");
            None
        })?;
        let mut visit = Visit::new(caller.clone(), introduction.revision.parse().ok()?);
        visit.caller.client = introduction.client;
        visit.caller.session = Some(SessionId::from_string(id));
        visit.client = Arc::new(Client {
            capabilities: introduction.capabilities,
            info: introduction.info,
            ..Client::default()
        });
        self.keep(&SessionId::from_string(id), visit.clone());
        Some(visit)
    }

    /// Forgets a session; whether there was one for this principal.
    pub async fn end(&self, id: &str, caller: &Caller) -> bool {
        let ended = self.gateway.end_session(id, caller).await.unwrap_or_else(|fault| {
            tracing::error!(%fault, "a session could not be ended");
            false
        });
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if here.get(id).is_some_and(|known| known.visit.caller.principal == caller.principal) {
            here.remove(id);
        }
        ended
    }

    /// A place among the open streams, given back when dropped.
    pub fn stream(&self, caller: &Caller) -> Result<StreamPlace, Fault> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let who = caller.principal.account();
        let all: usize = streams.values().sum();
        let mine = streams.entry(who.clone()).or_default();
        if *mine >= limits::STREAMS_PER_PRINCIPAL_MAX || all >= limits::STREAMS_MAX {
            return Err(Fault::new(Code::RateLimited, "too many streams are open; close some"));
        }
        *mine += 1;
        drop(streams);
        Ok(StreamPlace { who, streams: Arc::clone(&self.streams) })
    }

    /// The caller is taken from the request, not from memory: grants may have changed since.
    fn find_here(&self, id: &str, caller: &Caller) -> Option<Visit> {
        let now = self.gateway.clock().now();
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let known = here.get_mut(id)?;
        let idle = now.since(known.last_used);
        if idle >= limits::SESSION_CHECK || known.visit.caller.principal != caller.principal {
            return None;
        }
        let visit = Visit {
            caller: Caller {
                session: known.visit.caller.session.clone(),
                client: known.visit.caller.client.clone(),
                ..caller.clone()
            },
            ..known.visit.clone()
        };
        Some(visit)
    }

    /// A session found again keeps the requests and questions this process knows of.
    fn keep(&self, id: &SessionId, visit: Visit) {
        let now = self.gateway.clock().now();
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if here.len() >= limits::SESSIONS_MAX {
            here.retain(|_, known| now.since(known.last_used) < limits::SESSION_HELD);
        }
        let known = here.entry(id.to_string()).or_insert_with(|| Here { visit, last_used: now });
        known.last_used = now;
    }
}

/// One open stream; dropping it makes room for another.
#[derive(Debug)]
pub struct StreamPlace {
    who: String,
    streams: Arc<Mutex<HashMap<String, usize>>>,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = streams.get_mut(&self.who) {
            *mine -= 1;
            if *mine == 0 {
                streams.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
