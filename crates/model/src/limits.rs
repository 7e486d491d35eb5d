//! Every bound on what clients may cost us, and those that more than one crate must agree on.
//!
//! `docs/protocol.md` has the first as a table, held to this file by a test. Bounds of what upstreams
//! may cost us stand in `upstream`.

use std::time::Duration;

/// One frame on a pipe or one HTTP body.
pub const FRAME_BYTES_MAX: usize = 4 * 1024 * 1024;
/// One HTTP body or one line on a pipe, of a client.
pub const BODY_BYTES_MAX: usize = FRAME_BYTES_MAX;
/// Messages of one batch.
pub const BATCH_MAX: usize = 64;
/// Nesting of any JSON a peer sends.
pub const JSON_DEPTH_MAX: usize = 64;
/// Objects, arrays and leaves of one message together.
pub const JSON_NODES_MAX: usize = 200_000;
/// Keys of one object.
pub const JSON_KEYS_MAX: usize = 20_000;
/// Characters of one number.
pub const JSON_NUMBER_CHARS_MAX: usize = 64;
/// The id of a request and the token of its reports, which is repeated with each of them.
pub const ID_BYTES_MAX: usize = 256;
/// News of an upstream: a report, a message of its log, what it tells of a task. Longer ones are not
/// taken in.
pub const NEWS_BYTES_MAX: usize = 64 * 1024;
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

/// Connections at a time, streams included.
pub const CONNECTIONS_MAX: usize = 24_000;
/// After a connection could not be taken, as when there are no descriptors left.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// From the first byte of a request, or the end of the one before, to the end of its head.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two pieces of a request's body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may leave what was written to it unread.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Silence on a stream before a comment keeps it open.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a browser goes by what it heard about a page.
pub const PREFLIGHT_KEPT: Duration = Duration::from_mins(10);
/// Frames queued for one client that does not read.
pub const FRAMES_QUEUED: usize = 256;
/// Progress reports queued within one call.
pub const NEWS_QUEUED: usize = 64;

/// Sessions in memory over all principals and for each.
pub const SESSIONS_MAX: usize = 10_000;
pub const SESSIONS_PER_PRINCIPAL_MAX: usize = 2_000;
/// What a client says of itself when it introduces itself: capabilities and name.
pub const INTRODUCTION_BYTES_MAX: usize = 16 * 1024;
pub const INTRODUCTION_VALUES_MAX: usize = 512;
/// A session nobody used for this long leaves memory when the next begins; the store still knows it.
pub const SESSION_HELD: Duration = Duration::from_mins(5);
/// A session nobody used for this long has ended.
pub const SESSION_IDLE: Duration = Duration::from_hours(1);
/// How often the store hears that a session is in use.
pub const SESSION_TOLD: Duration = Duration::from_mins(5);
/// How long a session is taken for granted before the store is asked again.
pub const SESSION_CHECK: Duration = Duration::from_secs(30);
/// Requests of one session at a time.
pub const REQUESTS_PER_SESSION_MAX: usize = 256;
/// Resources that one client follows, and tasks it listens for.
pub const FOLLOWED_PER_CLIENT_MAX: usize = 256;
/// Streams of changes held open, over all principals and for each.
pub const STREAMS_MAX: usize = 20_000;
pub const STREAMS_PER_PRINCIPAL_MAX: usize = 12_000;

/// Items of one page of a list. Larger than most catalogues: not every client asks for a second page.
pub const PAGE_ITEMS: usize = 2_000;
/// How long what was worked out for one caller, a list or a view of the catalogue, serves it again.
/// Rules that look at the clock lag by this much in lists, never in calls.
pub const SIGHT_FRESH: Duration = Duration::from_secs(1);
/// Lists kept prepared, and views of the catalogue.
pub const LISTS_MAX: usize = 256;
pub const VIEWS_MAX: usize = 256;
/// Callers of whom is known what they have been shown; the one longest silent makes room.
pub const CALLERS_SHOWN_MAX: usize = 1_000;
/// Changes kept for a listener that is slow; one that falls further behind misses some.
pub const CHANGES_KEPT: usize = 1_024;
/// Changes of one upstream that wait to be taken in.
pub const RINGS_KEPT: usize = 256;
/// Facts that one call may cite, and the characters of each.
pub const CITED_MAX: usize = 32;
pub const CITED_CHARS_MAX: usize = 64;

/// Rounds of questions that one call may go through before it is answered.
pub const ROUNDS_MAX: u32 = 16;
/// Questions that an upstream may ask in the course of one call, all its rounds together.
pub const QUESTIONS_PER_CALL_MAX: u32 = 64;
/// What is kept in the record of one call about such questions, and how much of what they say.
pub const QUESTIONS_TOLD_MAX: usize = 64;
pub const QUESTION_CHARS_MAX: usize = 200;
/// How long a call waits for a client to come back with what it was asked for.
pub const ROUND_TIME: Duration = Duration::from_mins(5);
/// Calls that wait so in one process, in all and for one principal.
pub const PARKED_MAX: usize = 1_000;
pub const PARKED_PER_PRINCIPAL_MAX: usize = 100;
/// Visits to addresses that nobody has come back from yet; the oldest are forgotten first.
pub const VISITS_MAX: usize = 4_096;
/// Of these by one account, so that nobody makes others' forgotten.
pub const VISITS_PER_ACCOUNT_MAX: usize = 64;

/// Tasks remembered in memory; beyond that the oldest are looked up when they are asked for.
pub const TASKS_MAX: usize = 10_000;
/// Tasks of one list, newest first.
pub const TASKS_LISTED_MAX: u32 = 100;
/// How long it is known whose a task is.
pub const TASK_KEPT: Duration = Duration::from_hours(7 * 24);
