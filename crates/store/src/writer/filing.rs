//! From the journal into the database: beside the writing, and before whatever must come behind.
//!
//! What waits here is durable in the journal and acknowledged. If the database will not take it,
//! nothing here is kept: the journal is taken anew, and what stands in it is looked at again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::SqliteConnection;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::recover;
use crate::chain::{self, Placed};
use crate::database::{self, Connection, Database};
use crate::journal::{self, Journal};
use crate::{failpoint, folder, limits};

pub(super) struct Filing {
    journal: Journal,
    database: Database,
    /// On the way to the database; more go when these are there.
    under_way: Option<JoinHandle<Result<SqliteConnection, sqlx::Error>>>,
    /// What comes next.
    waiting: Vec<Placed>,
    /// When to look after both, at the latest.
    due: Option<Instant>,
    /// Only files; opened when there is something to file.
    connection: Option<SqliteConnection>,
    /// Told to those who read entries.
    unfiled: Arc<AtomicBool>,
}

impl Filing {
    /// Takes the journal beside this database, and brings into the database what only stands there.
    /// None while another process has it.
    pub(super) async fn take(
        dir: &Path,
        (database, connection): (&Database, &mut Connection),
        unfiled: &Arc<AtomicBool>,
    ) -> Result<Option<Self>, String> {
        let taken = Journal::take(dir).map_err(|error| error.to_string())?;
        // Who has it may still have to file what stands there.
        let Some(journal) = taken else { return Ok(None) };
        let recovered = recover::recover(dir, &journal, (database, connection)).await;
        recovered.map_err(|error| format!("the journal: {error}"))?;
        // New files are there after a power failure, too.
        folder::settle_names(dir).map_err(|error| error.to_string())?;
        unfiled.store(false, Ordering::SeqCst);
        Ok(Some(Self {
            journal,
            database: database.clone(),
            under_way: None,
            waiting: Vec::new(),
            due: None,
            connection: None,
            unfiled: Arc::clone(unfiled),
        }))
    }

    /// The frame of these entries, if the journal can have it.
    pub(super) fn frame(&self, entries: &[Placed]) -> Option<Vec<u8>> {
        journal::encode(entries).filter(|frame| self.journal.has_room(frame.len()))
    }

    /// Makes the entries durable.
    pub(super) async fn write(
        &mut self,
        frame: Vec<u8>,
        entries: Vec<Placed>,
    ) -> Result<(), sqlx::Error> {
        self.journal.write(frame).await?;
        self.unfiled.store(true, Ordering::SeqCst);
        self.due.get_or_insert_with(|| Instant::now() + limits::FILE_WAIT);
        self.waiting.extend(entries);
        Ok(())
    }

    /// When it wants to be looked after, at the latest.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether the database is written at this moment.
    pub(super) fn is_under_way(&self) -> bool {
        self.under_way.as_ref().is_some_and(|under_way| !under_way.is_finished())
    }

    /// Looks what became of the entries under way, and sends the next if they should go; says how much
    /// went, in bytes.
    pub(super) async fn go_on(&mut self) -> Result<u64, sqlx::Error> {
        if self.under_way.as_ref().is_some_and(JoinHandle::is_finished) {
            self.arrived().await?;
        }
        let late = self.due.is_some_and(|due| due <= Instant::now());
        let many = self.waiting.len() >= limits::FILE_ENTRIES;
        let sent = if self.under_way.is_none() && (late || many) { self.send() } else { 0 };
        if late || sent > 0 {
            let idle = self.under_way.is_none() && self.waiting.is_empty();
            self.due = (!idle).then(|| Instant::now() + limits::FILE_WAIT);
        }
        Ok(sent)
    }

    /// All that is not in the database, for whoever puts it there now.
    pub(super) async fn hand_over(&mut self) -> Result<Vec<Placed>, sqlx::Error> {
        self.arrived().await?;
        self.due = None;
        Ok(std::mem::take(&mut self.waiting))
    }

    /// What was handed over is in the database.
    pub(super) fn handed_over(&mut self) {
        self.journal.turn();
        self.unfiled.store(false, Ordering::SeqCst);
    }

    /// Keeps nothing of what is in the database by now.
    pub(super) fn forget(&self) {
        // INVARIANT: nothing waits and nothing is under way.
        if let Err(error) = self.journal.empty() {
            tracing::warn!(%error, "the journal keeps a copy of old entries until it is written over");
        }
    }

    /// Waits for what is under way, whatever comes of it: it will be looked for.
    pub(super) async fn give_up(mut self) {
        if let Err(error) = self.arrived().await {
            tracing::debug!(%error, "entries were not filed; they stay in the journal");
        }
        if let Some(connection) = self.connection.take() {
            database::close(connection).await;
        }
    }

    /// Files the rest. The journal comes back if all of it is in the database.
    pub(super) async fn finish(mut self) -> Option<Journal> {
        let mut filed = self.arrived().await;
        if filed.is_ok() {
            self.send();
            filed = self.arrived().await;
        }
        if let Some(connection) = self.connection.take() {
            database::close(connection).await;
        }
        match filed {
            Ok(()) => Some(self.journal),
            Err(error) => {
                tracing::warn!(%error, "the last entries stay in the journal; the next start files them");
                None
            }
        }
    }

    fn send(&mut self) -> u64 {
        let entries = std::mem::take(&mut self.waiting);
        if entries.is_empty() {
            return 0;
        }
        // INVARIANT: nothing is under way, so the other file is free.
        self.journal.turn();
        let bytes = entries.iter().map(weigh).sum();
        let (database, connection) = (self.database.clone(), self.connection.take());
        self.under_way = Some(tokio::spawn(file(database, connection, entries)));
        bytes
    }

    async fn arrived(&mut self) -> Result<(), sqlx::Error> {
        let Some(under_way) = self.under_way.take() else { return Ok(()) };
        let filed = under_way.await.map_err(|_panicked| sqlx::Error::WorkerCrashed)?;
        self.connection = Some(filed?);
        if self.waiting.is_empty() {
            self.unfiled.store(false, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// About what an entry adds to SQLite's log.
pub(super) fn weigh(entry: &Placed) -> u64 {
    limits::ROW_BYTES + entry.body.as_str().len() as u64
}

async fn file(
    database: Database,
    connection: Option<SqliteConnection>,
    entries: Vec<Placed>,
) -> Result<SqliteConnection, sqlx::Error> {
    failpoint::write("filing.begun")?;
    database.check_place().map_err(std::io::Error::other)?;
    let mut connection = match connection {
        Some(connection) => connection,
        None => database.filer().await?,
    };
    chain::file(&mut connection, entries).await?;
    failpoint::write("filing.done")?;
    Ok(connection)
}
