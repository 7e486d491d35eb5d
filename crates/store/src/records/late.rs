//! Closings that wait for the database to come back, and which calls of this gate may hold a key.
//!
//! INVARIANT: a record is known here from before its opening is written until its closing is, or is
//! lost. A key whose record this gate does not know is held by nobody.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Held by who writes them: whoever comes second waits for what the first has in hand.
    turn: tokio::sync::Mutex<()>,
    /// Some did not find room.
    lost: AtomicBool,
    /// Nobody will write them any more.
    over: AtomicBool,
    held: Arc<Held>,
}

impl Late {
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    pub(super) fn push(&self, closing: ClosingWrite) {
        let mut waiting = self.lock();
        if waiting.len() >= limits::LATE_MAX {
            drop(waiting);
            tell_lost(&closing, "too many wait");
            self.held.end(&closing.record_id);
            self.lost.store(true, Ordering::SeqCst);
            return;
        }
        if self.over.load(Ordering::SeqCst) {
            tell_lost(&closing, "the gate has stopped");
        }
        waiting.push(ClosingWrite { late: true, ..closing });
    }

    /// Says of each that nobody will write it. If one comes later, it is said then.
    pub(crate) fn end(&self) {
        let waiting = self.lock();
        if !self.over.swap(true, Ordering::SeqCst) {
            let why = "the gate stops and could not write it";
            waiting.iter().for_each(|closing| tell_lost(closing, why));
        }
    }

    /// As many as share a commit.
    fn take(&self) -> Vec<ClosingWrite> {
        let mut waiting = self.lock();
        let some = waiting.len().min(limits::BATCH_MAX);
        waiting.drain(..some).collect()
    }

    fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ClosingWrite>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell_lost(closing: &ClosingWrite, why: &str) {
    tracing::error!(record.id = %closing.record_id, "a closing entry is lost: {why}");
}

impl Store {
    /// Writes the closings that could not be written when they were due; says how many are left.
    ///
    /// Whoever stops waiting for it loses none: it goes on, and the next to ask waits until it has ended.
    pub async fn catch_up(&self) -> usize {
        let store = self.clone();
        let catching_up = tokio::spawn(async move {
            let _alone = store.late().turn.lock().await;
            store.write_late().await;
        });
        if let Err(error) = catching_up.await {
            tracing::error!(%error, "writing late closings broke off");
        }
        self.late().len()
    }

    /// As many at once as share a commit, while it helps; then frees what the lost ones held.
    async fn write_late(&self) {
        let mut left = self.late().len();
        while left > 0 {
            let some = self.late().take().into_iter().map(|closing| self.close_late(closing));
            futures_util::future::join_all(some).await;
            let before = std::mem::replace(&mut left, self.late().len());
            // What could not be written waits again.
            if left >= before {
                return;
            }
        }
        if self.late().lost.swap(false, Ordering::SeqCst) {
            self.free_orphans().await;
        }
    }

    async fn free_orphans(&self) {
        let (owner, held) = (self.owner().to_owned(), Arc::clone(&self.late().held));
        if let Err(fault) = self.write(Orphans { owner, held }).await {
            tracing::debug!(%fault, "keys of lost closings are looked for later");
            self.late().lost.store(true, Ordering::SeqCst);
        }
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

    fn lock(&self) -> MutexGuard<'_, HashMap<RecordId, Option<Wanted>>> {
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
