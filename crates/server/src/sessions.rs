//! What is remembered of clients that begin with `initialize`: revision, name, requests under way.
//!
//! A session is a convenience of the wire, never a proof of identity: it is bound to the principal
//! that opened it, and a foreign session id answers exactly like an unknown one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gateway::Gateway;
use gateway::sessions::{Introduction, fits, kept_as};
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
    pub fn introduce(&mut self, asked: &str, client: Client) -> Result<(), Fault> {
        fits(&client.capabilities, client.info.as_ref())?;
        self.revision = Revision::negotiate(asked);
        self.caller.client = client.info.as_ref().and_then(protocol::decode::label);
        self.client = Arc::new(client);
        Ok(())
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

/// Requests under way, each with the means to cancel it, and batches.
#[derive(Debug, Default)]
pub struct Running {
    requests: Mutex<HashMap<Id, CancellationToken>>,
    batches: AtomicUsize,
}

/// One request under way, or one whose answer waits to be sent; dropping it ends its being
/// cancellable.
#[derive(Debug)]
pub struct Underway {
    pub cancel: CancellationToken,
    id: Id,
    running: Arc<Running>,
}

/// A batch under way, or one whose answers wait to be sent.
#[derive(Debug)]
pub struct Batch(Arc<Running>);

impl Running {
    /// A batch counts for itself, beside the request of it that is being answered.
    pub fn enter_batch(self: &Arc<Self>) -> Result<Batch, Fault> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        self.room(requests.len())?;
        self.batches.fetch_add(1, Ordering::Relaxed);
        drop(requests);
        Ok(Batch(Arc::clone(self)))
    }

    fn room(&self, requests: usize) -> Result<(), Fault> {
        if requests + self.batches.load(Ordering::Relaxed) < limits::REQUESTS_PER_SESSION_MAX {
            return Ok(());
        }
        let message = "too many requests of this session are running, or their answers unread";
        Err(Fault::new(Code::RateLimited, message))
    }

    pub fn enter(self: &Arc<Self>, id: &Id) -> Result<Underway, Fault> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        self.room(requests.len())?;
        let Entry::Vacant(place) = requests.entry(id.clone()) else {
            let message = format!(
                "request id `{}` is already in use",
                model::fault::one_line(&id.to_string(), 64)
            );
            return Err(Fault::new(Code::Protocol, message));
        };
        let cancel = place.insert(CancellationToken::new()).clone();
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

impl Drop for Batch {
    fn drop(&mut self) {
        self.0.batches.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The sessions of clients that begin with `initialize`.
///
/// What must outlive this process is in the store, under a hash of the id; what only this process
/// can know, such as requests under way, is here.
#[derive(Debug)]
pub struct Sessions {
    gateway: Arc<Gateway>,
    here: Mutex<HashMap<String, Here>>,
}

/// What this process holds of a session.
#[derive(Debug)]
struct Here {
    visit: Visit,
    /// When the store was last asked.
    checked: Timestamp,
}

impl Sessions {
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway, here: Mutex::default() }
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
        visit.caller.session = Some(kept_as(id.as_str()));
        self.keep(id.as_str(), visit);
        Ok(id)
    }

    /// What is known of this session, for the principal that opened it.
    pub async fn find(&self, id: &str, caller: Caller) -> Option<Visit> {
        match self.find_here(id, caller) {
            Ok(visit) => Some(visit),
            Err(caller) => Box::pin(self.look_up(id, caller)).await,
        }
    }

    /// The same, where this process does not know, or must ask again.
    async fn look_up(&self, id: &str, caller: Caller) -> Option<Visit> {
        let found = self.gateway.find_session(id, &caller).await;
        let found = found.unwrap_or_else(|fault| {
            tracing::error!(%fault, "a session could not be looked up");
            None
        });
        let Some(introduction) = found else {
            self.forget(id, &caller);
            return None;
        };
        let mut visit = Visit::new(caller, introduction.revision.parse().ok()?);
        visit.caller.client = introduction.client;
        visit.caller.session = Some(kept_as(id));
        visit.client = Arc::new(Client {
            capabilities: introduction.capabilities,
            info: introduction.info,
            ..Client::default()
        });
        Some(self.keep(id, visit))
    }

    /// Forgets a session; whether there was one for this principal.
    pub async fn end(&self, id: &str, caller: &Caller) -> bool {
        let ended = self.gateway.end_session(id, caller).await.unwrap_or_else(|fault| {
            tracing::error!(%fault, "a session could not be ended");
            false
        });
        self.forget(id, caller);
        ended
    }

    /// Another's session stays.
    fn forget(&self, id: &str, caller: &Caller) {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if here.get(id).is_some_and(|known| known.visit.caller.principal == caller.principal) {
            here.remove(id).into_iter().for_each(|ended| ended.visit.memory.leave());
        }
    }

    /// The caller is taken from the request, not from memory: grants may have changed since.
    fn find_here(&self, id: &str, caller: Caller) -> Result<Visit, Caller> {
        let now = self.gateway.clock().now();
        let here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |known: &&Here| now.since(known.checked) < limits::SESSION_CHECK;
        let own = |known: &&Here| known.visit.caller.principal == caller.principal;
        match here.get(id).filter(fresh).filter(own) {
            Some(known) => Ok(known.visit_of(caller)),
            None => Err(caller),
        }
    }

    /// A session found again keeps the requests and questions this process knows of. Where there are
    /// too many, the one longest out of use makes room.
    fn keep(&self, id: &str, visit: Visit) -> Visit {
        let now = self.gateway.clock().now();
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = here.get_mut(id) {
            known.checked = now;
            return known.visit_of(visit.caller);
        }
        if here.len() >= limits::SESSIONS_MAX {
            here.retain(|_, known| now.since(known.checked) < limits::SESSION_HELD);
        }
        if here.len() >= limits::SESSIONS_MAX {
            let oldest = here.iter().min_by_key(|(_, known)| known.checked);
            let oldest = oldest.map(|(id, _)| id.clone());
            oldest.map(|id| here.remove(&id));
        }
        here.insert(id.to_owned(), Here { visit: visit.clone(), checked: now });
        visit
    }
}

impl Here {
    fn visit_of(&self, caller: Caller) -> Visit {
        let Visit { caller: held, revision, client, running, memory } = &self.visit;
        let (session, name) = (held.session.clone(), held.client.clone());
        Visit {
            caller: Caller { session, client: name, ..caller },
            revision: *revision,
            client: Arc::clone(client),
            running: Arc::clone(running),
            memory: Arc::clone(memory),
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

    #[test]
    fn so_many_requests_and_batches_run_at_a_time() {
        let running = Arc::new(Running::default());
        let enter = |number: usize| running.enter(&Id::Text(number.to_string()));
        let half = limits::REQUESTS_PER_SESSION_MAX / 2;
        let requests: Vec<_> = (0..half).map(|number| enter(number).unwrap()).collect();
        let mut batches: Vec<_> = (0..half).map(|_| running.enter_batch().unwrap()).collect();
        assert_eq!(enter(half).unwrap_err().code, Code::RateLimited);
        assert_eq!(running.enter_batch().unwrap_err().code, Code::RateLimited);
        drop(batches.pop());
        assert!(enter(half).is_ok());
        drop(requests);
        assert!(running.enter_batch().is_ok());
    }
}
