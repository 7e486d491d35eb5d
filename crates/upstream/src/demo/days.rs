//! The little calendar arithmetic the demo needs, all in UTC.

use model::Timestamp;

pub(super) const HOUR_MS: i64 = 3_600_000;
pub(super) const DAY_MS: i64 = 24 * HOUR_MS;

/// Midnight of the day `at` falls on.
pub(super) fn midnight(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis() - at.as_millis().rem_euclid(DAY_MS))
}

/// `ms` later, or earlier when negative.
pub(super) fn shifted(at: Timestamp, ms: i64) -> Timestamp {
    Timestamp::from_millis(at.as_millis().saturating_add(ms))
}

/// The day as `2026-11-16`.
pub(super) fn date(at: Timestamp) -> String {
    at.to_string().chars().take_while(|c| *c != 'T').collect()
}

/// The start of a day written as `2026-11-16`; nothing if there is no such day.
pub(super) fn parse(date: &str) -> Option<Timestamp> {
    format!("{date}T00:00:00Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_reads_back() {
        let at: Timestamp = "2026-11-16T13:45:00Z".parse().unwrap();
        assert_eq!(date(at), "2026-11-16");
        assert_eq!(parse("2026-11-16"), Some(midnight(at)));
        assert_eq!(date(shifted(at, -DAY_MS)), "2026-11-15");
    }

    #[test]
    fn a_day_that_does_not_exist_is_nothing() {
        assert_eq!(parse("2026-02-30"), None);
        assert_eq!(parse("soon"), None);
    }
}
