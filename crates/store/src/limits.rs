//! Bounds of this crate.

use std::time::Duration;

/// Writes that may wait for the writer; further callers wait for room.
pub(crate) const QUEUE_MAX: usize = 1_024;
/// Writes that share one commit.
pub(crate) const BATCH_MAX: usize = 256;
/// Writes that are waited for before a batch is written.
pub(crate) const GATHER_MAX: usize = 32;
/// How long they are waited for while nobody comes.
pub(crate) const GATHER_WAIT: Duration = Duration::from_millis(1);
/// How often that long, while some do come.
pub(crate) const GATHER_WAITS_MAX: u32 = 3;
/// What one file of the journal holds; beyond that, entries wait until the other one is filed.
pub(crate) const JOURNAL_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Entries in the journal that go to the database together, if they come quickly.
pub(crate) const FILE_ENTRIES: usize = 512;
/// How long they wait for each other.
pub(crate) const FILE_WAIT: Duration = Duration::from_millis(20);
/// How often that long who opens the folder waits for the process that is at work in it.
pub(crate) const FILE_LOOKS_MAX: u32 = 50;
/// Connections that read at the same time.
pub(crate) const READERS_MAX: u32 = 4;
/// A call that was opened longer ago is no longer running.
pub(crate) const CALL_MS_MAX: i64 = 2 * 3_600_000;
/// Closings kept in memory while the database is gone.
pub(crate) const LATE_MAX: usize = 4_096;
/// Room for the body of an entry while it is written; most need no more.
pub(crate) const BODY_BYTES: usize = 4 * 1024;
/// Room for the form of an entry while it is written.
pub(crate) const FORM_BYTES: usize = 2 * 1024;
/// Forms of one tool that are remembered: calls that went well, that failed, that were asked about.
pub(crate) const FORMS_MAX: usize = 8;
/// Tools whose forms are remembered.
pub(crate) const FORM_TOOLS_MAX: usize = 512;
/// Forms that are known to be in the database.
pub(crate) const FORMS_NOTED_MAX: usize = 8 * 1024;
/// Forms that are held while entries are read.
pub(crate) const FORMS_READ_MAX: usize = 1_024;
/// How long a form counts as noted; then the next entry that names it notes it again.
pub(crate) const FORM_FRESH: Duration = Duration::from_hours(1);
/// What an entry takes beside its body: columns, hashes, indexes.
pub(crate) const ROW_BYTES: u64 = 700;
/// How long a gate counts as alive after its last word.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// Rows that are removed at once, for their age.
pub(crate) const PURGE_ROWS: i64 = 256;
/// Entries of one page of an export.
pub(crate) const EXPORT_PAGE: i64 = 500;
/// How long to wait for another process that is writing.
pub(crate) const BUSY_WAIT: Duration = Duration::from_secs(5);
/// Lines of one listing when nobody says otherwise.
pub(crate) const LINES_DEFAULT: u32 = 50;
/// Lines of one listing, whatever is asked for.
pub(crate) const LINES_MAX: u32 = 1_000;
/// The latest entries among which a caller's uses of tools are counted.
pub(crate) const USES_ENTRIES: i64 = 20_000;
/// Entries read at once while the chain is checked.
pub(crate) const CHAIN_PAGE: i64 = 512;
/// Entries that go in by one statement.
pub(crate) const ROWS_MAX: usize = 64;
/// How long to wait for a connection to a database server.
pub(crate) const CONNECT_WAIT: Duration = Duration::from_secs(5);
/// How long a database server may be silent before a statement is given up; twice that, and others
/// take this gate for dead.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(15);
/// How long whoever looks at the whole history waits for one answer.
pub(crate) const SURVEY_WAIT: Duration = Duration::from_mins(10);
/// How long a database server may take to be brought up to date.
pub(crate) const MIGRATE_WAIT: Duration = Duration::from_mins(30);
/// A page of a new SQLite database: room for several entries, so that fewer pages are written.
pub(crate) const PAGE_BYTES: u64 = 16 * 1024;
/// What may gather in SQLite's log before it is folded into the database beside the writing.
pub(crate) const LOG_BYTES: u64 = 16 * 1024 * 1024;
/// Pages in the log before SQLite folds it by itself, should nobody have.
pub(crate) const LOG_PAGES: u32 = 4_000;
/// What of the log's file is kept once it was folded in.
pub(crate) const LOG_KEPT_BYTES: u32 = 32 * 1024 * 1024;
/// How long a bucket may take to answer one request.
pub(crate) const BUCKET_WAIT: Duration = Duration::from_secs(20);
/// Questions of one caller that may wait for people at the same time.
pub(crate) const QUESTIONS_MAX: i64 = 100;
/// How long policies and definitions are kept after the last record that may point to them: gates
/// say only now and then what is in force.
pub(crate) const LINEAGE_MARGIN: Duration = Duration::from_hours(24);
/// How long a run is remembered after its last call.
pub(crate) const RUN_KEPT: Duration = Duration::from_hours(30 * 24);
/// How often a failed request to a bucket is sent again.
pub(crate) const BUCKET_RETRIES_MAX: usize = 3;
/// How long requests to a bucket are sent again altogether.
pub(crate) const BUCKET_RETRY_WAIT: Duration = Duration::from_secs(30);
/// Artifacts removed at once while room is made.
pub(crate) const EVICT_PAGE: i64 = 256;
