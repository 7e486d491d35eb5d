//! A request that runs where it is waited for, and to its end in a task of its own if nobody waits.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::reply::Said;

type Work = Pin<Box<dyn Future<Output = Option<Said>> + Send>>;

/// A request under way. Dropped before its end, it goes on: a client that goes away leaves its call
/// to the record.
pub(super) struct Carried(Option<Work>);

impl Carried {
    pub(super) fn new(work: impl Future<Output = Said> + Send + 'static) -> Self {
        Self(Some(Box::pin(AssertUnwindSafe(work).catch_unwind().map(Result::ok))))
    }

    /// Lets it run by itself, for answers whose reader may be slow.
    pub(super) fn let_go(mut self) -> oneshot::Receiver<Said> {
        let (done, answer) = oneshot::channel();
        if let Some(work) = self.0.take() {
            tokio::spawn(async move {
                if let Some(said) = work.await
                    && done.send(said).is_err()
                {
                    tracing::debug!("an answer found no client");
                }
            });
        }
        answer
    }
}

/// An answer that is there, for whoever expects it later.
pub(super) fn at_once(said: Said) -> oneshot::Receiver<Said> {
    let (done, answer) = oneshot::channel();
    // It cannot fail: the other end is in our hands.
    drop(done.send(said));
    answer
}

impl Future for Carried {
    /// Nothing, if the work broke off; the log says why.
    type Output = Option<Said>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Said>> {
        let Some(work) = self.0.as_mut() else { return Poll::Ready(None) };
        let said = work.as_mut().poll(context);
        if said.is_ready() {
            self.0 = None;
        }
        said
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        let Some(work) = self.0.take() else { return };
        // Where there is no runtime any more there is nothing left that could finish it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { drop(work.await) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    fn said() -> Said {
        Said::from(b"{}".to_vec())
    }

    #[tokio::test]
    async fn work_nobody_waits_for_is_finished() {
        let (go, wait) = oneshot::channel::<()>();
        let (end, mut ended) = mpsc::channel(1);
        let mut carried = Carried::new(async move {
            wait.await.unwrap();
            end.send(()).await.unwrap();
            said()
        });
        assert!(futures_util::poll!(&mut carried).is_pending());
        drop(carried);
        go.send(()).unwrap();
        assert_eq!(ended.recv().await, Some(()));
    }

    #[tokio::test]
    async fn work_that_breaks_off_has_no_answer() {
        let carried = Carried::new(async { panic!("on purpose") });
        assert!(carried.await.is_none());
        let carried = Carried::new(async { panic!("on purpose") });
        assert!(carried.let_go().await.is_err());
    }

    #[tokio::test]
    async fn work_that_is_let_go_needs_nobody_to_wait() {
        let (end, mut ended) = mpsc::channel(1);
        let answer = Carried::new(async move {
            end.send(()).await.unwrap();
            said()
        })
        .let_go();
        assert_eq!(ended.recv().await, Some(()));
        assert_eq!(answer.await.unwrap().bytes, b"{}");
    }
}
