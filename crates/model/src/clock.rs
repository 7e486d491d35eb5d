//! Time that tests can stop. Nothing in Toolgate asks the machine for the time except here.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Milliseconds since 1970, written as RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The instant `span` later; saturates rather than wraps.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long ago `earlier` was; nothing if it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or_default())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl std::str::FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|at| Self(at.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Where the time comes from: the machine, or a test's hand.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    #[default]
    System,
    Stopped(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `at` until [`Clock::advance`] moves it.
    pub fn stopped(at: Timestamp) -> Self {
        Self::Stopped(Arc::new(AtomicI64::new(at.as_millis())))
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp(jiff::Timestamp::now().as_millisecond()),
            Self::Stopped(millis) => Timestamp(millis.load(Ordering::SeqCst)),
        }
    }

    /// Moves a stopped clock; the machine's clock moves by itself and ignores this.
    pub fn advance(&self, span: Duration) {
        if let Self::Stopped(millis) = self {
            let step = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            millis.fetch_add(step, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_clock_moves_only_by_hand() {
        let clock = Clock::stopped(Timestamp::from_millis(1_000));
        assert_eq!(clock.now(), clock.now());
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.now(), Timestamp::from_millis(3_000));
    }

    #[test]
    fn a_timestamp_reads_back_from_paper() {
        let at = Timestamp::from_millis(1_763_251_200_123);
        assert_eq!(at.to_string(), "2025-11-16T00:00:00.123Z");
        let paper = serde_json::to_string(&at).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&paper).unwrap(), at);
    }

    #[test]
    fn the_future_is_no_time_ago() {
        let now = Timestamp::from_millis(0);
        assert_eq!(now.since(now.after(Duration::from_secs(1))), Duration::ZERO);
    }
}
