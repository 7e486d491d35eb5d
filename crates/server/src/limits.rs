//! Bounds on what clients may cost us.

use std::time::Duration;

/// One HTTP body or one line on a pipe.
pub const BODY_BYTES_MAX: usize = model::limits::FRAME_BYTES_MAX;
/// Frames queued for one client that does not read.
pub const FRAMES_QUEUED: usize = 256;
/// Progress reports queued within one call.
pub const NEWS_QUEUED: usize = 64;
/// Sessions this process holds something of.
pub const SESSIONS_MAX: usize = 10_000;
/// A session nobody used for this long is forgotten here.
pub const SESSION_IDLE: Duration = Duration::from_hours(1);
/// How long a session is taken for granted before the store is asked again.
pub const SESSION_CHECK: Duration = Duration::from_secs(30);
/// Streams of changes held open, over all principals and for each.
pub const STREAMS_MAX: usize = 20_000;
pub const STREAMS_PER_PRINCIPAL_MAX: usize = 12_000;
/// Requests of one session at a time.
pub const REQUESTS_PER_SESSION_MAX: usize = 256;
/// Messages of one batch.
pub const BATCH_MAX: usize = 64;
/// Silence on a stream before a comment keeps it open.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Connections at a time, streams included.
pub const CONNECTIONS_MAX: usize = 24_000;
/// From the first byte of a request, or the end of the one before, to the end of its head.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two pieces of a request's body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may leave what was written to it unread.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// After a connection could not be taken, as when there are no descriptors left.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long a call waits for a client to come back with what it was asked for.
pub const PARKED_TIME: Duration = Duration::from_mins(5);
/// Calls that wait so, in all and for one principal.
pub const PARKED_MAX: usize = 1_000;
pub const PARKED_PER_PRINCIPAL_MAX: usize = 100;
