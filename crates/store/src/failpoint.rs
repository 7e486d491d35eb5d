//! Places where a crash test may stop the process dead. In a release build there is nothing here.
//!
//! `TOOLGATE_CRASH_AT=batch.written:3` ends the process when it passes that place the third time;
//! `TOOLGATE_FAIL_AT` lets a write of the store fail there instead.

/// Every place, in the order in which one call passes them.
pub const PLACES: [&str; 7] = [
    "batch.begun",
    "batch.written",
    "batch.committed",
    "call.opened",
    "call.dispatched",
    "call.answered",
    "call.closed",
];

/// Ends the process, if a test wants it to end here.
#[cfg(debug_assertions)]
pub fn pass(place: &str) {
    if plan::CRASH.is_due(place) {
        std::process::abort();
    }
}

/// Fails, if a test wants the database to fail here.
#[cfg(debug_assertions)]
pub(crate) fn write(place: &str) -> Result<(), sqlx::Error> {
    pass(place);
    if plan::FAIL.is_due(place) {
        return Err(sqlx::Error::Io(std::io::Error::other("a crash test wants this to fail")));
    }
    Ok(())
}

#[cfg(not(debug_assertions))]
pub fn pass(_place: &str) {}

#[cfg(not(debug_assertions))]
#[expect(clippy::unnecessary_wraps, reason = "fails in debug builds")]
pub(crate) fn write(_place: &str) -> Result<(), sqlx::Error> {
    Ok(())
}

#[cfg(debug_assertions)]
mod plan {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    pub(super) static CRASH: LazyLock<Plan> = LazyLock::new(|| Plan::of("TOOLGATE_CRASH_AT"));
    pub(super) static FAIL: LazyLock<Plan> = LazyLock::new(|| Plan::of("TOOLGATE_FAIL_AT"));

    /// One place and how often it is passed before something happens.
    pub(super) struct Plan {
        place: String,
        left: AtomicU32,
    }

    impl Plan {
        fn of(variable: &str) -> Self {
            let wish = std::env::var(variable).unwrap_or_default();
            let (place, count) = wish.split_once(':').unwrap_or((&wish, "1"));
            let left = AtomicU32::new(count.parse().unwrap_or(1));
            Self { place: place.to_owned(), left }
        }

        pub(super) fn is_due(&self, place: &str) -> bool {
            self.place == place && self.left.fetch_sub(1, Ordering::SeqCst) == 1
        }
    }
}
