//! Folding SQLite's log into the database while writing goes on.
//!
//! SQLite would do it within the commit that fills the log, and all who share that commit would
//! wait. A connection of its own folds in most of the log; the writer does the little that came in
//! meanwhile, and the log begins anew.

use tokio::task::JoinHandle;

use super::{Connection, Database};
use crate::limits;

#[derive(Default)]
pub(super) struct Fold {
    /// About what is in the log.
    log: u64,
    beside: Option<JoinHandle<()>>,
}

impl Fold {
    /// Begins to fold when the log has grown, and ends it when most is done: by a connection that nobody
    /// writes beside.
    pub(super) async fn go_on(
        &mut self,
        added: u64,
        database: &Database,
        connection: Option<&mut Connection>,
    ) {
        self.log += added;
        if self.beside.is_none() && self.log >= limits::LOG_BYTES {
            let database = database.clone();
            self.beside = Some(tokio::spawn(async move { fold(&database).await }));
        }
        if self.beside.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(connection) = connection
        {
            self.beside = None;
            self.log = 0;
            told(database.fold(connection).await);
        }
    }

    /// Waits for the connection beside to be gone.
    pub(super) async fn finish(&mut self) {
        if let Some(beside) = self.beside.take()
            && let Err(error) = beside.await
        {
            tracing::error!(%error, "folding the log of the database broke off");
        }
    }
}

async fn fold(database: &Database) {
    match database.reconnect().await {
        Ok(mut connection) => {
            told(database.fold(&mut connection).await);
            connection.close().await;
        }
        Err(error) => told(Err(error)),
    }
}

/// Nothing is lost by it: SQLite folds by itself when the log is four times as long.
fn told(folded: Result<(), sqlx::Error>) {
    if let Err(error) = folded {
        tracing::warn!(%error, "the log of the database could not be folded in; it will be tried again");
    }
}
