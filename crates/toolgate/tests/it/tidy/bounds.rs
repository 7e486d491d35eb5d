//! The bounds on clients stand in one file, and the manual's table says the same.

use std::time::Duration;

use model::limits::{
    BATCH_MAX, BODY_BYTES_MAX, BODY_TIMEOUT, CHANGES_KEPT, CITED_CHARS_MAX, CITED_MAX,
    CONNECTIONS_MAX, FOLLOWED_PER_CLIENT_MAX, FRAMES_QUEUED, HEADER_TIMEOUT, ID_BYTES_MAX,
    INTRODUCTION_BYTES_MAX, INTRODUCTION_VALUES_MAX, JSON_DEPTH_MAX, JSON_KEYS_MAX, JSON_NODES_MAX,
    JSON_NUMBER_CHARS_MAX, KEEP_ALIVE, NEWS_QUEUED, PAGE_ITEMS, PARKED_MAX,
    PARKED_PER_PRINCIPAL_MAX, REQUESTS_PER_SESSION_MAX, ROUND_TIME, SESSION_HELD, SESSION_IDLE,
    SESSIONS_MAX, SESSIONS_PER_PRINCIPAL_MAX, STREAMS_MAX, STREAMS_PER_PRINCIPAL_MAX, TASK_KEPT,
    TASKS_LISTED_MAX, TASKS_MAX, WRITE_TIMEOUT,
};

use super::{root, sources, text};

#[test]
fn the_manual_tells_every_bound_on_a_client() {
    let page = text(&root().join("docs/protocol.md"));
    let told: Vec<&str> = page
        .lines()
        .skip_while(|line| *line != "| what | bound |")
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(told, table());
}

/// D1..D4 and D7 of the security notes, and what goes with them.
fn table() -> Vec<String> {
    let each = |all: usize, one: usize| format!("{}; {} for each caller", n(all), n(one));
    let message = format!(
        "{} MiB, {JSON_DEPTH_MAX} levels, {} values, {} keys in one object, numbers of {JSON_NUMBER_CHARS_MAX} characters",
        BODY_BYTES_MAX >> 20,
        n(JSON_NODES_MAX),
        n(JSON_KEYS_MAX),
    );
    let cited = format!("{CITED_MAX}, of {CITED_CHARS_MAX} characters");
    let parked = each(PARKED_MAX, PARKED_PER_PRINCIPAL_MAX);
    let rows = [
        ("one message", message),
        ("`id` and `progressToken`", format!("{ID_BYTES_MAX} bytes")),
        ("messages of one batch", n(BATCH_MAX)),
        ("head of a request", s(HEADER_TIMEOUT)),
        ("pause within a body", s(BODY_TIMEOUT)),
        (
            "a client that does not read",
            format!("{}, then its connection is closed", s(WRITE_TIMEOUT)),
        ),
        ("silence on a stream", format!("{}, then a comment", s(KEEP_ALIVE))),
        ("connections", n(CONNECTIONS_MAX)),
        ("streams of changes", each(STREAMS_MAX, STREAMS_PER_PRINCIPAL_MAX)),
        ("sessions", each(SESSIONS_MAX, SESSIONS_PER_PRINCIPAL_MAX)),
        (
            "what a client says of itself in `initialize`",
            format!("{} KiB, {INTRODUCTION_VALUES_MAX} values", INTRODUCTION_BYTES_MAX >> 10),
        ),
        (
            "an unused session",
            format!("leaves memory after {}, ends after {}", min(SESSION_HELD), min(SESSION_IDLE)),
        ),
        ("requests of one session at a time", n(REQUESTS_PER_SESSION_MAX)),
        ("resources one client follows, tasks one request listens for", n(FOLLOWED_PER_CLIENT_MAX)),
        ("messages waiting for one client", n(FRAMES_QUEUED)),
        ("reports waiting within one call", n(NEWS_QUEUED)),
        ("changes kept for whoever is slow to read them", n(CHANGES_KEPT)),
        ("items of one page of a list", n(PAGE_ITEMS)),
        ("facts that one call cites", cited),
        ("calls waiting for their client", format!("{parked}; {}", min(ROUND_TIME))),
        (
            "tasks",
            format!(
                "{} in memory; {TASKS_LISTED_MAX} in a list; known for {} h",
                n(TASKS_MAX),
                TASK_KEPT.as_secs() / 3600
            ),
        ),
    ];
    rows.iter().map(|(what, bound)| format!("| {what} | {bound} |")).collect()
}

/// What faces clients has no bound of its own beside that file.
#[test]
fn bounds_on_clients_stand_in_one_file() {
    let ours = |file: &std::path::Path| {
        let path = file.display().to_string();
        let facing = ["changes", "listing", "memory", "sessions", "sights"];
        path.contains("crates/server/src")
            || path.contains("crates/protocol/src/decode")
            || facing.iter().any(|name| path.ends_with(&format!("crates/gateway/src/{name}.rs")))
    };
    let bounded = |line: &str| {
        let line = line.trim_start();
        let named = ["const ", "pub const ", "pub(crate) const ", "pub(super) const "];
        named.iter().any(|start| line.starts_with(start))
            && [": usize =", ": u32 =", ": u64 =", ": Duration ="].iter().any(|t| line.contains(t))
    };
    for file in sources().filter(|file| ours(file)) {
        let text = text(&file);
        let found: Vec<&str> = text.lines().filter(|line| bounded(line)).collect();
        assert!(found.is_empty(), "{}: {found:?}", file.display());
    }
}

/// With a comma at each thousand.
fn n(number: usize) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at % 3 == first {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn s(duration: Duration) -> String {
    format!("{} s", duration.as_secs())
}

fn min(duration: Duration) -> String {
    format!("{} min", duration.as_secs() / 60)
}
