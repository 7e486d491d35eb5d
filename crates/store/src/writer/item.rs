//! A write of any kind, with the one who waits for it.

use std::pin::Pin;

use model::{Code, Fault, Timestamp};
use tokio::sync::oneshot;

use super::{Write, WriteError};
use crate::database::Connection;
use crate::entry::Draft;

pub(super) enum Fate {
    Keep,
    Undo,
}

pub(super) trait Item: Send {
    fn run<'a>(
        &'a mut self,
        connection: &'a mut Connection,
        now: Timestamp,
    ) -> Pin<Box<dyn Future<Output = Result<Fate, sqlx::Error>> + Send + 'a>>;

    fn draft(&self) -> Option<&Draft>;

    fn only_appends(&self) -> bool;

    fn refuses_first(&self) -> bool;

    /// Whether there is a result of an earlier run.
    fn has_run(&self) -> bool;

    /// Hands over the result of the last run.
    fn acknowledge(self: Box<Self>);

    fn fail(self: Box<Self>, cause: &str);
}

pub(super) struct Waiting<W: Write> {
    work: W,
    reply: oneshot::Sender<Result<W::Done, Fault>>,
    result: Option<Result<W::Done, Fault>>,
}

impl<W: Write> Waiting<W> {
    pub(super) fn new(work: W, reply: oneshot::Sender<Result<W::Done, Fault>>) -> Self {
        Self { work, reply, result: None }
    }
}

impl<W: Write> Item for Waiting<W> {
    fn run<'a>(
        &'a mut self,
        connection: &'a mut Connection,
        now: Timestamp,
    ) -> Pin<Box<dyn Future<Output = Result<Fate, sqlx::Error>> + Send + 'a>> {
        Box::pin(async move {
            let (fate, result) = match self.work.write(connection, now).await {
                Ok(done) => (Fate::Keep, Ok(done)),
                Err(WriteError::Refused(fault)) => (Fate::Undo, Err(*fault)),
                Err(WriteError::Database(error)) => {
                    self.result = None;
                    return Err(error);
                }
            };
            self.result = Some(result);
            Ok(fate)
        })
    }

    fn draft(&self) -> Option<&Draft> {
        self.work.draft()
    }

    fn only_appends(&self) -> bool {
        self.work.only_appends()
    }

    fn refuses_first(&self) -> bool {
        W::REFUSES_FIRST
    }

    fn has_run(&self) -> bool {
        self.result.is_some()
    }

    fn acknowledge(self: Box<Self>) {
        let Self { reply, result, .. } = *self;
        // INVARIANT: an item is acknowledged after a run, so there is a result.
        let result = result.unwrap_or_else(|| Err(unwritten(W::UNWRITTEN, "it never ran")));
        // Whoever asked may have left; what is written stays written.
        drop(reply.send(result));
    }

    fn fail(self: Box<Self>, cause: &str) {
        drop(self.reply.send(Err(unwritten(W::UNWRITTEN, cause))));
    }
}

pub(super) fn unwritten(message: &str, cause: &str) -> Fault {
    Fault::new(Code::StoreUnavailable, message).logging(format!("not written: {cause}"))
}
