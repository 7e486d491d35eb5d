//! Connections that only read, lent to whoever asks: few, opened as they are needed, and kept.
//!
//! Not a pool of sqlx: that asks what comes back whether it is well, and where nobody answers, its
//! place is taken for as long as the system waits.

use std::ops::{Deref, DerefMut};

use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard, Semaphore, SemaphorePermit};

use super::{Connection, Database};
use crate::limits;

#[derive(Debug)]
pub(crate) struct Readers {
    database: Database,
    desks: Vec<Mutex<Option<Connection>>>,
    room: Semaphore,
}

/// A connection that may be used until this is dropped.
#[derive(Debug)]
pub(crate) struct Lent<'r> {
    connection: MappedMutexGuard<'r, Connection>,
    // INVARIANT: given back after its desk is free.
    _place: SemaphorePermit<'r>,
}

impl Readers {
    pub(crate) fn new(database: Database) -> Self {
        let desks: Vec<_> = (0..limits::READERS_MAX).map(|_| Mutex::default()).collect();
        let room = Semaphore::new(desks.len());
        Self { database, desks, room }
    }

    pub(crate) async fn lend(&self) -> Result<Lent<'_>, sqlx::Error> {
        let place = tokio::time::timeout(limits::CONNECT_WAIT, self.room.acquire()).await;
        let place = place.map_err(|_elapsed| sqlx::Error::PoolTimedOut)?;
        let place = place.map_err(|_closed| sqlx::Error::PoolClosed)?;
        let mut desk = self.free_desk().await?;
        if !is_of_use(&mut desk).await {
            *desk = Some(self.database.reader().await?);
        }
        let connection = MutexGuard::try_map(desk, Option::as_mut);
        let connection = connection.map_err(|_empty| sqlx::Error::PoolTimedOut)?;
        Ok(Lent { connection, _place: place })
    }

    /// A connection beside those that are lent, for whoever keeps it: it takes nobody's place, and goes
    /// when it is dropped.
    pub(crate) async fn apart(&self) -> Result<Connection, sqlx::Error> {
        if self.room.is_closed() {
            return Err(sqlx::Error::PoolClosed);
        }
        self.database.reader().await
    }

    /// Waits for all that are lent; nobody gets one any more.
    pub(crate) async fn close(&self) {
        let Ok(all) = self.room.acquire_many(limits::READERS_MAX).await else { return };
        self.room.close();
        drop(all);
        for desk in &self.desks {
            if let Some(connection) = desk.lock().await.take() {
                connection.close().await;
            }
        }
    }

    /// Whoever has a place finds a desk; the first ones are used most.
    async fn free_desk(&self) -> Result<MutexGuard<'_, Option<Connection>>, sqlx::Error> {
        if let Some(free) = self.desks.iter().find_map(|desk| desk.try_lock().ok()) {
            return Ok(free);
        }
        // One was given back where we had looked already.
        let first = self.desks.first().ok_or(sqlx::Error::PoolClosed)?;
        Ok(first.lock().await)
    }
}

/// Whether there is a connection on the desk, nothing of it was given up, and somebody answers.
async fn is_of_use(desk: &mut Option<Connection>) -> bool {
    let Some(connection) = desk.as_mut() else { return false };
    let of_use = connection.is_sound() && connection.is_alive().await;
    if !of_use {
        *desk = None;
    }
    of_use
}

impl Deref for Lent<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
