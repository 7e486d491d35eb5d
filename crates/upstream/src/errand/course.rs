//! What is noted in the course of one call.

use std::sync::atomic::AtomicU16;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::NEWS_PER_SECOND_MAX;

#[derive(Debug, Default)]
pub struct Course {
    /// The status of the last response over HTTP; 0 before there is one.
    pub(super) status: AtomicU16,
    news: Mutex<Count>,
}

/// How much was heard within the second that began then.
#[derive(Debug, Default)]
struct Count {
    since: Option<Instant>,
    heard: u32,
}

impl Course {
    /// Counts a report or a message of the log; whether it is one that is still passed on.
    pub(crate) fn takes_news(&self) -> bool {
        let now = Instant::now();
        let mut count = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        if count.since.is_none_or(|since| now.duration_since(since) >= Duration::from_secs(1)) {
            *count = Count { since: Some(now), heard: 0 };
        }
        count.heard = count.heard.saturating_add(1);
        count.heard <= NEWS_PER_SECOND_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D9: whoever reports without end is heard so often in a second, and again in the next.
    #[tokio::test(start_paused = true)]
    async fn a_flood_of_reports_is_passed_on_in_part() {
        let course = Course::default();
        let passed = || (0..10_000).filter(|_| course.takes_news()).count();
        assert_eq!(passed(), NEWS_PER_SECOND_MAX as usize);
        tokio::time::advance(Duration::from_millis(999)).await;
        assert_eq!(passed(), 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(passed(), NEWS_PER_SECOND_MAX as usize);
    }
}
