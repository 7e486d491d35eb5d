//! Bounds of what upstreams may cost us.

use std::time::Duration;

/// One message of an upstream.
pub const MESSAGE_BYTES_MAX: usize = model::limits::FRAME_BYTES_MAX;
/// From starting an upstream to its list of tools. Cold starts of a minute are seen in the wild.
pub const START_TIMEOUT: Duration = Duration::from_secs(90);
/// Calls waiting for one child process at a time.
pub const PENDING_CALLS_MAX: usize = 1_024;
/// Frames queued for a child that does not read.
pub const OUTBOX_FRAMES: usize = 256;
/// How long a child may take to leave after its input is closed.
pub const STOP_GRACE: Duration = Duration::from_secs(2);
/// Texts sent to an embedding endpoint at a time.
pub const EMBEDDING_TEXTS_MAX: usize = 64;
/// Idle connections kept to one HTTP upstream.
pub const IDLE_CONNECTIONS: usize = 64;
/// One line of a child's standard error.
pub const STDERR_LINE_BYTES_MAX: usize = 4_096;
/// Between two tries to hear of an upstream's changes.
pub const LISTEN_PAUSE_MIN: Duration = Duration::from_millis(250);
pub const LISTEN_PAUSE_MAX: Duration = Duration::from_mins(1);
