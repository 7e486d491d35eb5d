//! Bounds of what upstreams may cost us.

use std::time::Duration;

/// One message of an upstream.
pub const MESSAGE_BYTES_MAX: usize = model::limits::FRAME_BYTES_MAX;
/// From starting an upstream to its list of tools. Cold starts of a minute are seen in the wild.
pub const START_TIMEOUT: Duration = Duration::from_secs(90);
/// How long a greeting of a server that has greeted before may take: so many times as long as then,
/// and not less than this.
const GREETING_TIMES: u32 = 8;
const GREETING_MIN: Duration = Duration::from_secs(3);
/// How long a child may leave the newest greeting unanswered before it gets the older one, too.
pub const DISCOVER_PATIENCE: Duration = Duration::from_secs(10);
/// From opening an old stream to the address it names.
pub const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);
/// Callers that may have one upstream to themselves at a time.
pub const OWNERS_MAX: usize = 256;
/// Questions of one server that wait for their answers at a time. What it asks beyond that is not heard.
pub const QUESTIONS_OPEN_MAX: usize = 64;
/// Calls waiting for one child process at a time.
pub const PENDING_CALLS_MAX: usize = 1_024;
/// Reports and messages of the log that one call passes on within a second; more are dropped.
pub const NEWS_PER_SECOND_MAX: u32 = 200;
/// All that an upstream streams in the course of one call.
pub const CALL_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Everything one upstream lists: how many items, and how much as JSON. The pages of a list are
/// counted in `model`.
pub const LISTED_ITEMS_MAX: usize = 20_000;
pub const LISTED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How soon a list that an upstream has and did not give is asked for again.
pub const UNHEARD_AGAIN: Duration = Duration::from_mins(1);
/// Frames queued for a child that does not read.
pub const OUTBOX_FRAMES: usize = 256;
/// How long a child may take to leave after its input is closed.
pub const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long what a child wrote last may take to arrive once it has ended.
pub const LAST_WORDS: Duration = Duration::from_millis(250);
/// Calls given up in a row before a child that says nothing is doubted, and how long it then has.
pub const GIVEN_UP_BORNE: u32 = 3;
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(2);
/// Texts sent to an embedding endpoint at a time.
pub const EMBEDDING_TEXTS_MAX: usize = 64;
/// Idle connections kept to one HTTP upstream.
pub const IDLE_CONNECTIONS: usize = 64;
/// Read from one upstream at a time. All the headers of one answer have to fit in.
pub const READ_BYTES: usize = 32 * 1024;
/// One line of a child's standard error.
pub const STDERR_LINE_BYTES_MAX: usize = 4_096;
/// Lines of standard error kept of one child, and how much of each.
pub const STDERR_LINES_KEPT: usize = 40;
pub const STDERR_LINE_CHARS: usize = 400;
/// What a child may print besides messages within so long, without a message in between.
pub const NOISE_BYTES_MAX: usize = 16 * 1024 * 1024;
pub const NOISE_TIME: Duration = Duration::from_secs(10);
/// Failures in a row before an upstream is left alone for a while.
pub const FAILURES_BORNE: u32 = 3;
/// How long it is left alone: doubled from the least to the most, and up to a quarter longer.
pub const REST_MIN: Duration = Duration::from_millis(100);
pub const REST_MAX: Duration = Duration::from_millis(3_200);
/// Between two tries to hear of an upstream's changes.
pub const LISTEN_PAUSE_MIN: Duration = Duration::from_millis(250);
pub const LISTEN_PAUSE_MAX: Duration = Duration::from_mins(1);
/// Before a stream that broke off is asked for where it went on; the least where the server says.
pub const RESUME_PAUSE: Duration = Duration::from_secs(1);
pub const RESUME_PAUSE_MIN: Duration = Duration::from_millis(50);
/// How often a task is looked at, whatever its server says.
pub const TASK_POLL_MIN: Duration = Duration::from_millis(50);
pub const TASK_POLL_MAX: Duration = Duration::from_secs(2);
/// How long a look at a task that waits for input waits to hear what for, and how many such tasks of
/// one upstream are waited for at a time.
pub const TASK_INPUT_PATIENCE: Duration = Duration::from_secs(2);
pub const TASK_INPUTS_MAX: usize = 256;
/// How long a call may wait for answers of its client, over all questions.
pub const QUESTIONS_TIME: Duration = Duration::from_mins(10);
/// Times one call may ask for more before it answers.
pub const ROUNDS_MAX: usize = model::limits::ROUNDS_MAX as usize;

/// How long to wait for a greeting: one that was quick once is not waited for as long as one that
/// nobody knows, and twice as long after each time it was waited for in vain.
pub fn greeting(took: Option<Duration>, in_vain: u32) -> Duration {
    let Some(took) = took else { return START_TIMEOUT };
    let least = took.saturating_mul(GREETING_TIMES).max(GREETING_MIN);
    least.saturating_mul(2_u32.saturating_pow(in_vain)).min(START_TIMEOUT)
}
