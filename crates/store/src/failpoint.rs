//! Places where a crash test may stop the process dead. In a release build there is nothing here.
//!
//! `TOOLGATE_CRASH_AT=batch.written:3` ends the process when it passes that place the third time;
//! `TOOLGATE_FAIL_AT` lets a write of the store fail there instead; several places stand side by side
//! with commas. `TOOLGATE_PASSED` names a file that is written when either happens.

/// Passed where the writer gets a new connection after a failure: for failing after another place.
pub const RECONNECTING: &str = "batch.reconnecting";

/// Every place, roughly in the order in which one call passes them.
pub const PLACES: [&str; 21] = [
    "batch.begun",
    "batch.formed",
    "opening.redeemed",
    "claim.removed",
    "opening.claimed",
    "batch.written",
    "journal.written",
    "batch.committed",
    "filing.begun",
    "filing.written",
    "filing.done",
    "call.opened",
    "claim.sent",
    "call.dispatched",
    "call.answered",
    "artifact.written",
    "claim.settled",
    "call.closed",
    "checkpoint.stored",
    "checkpoint.noted",
    "seal.made",
];

/// Those where a write can fail.
pub const WRITES: [&str; 17] = [
    "batch.begun",
    "batch.formed",
    "opening.redeemed",
    "claim.removed",
    "opening.claimed",
    "batch.written",
    "journal.written",
    "batch.committed",
    "filing.begun",
    "filing.written",
    "filing.done",
    "claim.sent",
    "artifact.written",
    "claim.settled",
    "checkpoint.stored",
    "checkpoint.noted",
    "seal.made",
];

/// Ends the process, if a test wants it to end here.
#[cfg(debug_assertions)]
pub fn pass(place: &str) {
    if plan::CRASH.is_due(place) {
        std::process::abort();
    }
}

/// Fails, if a test wants the database to fail here.
pub(crate) fn write(place: &str) -> Result<(), sqlx::Error> {
    file(place).map_err(sqlx::Error::Io)
}

/// The same for a file.
#[cfg(debug_assertions)]
pub(crate) fn file(place: &str) -> std::io::Result<()> {
    pass(place);
    if plan::FAIL.is_due(place) {
        return Err(std::io::Error::other("a crash test wants this to fail"));
    }
    Ok(())
}

#[cfg(not(debug_assertions))]
pub fn pass(_place: &str) {}

#[cfg(not(debug_assertions))]
#[expect(clippy::unnecessary_wraps, reason = "fails in debug builds")]
pub(crate) fn file(_place: &str) -> std::io::Result<()> {
    Ok(())
}

#[cfg(debug_assertions)]
mod plan {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    pub(super) static CRASH: LazyLock<Plan> = LazyLock::new(|| Plan::of("TOOLGATE_CRASH_AT"));
    pub(super) static FAIL: LazyLock<Plan> = LazyLock::new(|| Plan::of("TOOLGATE_FAIL_AT"));

    /// Places, and how often each is passed before something happens.
    pub(super) struct Plan(Vec<(String, AtomicU32)>);

    impl Plan {
        fn of(variable: &str) -> Self {
            let wishes = std::env::var(variable).unwrap_or_default();
            let read = |wish: &str| {
                let (place, count) = wish.split_once(':').unwrap_or((wish, "1"));
                (place.to_owned(), AtomicU32::new(count.parse().unwrap_or(1)))
            };
            Self(wishes.split(',').map(read).collect())
        }

        pub(super) fn is_due(&self, place: &str) -> bool {
            let due = self
                .0
                .iter()
                .any(|(wanted, left)| wanted == place && left.fetch_sub(1, Ordering::SeqCst) == 1);
            if due && let Some(told) = std::env::var_os("TOOLGATE_PASSED") {
                drop(std::fs::write(told, place));
            }
            due
        }
    }
}
