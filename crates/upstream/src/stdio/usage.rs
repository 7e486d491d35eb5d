//! Whether a child is in use, and for how long it has not been.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Usage {
    underway: AtomicUsize,
    last: Mutex<Instant>,
}

impl Default for Usage {
    fn default() -> Self {
        Self { underway: AtomicUsize::new(0), last: Mutex::new(Instant::now()) }
    }
}

impl Usage {
    /// In use until what is returned is dropped.
    pub(super) fn enter(self: &Arc<Self>) -> InUse {
        self.underway.fetch_add(1, Ordering::AcqRel);
        InUse(Arc::clone(self))
    }

    /// How many use it at this moment.
    pub(super) fn underway(&self) -> usize {
        self.underway.load(Ordering::Acquire)
    }

    /// Ends once nobody has used it for this long; never without a bound.
    pub(super) async fn idle(&self, bound: Option<Duration>) {
        let Some(bound) = bound else { return std::future::pending().await };
        loop {
            let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
            let busy = self.underway.load(Ordering::Acquire) > 0;
            if !busy && last.elapsed() >= bound {
                return;
            }
            let until = if busy { Instant::now() + bound } else { last + bound };
            tokio::time::sleep_until(until).await;
        }
    }
}

#[derive(Debug)]
pub(super) struct InUse(Arc<Usage>);

impl Drop for InUse {
    fn drop(&mut self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.underway.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_what_nobody_uses_is_idle() {
        let usage = Arc::new(Usage::default());
        let began = Instant::now();
        let bound = Duration::from_secs(10);
        let in_use = usage.enter();
        let ends = Arc::clone(&usage);
        let idle = tokio::spawn(async move { ends.idle(Some(bound)).await });
        tokio::time::advance(Duration::from_secs(25)).await;
        assert!(!idle.is_finished());
        drop(in_use);
        idle.await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_secs(35));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_bound_nothing_is_idle() {
        let usage = Usage::default();
        let waited = tokio::time::timeout(Duration::from_hours(100), usage.idle(None)).await;
        assert!(waited.is_err());
    }
}
