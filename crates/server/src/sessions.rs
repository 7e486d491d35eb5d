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

    /// A session found again keeps the requests and questions this process knows of. Those that
    /// nobody uses leave, and where there still are too many, of all or of one principal, the one
    /// longest out of use.
    fn keep(&self, id: &str, visit: Visit) -> Visit {
        let now = self.gateway.clock().now();
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = here.get_mut(id) {
            known.checked = now;
            return known.visit_of(visit.caller);
        }
        here.retain(|_, known| !known.is_left(now));
        let mine = |known: &Here| known.visit.caller.principal == visit.caller.principal;
        let own = here.values().filter(|known| mine(known)).count();
        if own >= limits::SESSIONS_PER_PRINCIPAL_MAX {
            let_oldest_go(&mut here, mine);
        } else if here.len() >= limits::SESSIONS_MAX {
            let_oldest_go(&mut here, |_| true);
        }
        here.insert(id.to_owned(), Here { visit: visit.clone(), checked: now });
        visit
    }
}

/// Whoever waits for a client whose session is let go here hears that nobody answers.
fn let_oldest_go(here: &mut HashMap<String, Here>, among: impl Fn(&Here) -> bool) {
    let oldest = here.iter().filter(|(_, known)| among(known));
    let oldest = oldest.min_by_key(|(_, known)| known.checked).map(|(id, _)| id.clone());
    if let Some(gone) = oldest.and_then(|id| here.remove(&id)) {
        gone.visit.memory.leave();
    }
}

impl Here {
    /// Nobody has used it for long, nothing of it is under way, and it can be had again.
    fn is_left(&self, now: Timestamp) -> bool {
        let unused = now.since(self.checked);
        // INVARIANT: what is under way holds the memory.
        let at_rest = Arc::strong_count(&self.visit.memory) == 1;
        let blank = unused >= limits::SESSION_HELD && self.visit.memory.is_blank();
        at_rest && (blank || unused >= limits::SESSION_IDLE)
    }

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
    use model::Principal;
    use tokio::sync::oneshot;

    fn here(name: &str, checked: i64) -> Here {
        let caller = Caller::new(Principal::user(name));
        let visit = Visit::new(caller, Revision::V2025_11_25);
        Here { visit, checked: Timestamp::from_millis(checked) }
    }

    #[tokio::test]
    async fn who_is_let_go_is_waited_for_no_longer() {
        let known = [("a", here("ann", 3)), ("b", here("ann", 2)), ("c", here("bob", 1))];
        let mut known: HashMap<_, _> = known.map(|(id, here)| (id.to_owned(), here)).into();
        let (reply, answer) = oneshot::channel();
        known["b"].visit.memory.ask(reply);
        let_oldest_go(&mut known, |here| here.visit.caller.principal.id == "ann");
        assert!(known.contains_key("a") && known.contains_key("c"), "{known:?}");
        assert!(answer.await.is_err());
        let_oldest_go(&mut known, |_| true);
        assert!(known.contains_key("a"));
    }

    #[test]
    fn a_session_leaves_when_nothing_of_it_is_lost() {
        let check = |prepare: &dyn Fn(&Memory), unused, left: bool| {
            let here = here("ann", 0);
            prepare(&here.visit.memory);
            let unused: std::time::Duration = unused;
            let now = Timestamp::from_millis(unused.as_millis().try_into().unwrap());
            assert_eq!(here.is_left(now), left, "{unused:?}");
            let under_way = here.visit.clone();
            assert!(!here.is_left(now), "something is under way");
            drop(under_way);
        };
        let second = std::time::Duration::from_secs(1);
        check(&|_| {}, limits::SESSION_HELD.saturating_sub(second), false);
        check(&|_| {}, limits::SESSION_HELD, true);
        check(&|memory| memory.set_level(LogLevel::Error), limits::SESSION_HELD, false);
        check(&|memory| drop(memory.follow("a:b", true)), limits::SESSION_HELD, false);
        check(&|memory| memory.set_level(LogLevel::Error), limits::SESSION_IDLE, true);
    }
}
