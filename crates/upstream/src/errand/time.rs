//! The time of one call. It stands still while the client is asked something: a person who thinks
//! is not a slow upstream. Not for ever: an upstream that only asks must end, too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits;

#[derive(Debug, Default)]
pub struct Time(Mutex<Pauses>);

#[derive(Debug, Default)]
struct Pauses {
    open: usize,
    since: Option<Instant>,
    ended: Duration,
}

impl Time {
    /// Stands still until what is returned is dropped.
    pub fn pause(self: &Arc<Self>) -> Paused {
        let mut pauses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.open += 1;
        pauses.since.get_or_insert_with(Instant::now);
        Paused(Arc::clone(self))
    }

    /// Ends when `timeout` has passed, pauses not counted.
    pub async fn up(&self, timeout: Duration) {
        let began = Instant::now();
        let mut slept = began;
        loop {
            let end = began + timeout + self.paused();
            if end <= slept {
                return;
            }
            tokio::time::sleep_until(end).await;
            slept = end;
        }
    }

    fn paused(&self) -> Duration {
        let pauses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = pauses.since.map_or(Duration::ZERO, |since| since.elapsed());
        // One tick more while a question is open: its pause goes on.
        let tick = if pauses.open > 0 { Duration::from_millis(50) } else { Duration::ZERO };
        (pauses.ended + open + tick).min(limits::QUESTIONS_TIME)
    }
}

#[derive(Debug)]
pub struct Paused(Arc<Time>);

impl Drop for Paused {
    fn drop(&mut self) {
        let mut pauses = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.open = pauses.open.saturating_sub(1);
        if pauses.open == 0
            && let Some(since) = pauses.since.take()
        {
            pauses.ended += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lasts(think: Duration) -> Duration {
        let time = Arc::new(Time::default());
        let began = Instant::now();
        let asked = Arc::clone(&time);
        let asking = tokio::spawn(async move {
            let paused = asked.pause();
            drop(tokio::time::timeout(think, std::future::pending::<()>()).await);
            drop(paused);
        });
        tokio::task::yield_now().await;
        time.up(Duration::from_secs(10)).await;
        asking.abort();
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn time_stands_still_while_the_client_is_asked() {
        let check = async |think_s: u64, wanted_s: u64| {
            let lasted = lasts(Duration::from_secs(think_s)).await;
            let wanted = Duration::from_secs(wanted_s);
            let difference = lasted.abs_diff(wanted);
            assert!(difference < Duration::from_millis(100), "{lasted:?} for {wanted:?}");
        };
        check(0, 10).await;
        check(60, 70).await;
        check(3_600, 10 + limits::QUESTIONS_TIME.as_secs()).await;
    }
}
