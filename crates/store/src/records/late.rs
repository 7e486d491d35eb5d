//! Closings that could not be written when they were due, and wait in memory for the database.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::Fault;

use super::ClosingWrite;
use crate::database::broken;
use crate::store::Store;
use crate::{chain, limits};

/// Bounded: beyond that, records stay open.
#[derive(Debug, Default)]
pub(crate) struct Late {
    waiting: Mutex<VecDeque<ClosingWrite>>,
    /// Held by who writes them: whoever comes second waits for what the first has in hand.
    turn: tokio::sync::Mutex<()>,
    /// Nobody will write them any more.
    over: AtomicBool,
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
        self.late().lock().len()
    }

    /// One after the other; while the database cannot even be read, none is tried.
    async fn write_late(&self) {
        let waiting = self.late().lock().len();
        for _ in 0..waiting {
            let Some(closing) = self.late().next() else { return };
            // What failed may have been written all the same.
            match self.has(&closing).await {
                Ok(true) => {}
                Ok(false) => {
                    let unwritten = self.write_or_return(closing).await.err();
                    if let Some(closing) = unwritten.and_then(|unwritten| unwritten.work) {
                        self.late().push(closing);
                    }
                }
                Err(fault) => {
                    tracing::debug!(%fault, "late closings wait until entries can be read");
                    return self.late().push(closing);
                }
            }
        }
    }

    /// Whether this very entry is in the chain.
    async fn has(&self, ClosingWrite { draft, .. }: &ClosingWrite) -> Result<bool, Fault> {
        let mut reader = self.reader_of_entries().await?;
        chain::has(&mut reader, &draft.columns, &draft.body).await.map_err(broken)
    }
}

impl Late {
    pub(super) fn push(&self, closing: ClosingWrite) {
        let mut waiting = self.lock();
        if waiting.len() >= limits::LATE_MAX {
            tell_lost(&closing, "too many wait");
            return;
        }
        if self.over.load(Ordering::SeqCst) {
            tell_lost(&closing, "the gate has stopped");
        }
        waiting.push_back(closing);
    }

    /// Says of each that nobody will write it. If one comes later, it is said then.
    pub(crate) fn end(&self) {
        let waiting = self.lock();
        if !self.over.swap(true, Ordering::SeqCst) {
            let why = "the gate stops and could not write it";
            waiting.iter().for_each(|closing| tell_lost(closing, why));
        }
    }

    fn next(&self) -> Option<ClosingWrite> {
        self.lock().pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ClosingWrite>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell_lost(closing: &ClosingWrite, why: &str) {
    tracing::error!(record.id = %closing.record_id, "a closing entry is lost: {why}");
}
