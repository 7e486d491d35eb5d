//! What is remembered of clients that begin with `initialize`: revision and name.
//!
//! A session is a convenience of the wire, never a proof of identity: it is bound to the principal
//! that opened it, and a foreign session id answers exactly like an unknown one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gateway::Gateway;
use gateway::sessions::{Introduction, fits, kept_as};
use model::{Caller, Client, Fault, LogLevel, SessionId, Timestamp};
use protocol::Revision;
use protocol::decode::Meta;

use crate::limits;
use crate::memory::Memory;
use crate::running::Running;

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
