//! How much may happen at once and how often: calls in flight, and calls a minute.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{Code, Fault, Timestamp, UpstreamName};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_mins(1);
/// Counters kept; beyond that, idle ones are forgotten.
const COUNTERS_MAX: usize = 10_000;
/// Repeats that one upstream may get in a row, and how fast they come back.
const REPEATS_MAX: u32 = 20;
const REPEAT_EVERY: Duration = Duration::from_millis(500);

/// How often, and how many at once. What is absent is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    pub per_minute: Option<u32>,
    pub in_flight: Option<u32>,
}

/// Bounds on one caller over all tools, on one tool and one upstream over all callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    pub per_caller: Rate,
    pub per_tool: Rate,
    pub per_upstream: Rate,
}

#[derive(Debug)]
pub struct Pace {
    places: Arc<Semaphore>,
    recent: Mutex<HashMap<String, VecDeque<Timestamp>>>,
    running: Arc<Mutex<HashMap<String, u32>>>,
    /// Repeats left by upstream, where not all are.
    repeats: Mutex<BTreeMap<UpstreamName, Repeats>>,
}

/// A place among the running calls of one caller, tool or upstream, given back when dropped.
#[derive(Debug)]
pub struct Place {
    running: Arc<Mutex<HashMap<String, u32>>>,
    whose: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let left = running.get(&self.whose).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            running.remove(&self.whose);
        } else {
            running.insert(self.whose.clone(), left);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Repeats {
    left: u32,
    since: Instant,
}

impl Pace {
    pub fn new(calls_in_flight: u32) -> Self {
        let places = usize::try_from(calls_in_flight).unwrap_or(usize::MAX);
        Self {
            places: Arc::new(Semaphore::new(places)),
            recent: Mutex::default(),
            running: Arc::default(),
            repeats: Mutex::default(),
        }
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

    /// Takes what a rate asks for, or says what there is too much of.
    pub fn take(
        &self,
        rate: Rate,
        whose: &str,
        what: &str,
        now: Timestamp,
    ) -> Result<Option<Place>, Fault> {
        let place = rate.in_flight.map(|most| self.place_of(whose, what, most)).transpose()?;
        if let Some(per_minute) = rate.per_minute {
            self.count_of(whose, what, per_minute, now)?;
        }
        Ok(place)
    }

    /// What `take` would say. Nothing is taken.
    pub fn could_take(
        &self,
        rate: Rate,
        whose: &str,
        what: &str,
        now: Timestamp,
    ) -> Result<(), Fault> {
        rate.in_flight.map(|most| self.place_of(whose, what, most)).transpose().map(drop)?;
        rate.per_minute.map_or(Ok(()), |most| self.could_count_of(whose, what, most, now))
    }

    /// What `count` would say. Nothing is counted.
    pub fn could_count(&self, who_on_what: &str, most: u32, now: Timestamp) -> Result<(), Fault> {
        self.could_count_of(who_on_what, "of this tool", most, now)
    }

    fn could_count_of(
        &self,
        who_on_what: &str,
        what: &str,
        per_minute: u32,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = recent.get(who_on_what).into_iter().flatten();
        let mut calls = calls.filter(|at| now.since(**at) < MINUTE);
        let first = calls.next().copied();
        let count = calls.count() + usize::from(first.is_some());
        bounded(count, first, what, per_minute, now)
    }

    fn place_of(&self, whose: &str, what: &str, most: u32) -> Result<Place, Fault> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.get(whose).copied().unwrap_or_default();
        if count >= most {
            let message = format!("{most} calls {what} are running; try again when one has ended");
            return Err(Fault::new(Code::RateLimited, message).with("limit", most));
        }
        running.insert(whose.to_owned(), count + 1);
        Ok(Place { running: Arc::clone(&self.running), whose: whose.to_owned() })
    }

    /// Whether a call to this upstream may be made once more. Few may be at a time, and those come
    /// back one by one: an upstream in trouble must not get more to do for it.
    pub fn again(&self, upstream: &UpstreamName) -> bool {
        let mut repeats = self.repeats.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let full = Repeats { left: REPEATS_MAX, since: now };
        let budget = repeats.entry(upstream.clone()).or_insert(full);
        let back = now.duration_since(budget.since).as_millis() / REPEAT_EVERY.as_millis();
        let back = u32::try_from(back).unwrap_or(REPEATS_MAX);
        if back > 0 {
            let left = budget.left.saturating_add(back).min(REPEATS_MAX);
            *budget = Repeats { left, since: now };
        }
        budget.left.checked_sub(1).map(|left| budget.left = left).is_some()
    }

    /// Counts one call of `who` on `what`, or refuses the one too many within a minute.
    pub fn count(&self, who_on_what: &str, per_minute: u32, now: Timestamp) -> Result<(), Fault> {
        self.count_of(who_on_what, "of this tool", per_minute, now)
    }

    fn count_of(
        &self,
        who_on_what: &str,
        what: &str,
        per_minute: u32,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= COUNTERS_MAX && !recent.contains_key(who_on_what) {
            recent.retain(|_, calls| calls.back().is_some_and(|last| now.since(*last) < MINUTE));
        }
        let calls = match recent.get_mut(who_on_what) {
            Some(calls) => calls,
            None => recent.entry(who_on_what.to_owned()).or_default(),
        };
        while calls.front().is_some_and(|first| now.since(*first) >= MINUTE) {
            calls.pop_front();
        }
        bounded(calls.len(), calls.front().copied(), what, per_minute, now)?;
        calls.push_back(now);
        Ok(())
    }
}

/// Refuses the call too many, and says when the first of the minute will be forgotten.
fn bounded(
    count: usize,
    first: Option<Timestamp>,
    what: &str,
    per_minute: u32,
    now: Timestamp,
) -> Result<(), Fault> {
    if count < usize::try_from(per_minute).unwrap_or(usize::MAX) {
        return Ok(());
    }
    let wait = first.map_or(MINUTE, |first| MINUTE.saturating_sub(now.since(first)));
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let message = format!("more than {per_minute} calls {what} within a minute");
    Err(Fault::new(Code::RateLimited, message).with("retry_after_ms", wait_ms))
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
    fn to_ask_whether_a_call_could_be_made_counts_nothing() {
        let pace = Pace::new(1);
        let now = Timestamp::from_millis(0);
        let rate = Rate { per_minute: Some(1), in_flight: Some(1) };
        let could = || pace.could_take(rate, "ann", "of this caller", now).is_ok();
        assert!(could() && could());
        let held = pace.take(rate, "ann", "of this caller", now).unwrap();
        assert!(!could());
        drop(held);
        assert!(!could());
        assert!(pace.could_count("ann", 2, now).is_ok());
        assert!(pace.could_count("ann", 1, now).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn repeats_run_out_and_come_back() {
        let pace = Pace::new(1);
        let upstream = UpstreamName::from_string("shelf");
        let granted = |tries: u32| (0..tries).filter(|_| pace.again(&upstream)).count();
        assert_eq!(granted(100), 20);
        tokio::time::advance(REPEAT_EVERY * 3).await;
        assert_eq!(granted(100), 3);
        tokio::time::advance(REPEAT_EVERY * 1_000).await;
        assert_eq!(granted(100), 20);
        assert!(pace.again(&UpstreamName::from_string("other")));
    }

    #[test]
    fn a_rate_bounds_how_often_and_how_many_at_once() {
        let pace = Pace::new(9);
        let rate = Rate { per_minute: Some(3), in_flight: Some(1) };
        let take = |whose: &str, ms: i64| {
            let now = Timestamp::from_millis(ms);
            pace.take(rate, whose, "of this caller", now).map_err(|fault| fault.message)
        };
        let held = take("ann", 0).unwrap();
        assert!(take("ann", 0).unwrap_err().starts_with("1 calls of this caller are running"));
        assert!(take("bob", 0).is_ok());
        drop(held);
        assert!(take("ann", 0).is_ok() && take("ann", 0).is_ok());
        assert!(take("ann", 0).unwrap_err().contains("3 calls of this caller within a minute"));
        assert!(take("ann", 60_000).is_ok());
        assert!(pace.running.lock().unwrap().is_empty(), "what is given back is forgotten");
        let unbounded = pace.take(Rate::default(), "ann", "", Timestamp::from_millis(0));
        assert!(unbounded.unwrap().is_none());
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
