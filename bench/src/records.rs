//! `bench records`: what durable records cost the store alone, and how fast a long history is read.
//!
//! The same records are written one by one, each with a commit of its own, and by 32 writers that
//! share commits: on this disk, and as if its syncs took longer, as those of most disks do. Beside it, a
//! file that is synced for every line. Then the history is filled up and its first page read.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use model::{
    Call, CallId, Clock, ItemKey, ItemKind, Lineage, Principal, Record, RecordId, RecordStatus,
    RunId, Timestamp, TraceId, UpstreamName,
};
use serde_json::json;
use store::{Closing, Config, RecordFilter, Store, testing};
use tokio::task::JoinSet;

use crate::Outcome;
use crate::args::Size;

const WRITERS: u64 = 32;
/// Writers while the history is filled up; nothing is measured then.
const FILLERS: u64 = 256;
const READS: usize = 21;
/// By how much a sync takes longer than here: a good disk of a cloud, an ordinary one, one that turns.
const SLOWER_MS: [u64; 4] = [0, 1, 2, 5];

pub(crate) async fn run(size: Size) -> Outcome<()> {
    let (each, full) = match size {
        Size::Full => (20_000, 1_000_000),
        Size::Quick => (320, 2_560),
    };
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    std::fs::create_dir_all(&results)?;
    let folder = tempfile::tempdir_in(&results)?;
    let store = Store::open(&Config::folder(folder.path().join("data")), Clock::System).await?;
    let bare = per_second(each / 20, bare(folder.path(), each / 20)?);
    tell(&format!("one line and one sync of a file  {bare:>9.0} a second"))?;
    tell("sync takes          alone  32 writers  ratio  records per commit")?;
    for slower in SLOWER_MS {
        testing::slow_down(Duration::from_millis(slower));
        let share = each / (slower + 1);
        let alone = per_second(share / 10, write(&store, 1, share / 10).await?);
        let before = store.commits();
        let together = per_second(share, write(&store, WRITERS, share).await?);
        let shared = share / (store.commits() - before).max(1);
        let name = if slower == 0 { "as here".to_owned() } else { format!("{slower} ms more") };
        let ratio = together / alone;
        tell(&format!("{name:<12} {alone:>10.0}/s {together:>9.0}/s {ratio:>6.1} {shared:>19}"))?;
    }
    testing::slow_down(Duration::ZERO);
    for _ in 0..full / each {
        write(&store, FILLERS, each).await?;
    }
    let page = first_page(&store).await?.as_secs_f64() * 1e3;
    tell(&format!("first page of {full} records: {page:.2} ms"))?;
    store.close().await;
    Ok(folder.close()?)
}

/// How long it takes to write so many lines, each of them synced.
fn bare(folder: &Path, lines: u64) -> io::Result<Duration> {
    let mut file = std::fs::File::create(folder.join("bare"))?;
    let line = [b'x'; 1_000];
    let began = Instant::now();
    for _ in 0..lines {
        file.write_all(&line)?;
        file.sync_data()?;
    }
    Ok(began.elapsed())
}

/// How long that many writers take. What a call would know anyhow is made before the clock runs.
async fn write(store: &Store, writers: u64, records: u64) -> Outcome<Duration> {
    let mut shares: Vec<Vec<Closing>> = (0..writers).map(|_| Vec::new()).collect();
    // In turn, so that the ids of those who write at the same time follow on each other.
    for _ in 0..records.div_ceil(writers) {
        for share in &mut shares {
            share.push(Closing { record: Box::new(record()), claim: None });
        }
    }
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for share in shares {
        let store = store.clone();
        tasks.spawn(async move {
            for closing in &share {
                store.close_record(closing).await.map_err(|fault| fault.to_string())?;
            }
            Ok::<(), String>(())
        });
    }
    for done in tasks.join_all().await {
        done?;
    }
    Ok(began.elapsed())
}

/// The median of several reads.
async fn first_page(store: &Store) -> Outcome<Duration> {
    let mut spans = Vec::new();
    for _ in 0..READS {
        let began = Instant::now();
        store.records(&RecordFilter::default()).await?;
        spans.push(began.elapsed());
    }
    spans.sort_unstable();
    Ok(spans.get(READS / 2).copied().unwrap_or_default())
}

fn per_second(count: u64, span: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / span.as_secs_f64().max(1e-9)
}

fn tell(line: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

/// About as large as the record of a small call.
fn record() -> Record {
    let now = Clock::System.now();
    let stages = ["resolve", "grants", "validate", "policy", "limits", "invoke", "output"];
    let call = call(now);
    Record {
        record_id: RecordId::of(&call.call_id),
        status: RecordStatus::Completed,
        call,
        decision: None,
        approval_id: None,
        result: None,
        answer: Some(model::Answer::text("x".repeat(600))),
        scorecard: None,
        redacted: false,
        replay_rule: None,
        opened_at: now,
        closed_at: Some(now),
        stages: stages.map(Into::into).to_vec(),
    }
}

fn call(now: Timestamp) -> Call {
    let call_id = CallId::fresh(now);
    Call {
        envelope_version: model::call::ENVELOPE_VERSION.into(),
        run_id: RunId::of(&call_id),
        trace_id: TraceId::of(&call_id),
        call_id,
        parent_span_id: None,
        parent_call_id: None,
        session_id: None,
        method: None,
        asked_name: "echo".to_owned(),
        item_key: Some(ItemKey {
            upstream: UpstreamName::from_string("bench"),
            name: "echo".to_owned(),
            kind: ItemKind::Tool,
        }),
        capability_id: None,
        args: json!({"text": "y".repeat(200)}),
        args_hash: "0".repeat(64),
        principal_chain: vec![Principal::user("bench"), Principal::agent("bench")],
        acts_for: None,
        evidence_refs: Vec::new(),
        roles: Vec::new(),
        grants: Vec::new(),
        ceiling: None,
        scopes: None,
        intent: None,
        mode_effective: None,
        policy_decision_id: None,
        idempotency_key: None,
        dry_run: false,
        started_at: now,
        deadline: now,
        lineage: Lineage {
            catalogue_hash: "1".repeat(64),
            definition_hash: Some("2".repeat(64)),
            policy_hash: "3".repeat(64),
            gateway_version: "0".into(),
            ..Lineage::default()
        },
    }
}
