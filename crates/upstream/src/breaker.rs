//! Leaves an upstream alone that fails again and again: no call waits for it, and it is tried once
//! in a while until it answers.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::{Code, Fault};
use tokio::time::Instant;

use crate::limits;

#[derive(Debug, Default)]
pub struct Breaker {
    /// In a row. Nought is the way of almost every call, and costs nothing more.
    failures: AtomicU32,
    rest: Mutex<Rest>,
}

#[derive(Debug, Default)]
struct Rest {
    until: Option<Instant>,
    /// One call finds out for all whether it is back.
    trying: bool,
}

impl Breaker {
    /// Does the work unless the upstream is being left alone.
    pub async fn guard<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let trial = self.admit()?;
        let done = work.await;
        match &done {
            Err(fault) if fault.code == Code::UpstreamUnavailable => self.failed(),
            // Whatever else it said, it is there. What the caller did says nothing about it.
            Err(fault) if matches!(fault.code, Code::Cancelled | Code::UpstreamTimeout) => {}
            _ => self.answered(),
        }
        drop(trial);
        done
    }

    pub fn failures(&self) -> u32 {
        self.failures.load(Ordering::Acquire)
    }

    fn admit(&self) -> Result<Option<Trial<'_>>, Fault> {
        let failures = self.failures();
        if failures < limits::FAILURES_BORNE {
            return Ok(None);
        }
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let left = rest
            .until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() && !rest.trying {
            rest.trying = true;
            return Ok(Some(Trial(self)));
        }
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let message =
            format!("the upstream failed {failures} times in a row and is left alone for a moment");
        Err(Fault::new(Code::UpstreamUnavailable, message).with("retry_after_ms", left_ms.max(1)))
    }

    fn failed(&self) {
        let failures = self.failures.fetch_add(1, Ordering::AcqRel) + 1;
        if let Some(past) = failures.checked_sub(limits::FAILURES_BORNE) {
            let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
            rest.until = Some(Instant::now() + pause(past));
        }
    }

    /// It was heard of: whatever failed before, it is there.
    pub fn answered(&self) {
        if self.failures() > 0 {
            self.failures.store(0, Ordering::Release);
            self.rest.lock().unwrap_or_else(PoisonError::into_inner).until = None;
        }
    }
}

/// How long to wait before try number `tried`: doubled each time, bounded, and spread a little so
/// that many do not come back at once.
pub fn pause(tried: u32) -> Duration {
    let doubled = limits::REST_MIN.saturating_mul(2_u32.saturating_pow(tried.min(16)));
    let pause = doubled.min(limits::REST_MAX);
    let random = RandomState::new().hash_one(tried);
    let spread_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX) / 4;
    pause + Duration::from_millis(random.checked_rem(spread_ms + 1).unwrap_or_default())
}

/// The one call that may try; dropped, another may.
struct Trial<'a>(&'a Breaker);

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.0.rest.lock().unwrap_or_else(PoisonError::into_inner).trying = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn down(breaker: &Breaker, reached: &AtomicU32) -> Fault {
        let work = async {
            reached.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(Fault::new(Code::UpstreamUnavailable, "nobody is at home"))
        };
        breaker.guard(work).await.unwrap_err()
    }

    #[tokio::test(start_paused = true)]
    async fn who_fails_again_and_again_is_tried_ever_less() {
        let (breaker, reached) = (Breaker::default(), AtomicU32::new(0));
        let began = Instant::now();
        for _ in 0..6_000 {
            down(&breaker, &reached).await;
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        assert_eq!(began.elapsed(), Duration::from_mins(1));
        let tries = reached.load(Ordering::Relaxed);
        assert!((15..=30).contains(&tries), "{tries} tries within a minute");
        let refused = down(&breaker, &reached).await;
        assert!(refused.message.contains("left alone") && refused.retryable(), "{refused}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_back_is_served_within_five_seconds() {
        let (breaker, reached) = (Breaker::default(), AtomicU32::new(0));
        for _ in 0..1_000 {
            down(&breaker, &reached).await;
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        let back = Instant::now();
        while breaker.guard(async { Ok(()) }).await.is_err() {
            tokio::time::advance(Duration::from_millis(50)).await;
        }
        assert!(back.elapsed() <= Duration::from_secs(5), "{:?}", back.elapsed());
        assert_eq!(breaker.failures(), 0);
    }

    #[tokio::test]
    async fn a_refusal_of_the_upstreams_own_is_no_failure() {
        let breaker = Breaker::default();
        for code in [Code::UpstreamError, Code::AuthFailed, Code::UpstreamTimeout, Code::Cancelled]
        {
            for _ in 0..9 {
                let work = async { Err::<(), _>(Fault::new(code, "no")) };
                assert_eq!(breaker.guard(work).await.unwrap_err().code, code);
            }
        }
        assert_eq!(breaker.failures(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn one_call_tries_for_all_and_a_lost_one_lets_another() {
        let (breaker, reached) = (Breaker::default(), AtomicU32::new(0));
        for _ in 0..limits::FAILURES_BORNE {
            down(&breaker, &reached).await;
        }
        tokio::time::advance(limits::REST_MAX * 2).await;
        let trial = breaker.admit().unwrap();
        assert!(breaker.admit().is_err());
        drop(trial);
        assert!(breaker.admit().is_ok());
    }
}
