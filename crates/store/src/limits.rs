//! Bounds of this crate.

use std::time::Duration;

/// Writes that may wait for the writer; further callers wait for room.
pub(crate) const QUEUE_MAX: usize = 1_024;
/// Writes that share one commit.
pub(crate) const BATCH_MAX: usize = 256;
/// Connections that read at the same time.
pub(crate) const READERS_MAX: u32 = 4;
/// How long to wait for another process that is writing.
pub(crate) const BUSY_WAIT: Duration = Duration::from_secs(5);
/// Lines of one listing when nobody says otherwise.
pub(crate) const LINES_DEFAULT: u32 = 50;
/// Lines of one listing, whatever is asked for.
pub(crate) const LINES_MAX: u32 = 1_000;
/// Entries read at once while the chain is checked.
pub(crate) const CHAIN_PAGE: u32 = 512;
