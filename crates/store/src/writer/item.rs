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

    /// Takes the place of a run where the entry is all there is to write; whether it is.
    fn append(&mut self) -> bool;

    fn refuses_first(&self) -> bool;

    fn forgets(&self) -> bool;

    /// Whether there is a result of an earlier run.
    fn has_run(&self) -> bool;

    /// Whether it was queued before, and may have been written then.
    fn is_late(&self) -> bool;

    /// Its entry is in the chain, so the result is that of the run that put it there.
    fn was_there(&mut self);

    /// Hands over the result of the last run.
    fn acknowledge(self: Box<Self>);

    fn fail(self: Box<Self>, cause: &str);
}

/// Why something was not written, and, where it may be tried again, what it was.
pub(crate) struct Unwritten<W> {
    pub(crate) fault: Fault,
    pub(crate) work: Option<W>,
}

impl<W: Write> Unwritten<W> {
    pub(super) fn new(cause: &str) -> Self {
        let fault = Fault::new(Code::StoreUnavailable, W::UNWRITTEN);
        Self { fault: fault.logging(format!("not written: {cause}")), work: None }
    }
}

type Reply<W> = oneshot::Sender<Result<<W as Write>::Done, Unwritten<W>>>;

pub(super) struct Waiting<W: Write> {
    work: W,
    reply: Reply<W>,
    result: Option<Result<W::Done, Fault>>,
}

impl<W: Write> Waiting<W> {
    pub(super) fn new(work: W, reply: Reply<W>) -> Self {
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

    fn append(&mut self) -> bool {
        self.result = self.work.appended().map(Ok);
        self.result.is_some()
    }

    fn refuses_first(&self) -> bool {
        W::REFUSES_FIRST
    }

    fn forgets(&self) -> bool {
        W::FORGETS
    }

    fn has_run(&self) -> bool {
        self.result.is_some()
    }

    fn is_late(&self) -> bool {
        self.work.found().is_some()
    }

    fn was_there(&mut self) {
        if self.result.is_none() {
            self.result = self.work.found().map(Ok);
        }
    }

    fn acknowledge(self: Box<Self>) {
        let Self { reply, result, .. } = *self;
        // INVARIANT: an item is acknowledged after a run, so there is a result.
        let result = match result {
            Some(result) => result.map_err(|fault| Unwritten { fault, work: None }),
            None => Err(Unwritten::new("it never ran")),
        };
        // Whoever asked may have left; what is written stays written.
        drop(reply.send(result));
    }

    fn fail(self: Box<Self>, cause: &str) {
        let Self { work, reply, .. } = *self;
        drop(reply.send(Err(Unwritten { work: Some(work), ..Unwritten::new(cause) })));
    }
}
