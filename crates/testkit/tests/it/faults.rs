//! A table of everything a server can do wrong. Whatever it is: the other upstreams see nothing of
//! it, memory stays where it was, the faulty one is served again soon after its fault is over, and
//! nothing is left behind.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use auth::Credentials;
use gateway::CallRequest;
use serde_json::json;
use toolgate_testkit::faulty::{ANYWHERE, AT_MEETING, ON_A_PIPE, OVER_HTTP, OVER_NETWORKS, UNFELT};
use toolgate_testkit::{FaultyHttp, Recorder, Script, TestGateway, World};
use upstream::http::{Http, Road};
use upstream::mcp::Age;
use upstream::stdio::{Config, Stdio};

use crate::code;

/// How much memory a fault may cost, and how long its end may take to show.
const GROWTH_MAX: u64 = 16 << 20;
const RECOVERY_MAX: Duration = Duration::from_secs(5);
/// How long it may take until a fault was committed, on a busy machine.
const COMMITTED_MAX: Duration = Duration::from_secs(30);
/// How long a call waits for a faulty server.
const PATIENCE: Duration = Duration::from_millis(300);
/// Set for a test that has a process of its own.
const ALONE: &str = "TOOLGATE_TEST_ALONE";

/// A server that can be told to err.
enum Bad {
    Pipe(tempfile::TempDir),
    Http(FaultyHttp),
}

impl Bad {
    fn err(&self, faulty: bool) {
        match self {
            Self::Pipe(home) if faulty => std::fs::write(home.path().join("flag"), "").unwrap(),
            Self::Pipe(home) => std::fs::remove_file(home.path().join("flag")).unwrap(),
            Self::Http(server) => server.err(faulty),
        }
    }

    /// Its fault was committed, and not only meant.
    fn has_erred(&self) -> bool {
        match self {
            Self::Pipe(home) => home.path().join("flag.committed").exists(),
            Self::Http(server) => server.has_erred(),
        }
    }
}

/// Beside the faulty one, two that are good: one in this process, one that is a child like it.
fn gate(upstream: impl upstream::Connector + 'static) -> TestGateway {
    let good = Recorder::one("peek", Script::Echo);
    let args = vec!["--stdio".to_owned()];
    let child = Config { args, ..Config::new(env!("CARGO_BIN_EXE_everything_mcp")) };
    let gate = TestGateway::new().upstream("bad", upstream).upstream("good", good);
    // A fault is waited for by calling, and on a quick machine that is often.
    let gate = gate.settings(|settings| settings.calls_per_minute = u32::MAX);
    gate.upstream("child", Stdio::new(child))
}

async fn others_are_well(fault: &str, world: &World) {
    for tool in ["peek", "test_simple_text"] {
        assert_eq!(code(&world.call(tool, json!({})).await), None, "{fault}: {tool}");
    }
}

async fn on_a_pipe(fault: &'static str) -> (World, Bad) {
    with_a_child(fault, &[]).await
}

async fn on_a_new_pipe(fault: &'static str) -> (World, Bad) {
    with_a_child(fault, &["modern"]).await
}

async fn with_a_child(fault: &'static str, more: &[&str]) -> (World, Bad) {
    let home = tempfile::tempdir().unwrap();
    let flag = home.path().join("flag").display().to_string();
    let args = [fault, &flag].iter().chain(more).map(|arg| (*arg).to_owned()).collect();
    let config = Config { args, ..Config::new(env!("CARGO_BIN_EXE_faulty_mcp")) };
    (gate(Stdio::new(config)).start().await, Bad::Pipe(home))
}

async fn over_http(fault: &'static str) -> (World, Bad) {
    let server = FaultyHttp::start(fault).await;
    let http = Http::new(&server.url, &Credentials::default(), Age::Auto).unwrap();
    (gate(http).start().await, Bad::Http(server))
}

async fn over_new_http(fault: &'static str) -> (World, Bad) {
    let server = FaultyHttp::start_modern(fault).await;
    let http = Http::new(&server.url, &Credentials::default(), Age::Auto).unwrap();
    (gate(http).start().await, Bad::Http(server))
}

async fn over_sse(fault: &'static str) -> (World, Bad) {
    let server = FaultyHttp::start_sse(fault).await;
    let http = Http::by(Road::Old, &server.url, &Credentials::default(), Age::Auto).unwrap();
    (gate(http).start().await, Bad::Http(server))
}

/// Runs the test in a process of its own, whatever the runner, so that what is counted is its alone.
/// Nextest gives it one already.
async fn alone(test: &str, work: impl Future<Output = ()>) {
    if std::env::var_os("NEXTEST").is_some() || std::env::var_os(ALONE).is_some() {
        return work.await;
    }
    let test = test.split_once("::").map_or(test, |(_crate, test)| test);
    let run = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output();
    let ran = run.await.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{test}: {said}");
}

/// CW-82: the same table for every kind of upstream.
async fn check(fault: &'static str, tasks_before: usize, world: World, bad: Bad) {
    assert!(world.refreshed.failures.is_empty(), "{fault}: {:?}", world.refreshed.failures);
    let watching = Arc::clone(&world.gateway);
    let watching = tokio::spawn(async move { watching.watch().await });
    assert_eq!(code(&call_bad(&world).await), None, "{fault}");
    others_are_well(fault, &world).await;
    let before = (forget_the_peak(), descriptors());
    bad.err(true);
    let (mut felt, mut calls, since) = (false, 0, Instant::now());
    // One that errs when it is met anew does so when the gate comes to it, and not by the call.
    while calls < 5 || !bad.has_erred() {
        felt |= code(&call_bad(&world).await).is_some();
        others_are_well(fault, &world).await;
        calls += 1;
        assert!(since.elapsed() <= COMMITTED_MAX, "{fault} was not committed");
    }
    assert!(felt || UNFELT.contains(&fault), "{fault} was not felt");
    let grown = memory("VmHWM:").saturating_sub(before.0);
    assert!(grown <= GROWTH_MAX, "{fault}: {} MiB more at its worst", grown >> 20);
    bad.err(false);
    let over = Instant::now();
    while code(&call_bad(&world).await).is_some() {
        assert!(over.elapsed() <= RECOVERY_MAX, "{fault}: not back after {:?}", over.elapsed());
        tokio::task::yield_now().await;
    }
    others_are_well(fault, &world).await;
    world.gateway.close(Duration::from_secs(1)).await;
    watching.await.unwrap();
    drop((world, bad));
    nothing_is_left(fault, before.1, tasks_before).await;
}

/// Each call is another: an answer to one is no answer to the next.
async fn call_bad(world: &World) -> gateway::Done {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let asked = json!({"n": LAST.fetch_add(1, Ordering::Relaxed)});
    let request = World::request("echo", asked.clone());
    let done = world.send(CallRequest { timeout: Some(PATIENCE), ..request }).await;
    if done.fault.is_none() {
        assert_eq!(done.cleared.get().structured, Some(asked));
    }
    done
}

async fn nothing_is_left(fault: &str, descriptors_before: usize, tasks_before: usize) {
    let since = Instant::now();
    while !children().is_empty() || descriptors() > descriptors_before || tasks() > tasks_before {
        let left = (children(), descriptors(), descriptors_before, tasks(), tasks_before);
        assert!(since.elapsed() < RECOVERY_MAX, "{fault}: left behind: {left:?}");
        tokio::task::yield_now().await;
    }
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// From now on the peak is that of what comes; the memory in use now.
fn forget_the_peak() -> u64 {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    memory("VmRSS:")
}

/// What the system says of this process, in bytes.
fn memory(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Processes of ours, and those that carry our mark wherever they went. One that has ended and was not
/// waited for has no marks any more, but a parent.
fn children() -> Vec<String> {
    let me = format!("TOOLGATE_CHILD={}-", std::process::id());
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let marked = |path: &Path| {
        let environ = std::fs::read(path.join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(me.as_bytes()))
    };
    let waits = |path: &Path| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let mut rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        rest.next() == Some("Z") && rest.next() == Some(&std::process::id().to_string())
    };
    let found = all.filter(|process| marked(&process.path()) || waits(&process.path()));
    found.map(|process| process.path().display().to_string()).collect()
}

macro_rules! faults {
    ($($name:ident: $fault:literal, $($over:ident),+;)*) => {
        $(mod $name { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $over() {
                let test = concat!(module_path!(), "::", stringify!($over));
                super::alone(test, async {
                    let tasks_before = super::tasks();
                    let (world, bad) = super::$over($fault).await;
                    super::check($fault, tasks_before, world, bad).await;
                })
                .await;
            }
        )+ })*

        /// No fault that a server can commit is left out of the table.
        #[test]
        fn the_table_is_complete() {
            let mut told = [$(($fault, [$(stringify!($over)),+].as_slice())),*];
            told.sort_unstable();
            let all: &[&str] =
                &["on_a_pipe", "over_http", "over_sse", "on_a_new_pipe", "over_new_http"];
            let columns = |fault: &str| match fault {
                // There is no such word since 2026-07-28.
                "crash at ready" => &all[..3],
                // Nothing makes a client greet again whose requests stand for themselves.
                fault if AT_MEETING.contains(&fault) => &all[..4],
                _ => all,
            };
            let mut wanted: Vec<(&str, &[&str])> =
                ANYWHERE.iter().map(|fault| (*fault, columns(fault))).collect();
            wanted.extend(ON_A_PIPE.iter().map(|f| (*f, &all[..1])));
            wanted.extend(OVER_NETWORKS.iter().map(|f| (*f, &all[1..3])));
            wanted.extend(OVER_HTTP.iter().map(|f| (*f, &all[1..2])));
            wanted.sort_unstable();
            assert_eq!(told.as_slice(), wanted.as_slice());
        }
    };
}

faults! {
    hang_at_greeting: "hang at greeting", on_a_pipe, over_http, over_sse, on_a_new_pipe;
    hang_at_list: "hang at list", on_a_pipe, over_http, over_sse, on_a_new_pipe;
    hang_at_call: "hang at call", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    crash_at_greeting: "crash at greeting", on_a_pipe, over_http, over_sse, on_a_new_pipe;
    crash_at_ready: "crash at ready", on_a_pipe, over_http, over_sse;
    crash_at_list: "crash at list", on_a_pipe, over_http, over_sse, on_a_new_pipe;
    crash_at_call: "crash at call", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    garbage: "garbage", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    half_frame: "half frame", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    no_end: "no end for 100 MB", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    nul: "nul", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    invalid_utf8: "invalid utf-8", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    wrong_id: "wrong id", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    duplicate_id: "duplicate id", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    result_and_error: "result and error", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    a_byte_a_second: "a byte a second", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    endless_pages: "endless pages", on_a_pipe, over_http, over_sse, on_a_new_pipe;
    repeated_cursor: "repeated cursor", on_a_pipe, over_http, over_sse, on_a_new_pipe;
    late_answer: "late answer", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    list_storm: "list storm", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    question_storm: "question storm", on_a_pipe, over_http, over_sse, on_a_new_pipe, over_new_http;
    crash_at_start: "crash at start", on_a_pipe;
    exit_0: "exit 0", on_a_pipe;
    exit_1: "exit 1", on_a_pipe;
    segfault: "segfault", on_a_pipe;
    hang_for_ever: "hang for ever", on_a_pipe;
    stdout_noise: "stdout noise", on_a_pipe;
    stderr_flood: "stderr flood", on_a_pipe;
    grandchild: "grandchild", on_a_pipe;
    status_503: "status 503", over_http, over_sse;
    reset: "reset", over_http, over_sse;
    endless_stream: "endless stream", over_http, over_sse;
    redirect: "redirect", over_http, over_sse;
    length_too_short: "length too short", over_http;
    length_too_long: "length too long", over_http;
    gzip_bomb: "gzip bomb", over_http;
}
