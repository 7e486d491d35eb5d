//! One batch, one commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::item::{Fate, Item};
use super::{Connection, Desk, Draft, Link, database};
use crate::forms::{self, Form};
use crate::{chain, failpoint, limits};

/// Why a batch is not in the database, as far as one can tell.
pub(super) enum Failure {
    /// Another process has added to the chain since; with the head read anew it will fit.
    Stale,
    /// No connection can be had.
    Unreachable(String),
    Broken(String),
}

impl Desk {
    /// All items in one transaction; those that were refused leave nothing.
    pub(super) async fn commit(&mut self, items: &mut [Box<dyn Item>]) -> Result<(), Failure> {
        let mut connection = self.take_connection().await?;
        match self.write(&mut connection, items).await {
            Ok(head) => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                self.head = head;
                self.connection = Some(connection);
                Ok(())
            }
            Err(error) => {
                self.head = None;
                self.noted.forget();
                let stale = chain::is_stale(&error);
                // SQLite may have dropped the transaction behind our back: begin anew.
                database::close(connection).await;
                Err(if stale { Failure::Stale } else { Failure::Broken(error.to_string()) })
            }
        }
    }

    /// Whether this very entry is in the chain.
    pub(super) async fn has(&mut self, draft: &Draft) -> Result<bool, Failure> {
        let mut connection = self.take_connection().await?;
        match chain::has(&mut connection, draft).await {
            Ok(has) => {
                self.connection = Some(connection);
                Ok(has)
            }
            Err(error) => Err(Failure::Broken(error.to_string())),
        }
    }

    async fn take_connection(&mut self) -> Result<Connection, Failure> {
        self.database.check_place().map_err(Failure::Unreachable)?;
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self
                .database
                .reconnect()
                .await
                .map_err(|error| Failure::Unreachable(error.to_string())),
        }
    }

    /// Returns the new head of the chain if it is ours to remember.
    async fn write(
        &mut self,
        connection: &mut Connection,
        items: &mut [Box<dyn Item>],
    ) -> Result<Option<Link>, sqlx::Error> {
        // Where others may write too, the head is worth nothing before the lock is ours.
        let head = self.head.clone().filter(|_| self.database.is_embedded());
        let now = self.clock.now();
        let forms = self.noted.missing(items.iter().filter_map(|item| item.draft()), now);
        match head {
            Some(head) if forms.is_empty() && is_one_statement(items) => {
                self.append_alone(connection, items, head).await.map(Some)
            }
            head => {
                let head = self.transact(connection, items, head, &forms).await?;
                self.noted.note(&forms, now);
                Ok(head)
            }
        }
    }

    /// One statement is a transaction by itself.
    async fn append_alone(
        &mut self,
        connection: &mut Connection,
        items: &mut [Box<dyn Item>],
        head: Link,
    ) -> Result<Link, sqlx::Error> {
        failpoint::write("batch.begun")?;
        let now = self.clock.now();
        for item in &mut *items {
            item.run(connection, now).await?;
        }
        let drafts: Vec<&Draft> = items.iter().filter_map(|item| item.draft()).collect();
        failpoint::write("batch.written")?;
        let appender = match self.appender.take() {
            None => self.database.appender().await?,
            ready => ready,
        };
        let head = match appender {
            None => chain::append(connection, self.database.places(), head, &drafts).await?,
            Some(mut appender) => {
                // After a failure it is gone, and the next batch opens another.
                let head = chain::append_alone(&mut appender, head, &drafts).await?;
                self.appender = Some(appender);
                head
            }
        };
        failpoint::write("batch.committed")?;
        Ok(head)
    }

    async fn transact(
        &mut self,
        connection: &mut Connection,
        items: &mut [Box<dyn Item>],
        head: Option<Link>,
        forms: &[Arc<Form>],
    ) -> Result<Option<Link>, sqlx::Error> {
        failpoint::write("batch.begun")?;
        let mut transaction = self.database.begin(connection).await?;
        if !forms.is_empty() {
            forms::keep(&mut transaction, forms, self.clock.now()).await?;
            failpoint::write("batch.formed")?;
        }
        let mut drafts = Vec::new();
        for item in items {
            if let Fate::Keep = self.run(&mut transaction, item).await?
                && let Some(draft) = item.draft()
            {
                drafts.push(draft);
            }
        }
        let head = match head {
            None if drafts.is_empty() => None,
            None => Some(chain::head(&mut transaction).await?),
            known => known,
        };
        let head = match head {
            None => None,
            Some(head) => {
                let places = self.database.places();
                Some(chain::append(&mut transaction, places, head, &drafts).await?)
            }
        };
        failpoint::write("batch.written")?;
        transaction.commit().await?;
        failpoint::write("batch.committed")?;
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
        let mut savepoint = sqlx::Connection::begin(transaction).await?;
        let fate = item.run(&mut savepoint, now).await?;
        match fate {
            Fate::Keep => savepoint.commit().await?,
            Fate::Undo => savepoint.rollback().await?,
        }
        Ok(fate)
    }
}

fn is_one_statement(items: &[Box<dyn Item>]) -> bool {
    items.len() <= limits::ROWS_MAX && items.iter().all(|item| item.only_appends())
}
