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

/// A year of four digits, as all have that anybody lives in, is written without the detour over the
/// formatter: a record holds five times, and they were a seventh of the work of writing it.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => match digits(at).as_ref().and_then(text) {
                Some(text) => f.write_str(text),
                None => write!(f, "{at:.3}"),
            },
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

type Digits = [u8; 24];

fn text(digits: &Digits) -> Option<&str> {
    std::str::from_utf8(digits).ok()
}

fn digits(at: jiff::Timestamp) -> Option<Digits> {
    let at = jiff::tz::Offset::UTC.to_datetime(at);
    let parts = [
        (0..4, at.year()),
        (5..7, at.month().into()),
        (8..10, at.day().into()),
        (11..13, at.hour().into()),
        (14..16, at.minute().into()),
        (17..19, at.second().into()),
        (20..23, at.millisecond()),
    ];
    let mut digits = *b"0000-00-00T00:00:00.000Z";
    for (place, part) in parts {
        let mut left = u16::try_from(part).ok()?;
        for digit in digits.get_mut(place)?.iter_mut().rev() {
            *digit = b'0' + u8::try_from(left % 10).ok()?;
            left /= 10;
        }
    }
    Some(digits)
}

impl std::str::FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|at| Self(at.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = jiff::Timestamp::from_millisecond(self.0).ok().and_then(digits);
        match digits.as_ref().and_then(text) {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_str(self),
        }
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

    proptest::proptest! {
        #[test]
        fn every_time_is_written_as_jiff_writes_it(
            millis in -377_705_023_201_000_i64..=253_402_207_200_000,
        ) {
            let expected = format!("{:.3}", jiff::Timestamp::from_millisecond(millis).unwrap());
            let at = Timestamp::from_millis(millis);
            proptest::prop_assert_eq!(at.to_string(), expected.as_str());
            proptest::prop_assert_eq!(serde_json::to_value(at).unwrap(), expected.as_str());
        }
    }

    #[test]
    fn the_edges_of_time_are_written_as_jiff_writes_them() {
        let check = |millis: i64| {
            let at = jiff::Timestamp::from_millisecond(millis).unwrap();
            assert_eq!(Timestamp::from_millis(millis).to_string(), format!("{at:.3}"), "{millis}");
        };
        // 1970, the last and first moment of a day before it, the years 0, 1000 and -1, leap days.
        let early = [0, -1, -86_400_000, -86_400_001, -62_167_219_200_000, -62_167_219_200_001];
        let late = [-30_610_224_000_000, 951_782_400_000, 1_709_164_799_999, 253_402_207_200_000];
        early.into_iter().chain(late).for_each(check);
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9223372036854775807ms");
    }

    #[test]
    fn the_future_is_no_time_ago() {
        let now = Timestamp::from_millis(0);
        assert_eq!(now.since(now.after(Duration::from_secs(1))), Duration::ZERO);
    }
}
