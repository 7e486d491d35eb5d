//! What each caller has been shown, for answers a prompt cache can live with. Bounded, in memory
//! only: whoever is forgotten pays for a fresh prefix, nothing more.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use catalog::stable::Seen;
use model::limits::CALLERS_SHOWN_MAX;
use model::{Caller, canonical};
use serde_json::json;

#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    turn: u64,
    callers: HashMap<String, (u64, Seen)>,
}

impl Memory {
    /// Works on what this key's caller has seen.
    pub(crate) fn with<T>(&self, key: String, work: impl FnOnce(&mut Seen) -> T) -> T {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.turn += 1;
        let turn = book.turn;
        if book.callers.len() >= CALLERS_SHOWN_MAX && !book.callers.contains_key(&key) {
            book.forget_the_most_silent();
        }
        let (used, seen) = book.callers.entry(key).or_default();
        *used = turn;
        work(seen)
    }
}

impl Book {
    fn forget_the_most_silent(&mut self) {
        let silent = self.callers.iter().min_by_key(|(_, (used, _))| *used);
        if let Some(key) = silent.map(|(key, _)| key.clone()) {
            self.callers.remove(&key);
        }
    }
}

/// Whose memory it is: the principal with its run, else with its session. Without either there is
/// nothing to tell two conversations of one principal apart, and nothing is remembered.
pub(crate) fn key(caller: &Caller, run_id: Option<&str>) -> Option<String> {
    let place = match (run_id, &caller.session) {
        (Some(run), _) => format!("run {run}"),
        (None, Some(session)) => format!("session {session}"),
        (None, None) => return None,
    };
    let tenant = caller.principal.tenant_id.as_deref().unwrap_or_default();
    // A client names its runs as it likes, at any length; what is kept is short.
    let whole = json!([tenant, caller.principal.to_string(), place]);
    Some(canonical::hash(&whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Principal, SessionId};

    #[test]
    fn memory_is_by_principal_and_run_or_session() {
        let mut alice = Caller::new(Principal::user("alice"));
        assert_eq!(key(&alice, None), None);
        let run = key(&alice, Some("r1"));
        assert_ne!(run, key(&alice, Some("r2")));
        assert_ne!(run, key(&Caller::new(Principal::user("bob")), Some("r1")));
        alice.session = Some(SessionId::from_string("s"));
        assert_eq!(run, key(&alice, Some("r1")));
        assert!(key(&alice, None).is_some());
    }

    #[test]
    fn a_long_run_id_takes_no_more_room_than_a_short_one() {
        let alice = Caller::new(Principal::user("alice"));
        let long = |end: &str| key(&alice, Some(&("x".repeat(1_000_000) + end))).unwrap();
        assert_eq!(long("a").len(), key(&alice, Some("r")).unwrap().len());
        assert_ne!(long("a"), long("b"));
    }

    #[test]
    fn the_longest_silent_caller_makes_room() {
        let memory = Memory::default();
        for caller in 0..=CALLERS_SHOWN_MAX {
            memory.with(caller.to_string(), |_| ());
            memory.with("kept".to_owned(), |_| ());
        }
        let book = memory.0.lock().unwrap();
        assert_eq!(book.callers.len(), CALLERS_SHOWN_MAX);
        assert!(book.callers.contains_key("kept"));
        assert!(!book.callers.contains_key("0"));
    }
}
