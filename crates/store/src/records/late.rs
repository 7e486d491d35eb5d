//! Closings that wait for the database to come back, and which calls of this gate may hold a key.
//!
//! INVARIANT: a record is known here from before its opening is written until its closing is, or is
//! lost. A key whose record this gate does not know is held by nobody.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{ApprovalId, RecordId, Timestamp};

use super::ClosingWrite;
use crate::claims::{self, Claim};
use crate::database::Connection;
use crate::store::Store;
use crate::writer::{Write, WriteError};
use crate::{approvals, chain, limits};

/// Bounded: beyond that, records stay open, and what they held is looked for.
#[derive(Debug, Default)]
pub(crate) struct Late {
    waiting: Mutex<Vec<ClosingWrite>>,
    /// Some did not find room.
    lost: AtomicBool,
    held: Arc<Held>,
}

impl Late {
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    pub(super) fn push(&self, closing: ClosingWrite) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < limits::LATE_MAX {
            waiting.push(ClosingWrite { late: true, ..closing });
            return;
        }
        drop(waiting);
        tracing::error!(record.id = %closing.record_id, "a closing entry is lost: too many wait");
        self.held.end(&closing.record_id);
        self.lost.store(true, Ordering::SeqCst);
    }

    /// As many as share a commit.
    fn take(&self) -> Vec<ClosingWrite> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let some = waiting.len().min(limits::BATCH_MAX);
        waiting.drain(..some).collect()
    }

    fn len(&self) -> usize {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Store {
    /// Writes the closings that could not be written when they were due; says how many are left.
    pub async fn catch_up(&self) -> usize {
        let mut left = self.late().len();
        while left > 0 {
            let some = self.late().take().into_iter().map(|closing| self.close_late(closing));
            futures_util::future::join_all(some).await;
            let before = std::mem::replace(&mut left, self.late().len());
            // What could not be written waits again.
            if left >= before {
                return left;
            }
        }
        if self.late().lost.swap(false, Ordering::SeqCst) {
            let free =
                Orphans { owner: self.owner().to_owned(), held: Arc::clone(&self.late().held) };
            if let Err(fault) = self.write(free).await {
                tracing::debug!(%fault, "keys of lost closings are looked for later");
                self.late().lost.store(true, Ordering::SeqCst);
            }
        }
        left
    }

    async fn close_late(&self, closing: ClosingWrite) {
        let record_id = closing.record_id.clone();
        match self.write_or_return(closing).await {
            Ok(()) => self.late().held.end(&record_id),
            Err(unwritten) => unwritten.work.into_iter().for_each(|late| self.late().push(late)),
        }
    }
}

/// Calls of this gate that may hold a key, and what each wanted while nobody has heard of its opening.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<HashMap<RecordId, Option<Wanted>>>);

/// What an opening takes. Whoever makes no call after all gives it back.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(super) claim: Option<Claim>,
    pub(super) redeem: Option<ApprovalId>,
}

impl Held {
    pub(super) fn begin(&self, record_id: &RecordId, wanted: Wanted) {
        if wanted.claim.is_some() || wanted.redeem.is_some() {
            self.lock().insert(record_id.clone(), Some(wanted));
        }
    }

    /// It was opened, and whoever makes the call knows.
    pub(super) fn heard(&self, record_id: &RecordId) {
        if let Some(wanted) = self.lock().get_mut(record_id) {
            *wanted = None;
        }
    }

    pub(super) fn unheard(&self, record_id: &RecordId) -> Option<Wanted> {
        self.lock().get(record_id).cloned().flatten()
    }

    pub(super) fn end(&self, record_id: &RecordId) {
        self.lock().remove(record_id);
    }

    fn knows(&self, record_id: &str) -> bool {
        self.lock().contains_key(&RecordId::from_string(record_id))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RecordId, Option<Wanted>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wanted {
    /// Gives it back, as far as it was taken. The approval was used by this opening if that took the key,
    /// too, or, without one, is in the chain: another call may have used it since.
    pub(super) async fn undo(
        &self,
        connection: &mut Connection,
        record_id: &RecordId,
        now: Timestamp,
    ) -> Result<(), WriteError> {
        let taken = match &self.claim {
            Some(claim) => claims::give_back(connection, claim, record_id).await?,
            None => chain::is_opened(connection, record_id.as_str()).await?,
        };
        if let Some(approval_id) = self.redeem.as_ref().filter(|_| taken) {
            approvals::give_back(connection, approval_id, now).await?;
        }
        Ok(())
    }
}

/// Frees what is held for calls that have ended and whose closings are lost: what was never sent is
/// free, what was sent is in doubt.
struct Orphans {
    owner: String,
    held: Arc<Held>,
}

impl Write for Orphans {
    type Done = ();
    const UNWRITTEN: &'static str = "keys of calls that have ended could not be freed";
    const REFUSES_FIRST: bool = true;

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        for record_id in claims::of_owner(connection, &self.owner).await? {
            if !self.held.knows(&record_id) {
                tracing::warn!(record.id = record_id, "the key of a call that has ended is let go");
                claims::let_go(connection, &record_id).await?;
            }
        }
        Ok(())
    }
}
