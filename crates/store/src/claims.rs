//! Idempotency keys: who makes the call, and what it gave to those who ask again.
//!
//! `claimed`: taken, and nothing sent. `dispatched`: the upstream may have seen it. `done`:
//! answered. `unknown`: cut off after it was sent, so that only a person can say what came of it.

mod desk;
mod owners;
mod remnant;
mod rows;

use std::borrow::Cow;

use model::{Answer, Code, Fault, RecordId, Timestamp, canonical};
use serde::{Deserialize, Serialize};

use crate::database::{Connection, broken};
use crate::records::Opened;
use crate::store::Store;
use crate::writer::{Write, WriteError};
use crate::{failpoint, limits};

pub use desk::ClaimLine;

/// "This call, under this key, is mine to make."
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose keys these are; keys of different scopes never meet.
    pub scope: String,
    /// As the caller gave it.
    pub key: String,
    /// The key holds a secret: only a digest of it is kept.
    pub secret: bool,
    pub args_hash: String,
    /// Until when an answer is remembered. What was not answered is not forgotten.
    pub expires_at: Timestamp,
}

/// Before a digest that stands for a key.
const DIGEST: &str = "toolgate-sha256:";

impl Claim {
    /// What is kept of the key.
    pub fn kept(&self) -> Cow<'_, str> {
        // Nobody may pass for another by naming its digest.
        if self.secret || self.key.starts_with(DIGEST) {
            Cow::Owned(self.digest())
        } else {
            Cow::Borrowed(&self.key)
        }
    }

    /// What became of it.
    pub fn ended(self, end: ClaimEnd) -> ClaimOutcome {
        let key = self.kept().into_owned();
        ClaimOutcome { scope: self.scope, key, end }
    }

    /// Whatever may be kept of the key: what a gate takes for a secret changes with its secrets.
    fn spellings(&self) -> [Cow<'_, str>; 2] {
        let plain = if self.key.starts_with(DIGEST) { self.kept() } else { (&*self.key).into() };
        [plain, self.digest().into()]
    }

    fn digest(&self) -> String {
        let parts = [self.scope.as_bytes(), b"\n", self.key.as_bytes()];
        [DIGEST, &canonical::hash_parts(&parts)].concat()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimState {
    Claimed,
    Dispatched,
    Done,
    Unknown,
}

impl ClaimState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Dispatched => "dispatched",
            Self::Done => "done",
            Self::Unknown => "unknown",
        }
    }
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimOutcome {
    pub scope: String,
    /// As it is kept.
    pub key: String,
    pub end: ClaimEnd,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ClaimEnd {
    Done(Answer),
    /// It was sent, and nobody knows whether it took effect.
    Unknown,
    /// Nothing was sent: the key is free.
    Released,
}

impl Store {
    /// The answer this key has already got, if it has one. Takes nothing and changes nothing.
    ///
    /// A key used for other arguments, still running or left in doubt is a fault, as it is when the
    /// claim is taken.
    pub async fn recall(&self, claim: &Claim) -> Result<Option<Answer>, Fault> {
        let mut reader = self.reader().await?;
        let row = rows::find(&mut reader, claim).await.map_err(broken)?;
        let live = row.filter(|row| !row.is_over(self.now()));
        match live.map(|row| row.opened(claim)).transpose()? {
            Some(Opened::Stored(answer)) => Ok(Some(answer)),
            Some(Opened::Fresh) | None => Ok(None),
        }
    }

    /// Says durably that the upstream is about to see the call. Refused if the claim was lost: a
    /// gate that stood still for too long must not send what another may have sent.
    pub async fn dispatch(&self, claim: &Claim, record_id: &RecordId) -> Result<(), Fault> {
        let (scope, key) = (claim.scope.clone(), claim.kept().into_owned());
        self.write(Dispatch { scope, key, record_id: record_id.clone() }).await
    }

    /// Removes the answers whose window is over, a part at a time; says how many.
    pub async fn forget_answers(&self) -> Result<u64, Fault> {
        let mut forgotten = 0;
        loop {
            let part = self.write(Forget).await?;
            forgotten += part;
            if part < limits::PURGE_ROWS.unsigned_abs() {
                return Ok(forgotten);
            }
        }
    }
}

struct Forget;

impl Write for Forget {
    type Done = u64;
    const UNWRITTEN: &'static str = "answers that are remembered no longer could not be removed";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<u64, WriteError> {
        Ok(rows::forget(connection, now).await?)
    }
}

/// What became of the key so far. Only a key that is [`Opened::Fresh`] may be taken.
pub(crate) async fn look(
    connection: &mut Connection,
    claim: &Claim,
    now: Timestamp,
) -> Result<Opened, WriteError> {
    let row = rows::find(connection, claim).await?;
    let live = row.filter(|row| !row.is_over(now));
    Ok(live.map_or(Ok(Opened::Fresh), |row| row.opened(claim))?)
}

/// Takes the key for this record, and the place of an answer that is remembered no longer.
///
/// INVARIANT: [`look`] has found the key fresh within this transaction.
pub(crate) async fn take(
    connection: &mut Connection,
    claim: &Claim,
    owner: &str,
    record_id: &RecordId,
    now: Timestamp,
) -> Result<(), WriteError> {
    rows::remove(connection, claim).await?;
    failpoint::write("claim.removed")?;
    rows::insert(connection, claim, owner, record_id, now).await?;
    Ok(())
}

/// Settles the claim if it is still the record's own; one that was lost may have a new owner.
pub(crate) async fn settle(
    connection: &mut Connection,
    outcome: &ClaimOutcome,
    record_id: &RecordId,
) -> Result<(), WriteError> {
    let (scope, key) = (outcome.scope.as_str(), outcome.key.as_str());
    let settled = match &outcome.end {
        ClaimEnd::Released => rows::release(connection, scope, key, record_id).await?,
        ClaimEnd::Unknown => {
            rows::mark(connection, scope, key, record_id, ClaimState::Unknown, None).await?
        }
        ClaimEnd::Done(answer) => {
            let answer = Some(rows::to_text(answer)?);
            rows::mark(connection, scope, key, record_id, ClaimState::Done, answer).await?
        }
    };
    if !settled {
        tracing::warn!(record.id = %record_id, "the idempotency claim was lost before its call ended");
    }
    Ok(())
}

/// Whether the key was the record's own; it is free now.
pub(crate) async fn give_back(
    connection: &mut Connection,
    claim: &Claim,
    record_id: &RecordId,
) -> Result<bool, sqlx::Error> {
    rows::release(connection, &claim.scope, &claim.kept(), record_id).await
}

pub(crate) use rows::{let_go, of_owner};

struct Dispatch {
    scope: String,
    key: String,
    record_id: RecordId,
}

impl Write for Dispatch {
    type Done = ();
    const UNWRITTEN: &'static str = "the call could not be marked as sent, so it was not sent";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        if rows::dispatch(connection, &self.scope, &self.key, &self.record_id).await? {
            failpoint::write("claim.sent")?;
            return Ok(());
        }
        let message = "the claim on this key was lost while the gate stood still; nothing was sent";
        Err(Fault::new(Code::IdempotencyConflict, message).with("state", "lost").into())
    }
}
