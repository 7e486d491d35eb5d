//! The state in use: reads see a finished snapshot, writes come one after the other, and a change
//! counts only once it is saved.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Answer, Clock, Code, Fault, Timestamp, canonical};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::refusal::{Outcome, Refusal};
use super::state::{Claim, DemoError, State};

const KEY: &str = "idempotency_key";

#[derive(Debug)]
pub(super) struct Company {
    clock: Clock,
    state_file: Option<PathBuf>,
    /// Held only to take or to swap the snapshot, so that readers never wait for the disk.
    state: Mutex<Arc<State>>,
    /// Held for a whole change.
    writing: Mutex<()>,
}

impl Company {
    pub(super) fn open(clock: Clock, state_file: Option<PathBuf>) -> Result<Self, DemoError> {
        let kept = state_file.as_deref().map(State::load).transpose()?.flatten();
        let state = kept.unwrap_or_else(|| State::seeded(clock.now()));
        Ok(Self { clock, state_file, state: Mutex::new(Arc::new(state)), writing: Mutex::new(()) })
    }

    pub(super) fn read(&self, reader: impl FnOnce(&State, Timestamp) -> Outcome) -> Answer {
        reader(&self.snapshot(), self.clock.now()).unwrap_or_else(Answer::from)
    }

    /// Waits for the disk when there is a state file.
    pub(super) fn change(
        &self,
        retry: Option<Retry>,
        writer: impl FnOnce(&mut State, Timestamp) -> Outcome,
    ) -> Result<Answer, Fault> {
        let _writing = locked(&self.writing);
        let now = self.clock.now();
        let current = self.snapshot();
        if let Some(claim) = retry.as_ref().and_then(|retry| current.claim_of(&retry.key, now)) {
            return Ok(repeated(claim, retry.as_ref()));
        }
        let mut next = State::clone(&current);
        let answer = match writer(&mut next, now) {
            Ok(answer) => answer,
            Err(refusal) => return Ok(refusal.into()),
        };
        if let Some(Retry { key, args_hash }) = retry {
            next.remember(key, Claim { args_hash, at: now, answer: answer.clone() });
        }
        if next != *current {
            self.save(&next)?;
            *locked(&self.state) = Arc::new(next);
        }
        Ok(answer)
    }

    fn snapshot(&self) -> Arc<State> {
        Arc::clone(&locked(&self.state))
    }

    fn save(&self, state: &State) -> Result<(), Fault> {
        let Some(path) = &self.state_file else { return Ok(()) };
        state.save(path).map_err(|error| {
            Fault::new(
                Code::UpstreamUnavailable,
                "the demo could not save its state, so nothing was changed; \
                 the operator must make its state file writable",
            )
            .logging(format!("cannot save the demo state file `{}`: {error}", path.display()))
        })
    }
}

/// A tool and what it was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    pub(super) tool: &'a str,
    pub(super) args: &'a Value,
}

/// A caller's key, and what it was used with.
#[derive(Debug)]
pub(super) struct Retry {
    key: String,
    args_hash: String,
}

impl Ask<'_> {
    pub(super) fn typed<A: DeserializeOwned>(self) -> Result<A, Fault> {
        A::deserialize(self.args).map_err(|error| {
            let message = format!("the arguments do not fit `{}`: {error}", self.tool);
            Fault::new(Code::ArgsInvalid, message).at(self.tool)
        })
    }

    /// The arguments proper, and the caller's key if there is one.
    pub(super) fn without_key(self) -> (Value, Option<Retry>) {
        let mut args = self.args.clone();
        let key = match args.as_object_mut() {
            Some(object) if object.get(KEY).is_some_and(Value::is_string) => {
                object.shift_remove(KEY)
            }
            _ => None,
        };
        let retry = key.as_ref().and_then(Value::as_str).map(|key| Retry {
            key: format!("{} {key}", self.tool),
            args_hash: canonical::hash(&args),
        });
        (args, retry)
    }
}

fn repeated(claim: &Claim, retry: Option<&Retry>) -> Answer {
    if retry.is_some_and(|retry| retry.args_hash == claim.args_hash) {
        return claim.answer.clone();
    }
    let text =
        "this idempotency key was used with other arguments; choose a new key for a new call";
    Refusal::new("IDEMPOTENCY_CONFLICT", text).into()
}

/// A poisoned lock is taken all the same: the snapshot behind it is swapped whole or not at all.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
