//! How much may happen at once and how often: calls in flight, and calls a minute.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{Code, Fault, Timestamp};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const MINUTE: Duration = Duration::from_mins(1);
/// Counters kept; beyond that, idle ones are forgotten.
const COUNTERS_MAX: usize = 10_000;

#[derive(Debug)]
pub struct Pace {
    places: Arc<Semaphore>,
    recent: Mutex<HashMap<String, VecDeque<Timestamp>>>,
}

impl Pace {
    pub fn new(calls_in_flight: u32) -> Self {
        let places = usize::try_from(calls_in_flight).unwrap_or(usize::MAX);
        Self { places: Arc::new(Semaphore::new(places)), recent: Mutex::default() }
    }

    /// A place among the running calls, given back when dropped.
    pub fn place(&self) -> Result<OwnedSemaphorePermit, Fault> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|_full| {
            Fault::new(
                Code::RateLimited,
                "too many calls are running; try again when one has ended",
            )
        })
    }

    /// Counts one call of `who` on `what`, or refuses the one too many within a minute.
    pub fn count(&self, who_on_what: &str, per_minute: u32, now: Timestamp) -> Result<(), Fault> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= COUNTERS_MAX && !recent.contains_key(who_on_what) {
            recent.retain(|_, calls| calls.back().is_some_and(|last| now.since(*last) < MINUTE));
        }
        let calls = recent.entry(who_on_what.to_owned()).or_default();
        while calls.front().is_some_and(|first| now.since(*first) >= MINUTE) {
            calls.pop_front();
        }
        if calls.len() >= usize::try_from(per_minute).unwrap_or(usize::MAX) {
            let wait =
                calls.front().map_or(MINUTE, |first| MINUTE.saturating_sub(now.since(*first)));
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let message = format!("more than {per_minute} calls of this tool within a minute");
            return Err(Fault::new(Code::RateLimited, message).with("retry_after_ms", wait_ms));
        }
        calls.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_too_many_waits_for_the_minute_to_pass() {
        let pace = Pace::new(1);
        let start = Timestamp::from_millis(0);
        let count = |who: &str, at: Timestamp| pace.count(who, 2, at).map_err(|fault| fault.code);
        assert_eq!(count("ann/t", start), Ok(()));
        assert_eq!(count("ann/t", start.after(Duration::from_secs(30))), Ok(()));
        assert_eq!(count("ann/t", start.after(Duration::from_secs(59))), Err(Code::RateLimited));
        assert_eq!(count("bob/t", start.after(Duration::from_secs(59))), Ok(()));
        assert_eq!(count("ann/t", start.after(Duration::from_mins(1))), Ok(()));
    }

    #[test]
    fn a_place_is_given_back() {
        let pace = Pace::new(1);
        let place = pace.place().unwrap();
        assert_eq!(pace.place().unwrap_err().code, Code::RateLimited);
        drop(place);
        assert!(pace.place().is_ok());
    }
}
