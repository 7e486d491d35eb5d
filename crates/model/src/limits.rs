//! Bounds that more than one crate must agree on. Bounds of one crate stand in that crate.

use std::time::Duration;

/// One frame on a pipe or one HTTP body.
pub const FRAME_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Nesting of any JSON a peer sends.
pub const JSON_DEPTH_MAX: usize = 64;
/// Objects, arrays and leaves of one message together.
pub const JSON_NODES_MAX: usize = 200_000;
/// Keys of one object.
pub const JSON_KEYS_MAX: usize = 20_000;
/// Characters of one number.
pub const JSON_NUMBER_CHARS_MAX: usize = 64;
/// The client's message of a fault.
pub const FAULT_MESSAGE_CHARS_MAX: usize = 256;
/// Errors listed for one invalid value.
pub const VIOLATIONS_MAX: usize = 20;
/// The summary of a result.
pub const SUMMARY_CHARS_MAX: usize = 500;
/// Facts taken from one result.
pub const FACTS_MAX: usize = 20;
/// Text of a result that reaches the model as it is.
pub const INLINE_CHARS_DEFAULT: usize = 2_000;
/// What the excerpt of a longer result may cost a model, in tokens.
pub const BUDGET_TOKENS_DEFAULT: usize = 800;
/// An answer that is kept with its record.
pub const ANSWER_BYTES_DEFAULT: usize = 16 * 1024;
/// One page of a view.
pub const VIEW_CHARS_MAX: usize = 8_000;
/// How long a call may take when nobody says otherwise.
pub const CALL_TIMEOUT_DEFAULT: Duration = Duration::from_mins(1);
/// How long a question to a human stays open.
pub const APPROVAL_TTL_DEFAULT: Duration = Duration::from_mins(15);
/// How long an idempotency key is remembered.
pub const DEDUP_WINDOW_DEFAULT: Duration = Duration::from_hours(24);
/// Calls of one principal on one tool within a minute.
pub const CALLS_PER_MINUTE_DEFAULT: u32 = 600;
/// Calls under way at a time, over all callers.
pub const CALLS_IN_FLIGHT_DEFAULT: u32 = 256;
/// Pages followed when an upstream lists its tools.
pub const LIST_PAGES_MAX: usize = 100;
/// How long an artifact is kept that no record cites.
pub const ARTIFACT_TTL_DEFAULT: Duration = Duration::from_hours(7 * 24);
/// Bytes of all artifacts together.
pub const ARTIFACT_BYTES_DEFAULT: u64 = 1024 * 1024 * 1024;
/// Artifacts kept at a time.
pub const ARTIFACT_COUNT_DEFAULT: u64 = 10_000;
