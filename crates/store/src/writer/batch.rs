//! One batch, one commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::filing::{Filing, weigh};
use super::item::{Fate, Item};
use super::{Connection, Desk, Draft, Link};
use crate::database::{self, Transaction};
use crate::forms::{self, Form};
use crate::{chain, failpoint, limits};

/// What a commit writes beside its entries.
const COMMIT_BYTES: u64 = 3 * limits::PAGE_BYTES;
/// About what is written over where a part of the history is removed: its rows, a few kilobytes each.
const REMOVED_BYTES: u64 = limits::PURGE_ROWS.unsigned_abs() * 3 * 1024;

/// Why a batch is not in the database, as far as one can tell.
pub(super) enum Failure {
    /// Another process has added to the chain since; with the head read anew it will fit.
    Stale,
    /// No connection can be had.
    Unreachable(String),
    /// The server stopped answering; what it was sent may have happened.
    Silent(String),
    Broken(String),
}

/// Whether these items may have been written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Try {
    First,
    Again,
}

impl Desk {
    /// All items together; those that were refused leave nothing.
    pub(super) async fn commit(
        &mut self,
        items: &mut [Box<dyn Item>],
        times: Try,
    ) -> Result<(), Failure> {
        let mut connection = self.take_connection().await?;
        if items.iter().any(|item| item.draft().is_some()) {
            self.take_journal(&mut connection).await?;
        } else if self.unfiled.load(Ordering::SeqCst) || items.iter().any(|item| item.forgets()) {
            self.try_journal(&mut connection).await;
        }
        match self.write(&mut connection, items, times).await {
            Ok(head) => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                self.head = head;
                self.connection = Some(connection);
                Ok(())
            }
            Err(error) => {
                self.give_up().await;
                let stale = chain::is_stale(&error);
                // SQLite may have dropped the transaction behind our back: begin anew.
                connection.close().await;
                Err(match error {
                    _ if stale => Failure::Stale,
                    error if database::is_silent(&error) => Failure::Silent(error.to_string()),
                    error => Failure::Broken(error.to_string()),
                })
            }
        }
    }

    async fn take_connection(&mut self) -> Result<Connection, Failure> {
        self.database.check_place().map_err(Failure::Unreachable)?;
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let unreachable = |error: sqlx::Error| Failure::Unreachable(error.to_string());
        failpoint::write(failpoint::RECONNECTING).map_err(unreachable)?;
        self.database.reconnect().await.map_err(unreachable)
    }

    /// Nothing is added to the chain before what the journal says is in the database.
    ///
    /// INVARIANT: with the journal just taken, the head is unknown, so that the next entries are a
    /// transaction: it syncs whatever another process has left unsynced, before a frame of ours takes the
    /// place of one of its own.
    async fn take_journal(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        if self.filing.is_none() && self.database.is_embedded() {
            let taken = Filing::take(&self.dir, (&self.database, connection), &self.unfiled).await;
            self.filing = taken.map_err(Failure::Unreachable)?;
            self.head = None;
        }
        Ok(())
    }

    /// The same for whoever adds nothing to the chain and can do without; whether it came to that.
    async fn try_journal(&mut self, connection: &mut Connection) -> bool {
        let taken = self.take_journal(connection).await;
        if let Err(Failure::Unreachable(why) | Failure::Broken(why)) = &taken {
            tracing::warn!(why, "entries stay in the journal; the next write tries again");
        }
        taken.is_ok()
    }

    /// Looks at what the journal holds at once, and not only with the next write.
    pub(super) async fn recover(&mut self) {
        let Ok(mut connection) = self.take_connection().await else { return };
        if self.try_journal(&mut connection).await {
            self.connection = Some(connection);
        } else {
            // It may hold a transaction that nobody ended, and with it everybody else's place.
            connection.close().await;
        }
    }

    /// Returns the new head of the chain if it is ours to remember.
    async fn write(
        &mut self,
        connection: &mut Connection,
        items: &mut [Box<dyn Item>],
        times: Try,
    ) -> Result<Option<Link>, sqlx::Error> {
        failpoint::write("batch.begun")?;
        let now = self.clock.now();
        let forms = self.noted.missing(items.iter().filter_map(|item| item.draft()), now);
        // Where others may write too, the head is worth nothing before the lock is ours.
        let head = self.head.clone().filter(|_| self.database.is_embedded());
        if let Some(head) = &head
            && times == Try::First
            && forms.is_empty()
            && let Some(written) = self.write_down(items, head).await?
        {
            return Ok(Some(written));
        }
        let head = self.transact(connection, (items, times), head, &forms).await?;
        self.noted.note(&forms, now);
        Ok(head)
    }

    /// Puts entries that need no more than to be there into the journal, if it can have them.
    async fn write_down(
        &mut self,
        items: &mut [Box<dyn Item>],
        head: &Link,
    ) -> Result<Option<Link>, sqlx::Error> {
        let Some(filing) = &mut self.filing else { return Ok(None) };
        if !items.iter_mut().all(|item| item.append()) {
            return Ok(None);
        }
        let mut head = head.clone();
        let drafts = items.iter().filter_map(|item| item.draft());
        let entries = chain::place(&mut head, drafts.map(Draft::parts));
        let Some(frame) = filing.frame(&entries) else { return Ok(None) };
        failpoint::write("batch.written")?;
        filing.write(frame, entries).await?;
        failpoint::write("batch.committed")?;
        Ok(Some(head))
    }

    /// Everything in one transaction, behind what the journal holds.
    async fn transact(
        &mut self,
        connection: &mut Connection,
        (items, times): (&mut [Box<dyn Item>], Try),
        head: Option<Link>,
        forms: &[Arc<Form>],
    ) -> Result<Option<Link>, sqlx::Error> {
        let noted = match &mut self.filing {
            Some(filing) => filing.hand_over().await?,
            None => Vec::new(),
        };
        let places = self.database.places();
        let mut transaction = self.database.begin(connection).await?;
        chain::append(&mut transaction, places, &noted).await?;
        if !forms.is_empty() {
            forms::keep(&mut transaction, forms, self.clock.now()).await?;
            failpoint::write("batch.formed")?;
        }
        let mut drafts = Vec::new();
        let forgets = items.iter().any(|item| item.forgets());
        for item in items {
            // Asked where nobody else can write: whoever still commits comes before.
            if (times == Try::Again && item.has_run() || item.is_late())
                && let Some(draft) = item.draft()
                && chain::has(&mut transaction, &draft.columns, &draft.body).await?
            {
                item.was_there();
            } else if let Fate::Keep = self.run(&mut transaction, item).await?
                && let Some(draft) = item.draft()
            {
                drafts.push(draft.parts());
            }
        }
        let mut head = match head {
            None if drafts.is_empty() => None,
            None => Some(chain::head(&mut transaction).await?),
            known => known,
        };
        let added = head.as_mut().map(|head| chain::place(head, drafts)).unwrap_or_default();
        chain::append(&mut transaction, places, &added).await?;
        failpoint::write("batch.written")?;
        transaction.commit().await?;
        failpoint::write("batch.committed")?;
        let removed = if forgets { REMOVED_BYTES } else { 0 };
        self.logged += COMMIT_BYTES + removed + noted.iter().chain(&added).map(weigh).sum::<u64>();
        if let Some(filing) = &mut self.filing {
            filing.handed_over();
            if forgets {
                filing.forget();
            }
        }
        Ok(head)
    }

    async fn run(
        &mut self,
        transaction: &mut Connection,
        item: &mut Box<dyn Item>,
    ) -> Result<Fate, sqlx::Error> {
        let now = self.clock.now();
        if item.refuses_first() {
            return item.run(transaction, now).await;
        }
        let mut savepoint = Transaction::part(transaction).await?;
        let fate = item.run(&mut savepoint, now).await?;
        match fate {
            Fate::Keep => savepoint.commit().await?,
            Fate::Undo => savepoint.rollback().await?,
        }
        Ok(fate)
    }
}
