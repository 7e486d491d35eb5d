//! Records: written, found again, listed, and proof against change.

use std::sync::Arc;
use std::time::Duration;

use model::{Answer, Code, Fault, Record, RecordStatus};
use toolgate_store::{
    Claim, ClaimEnd, ClaimOutcome, Closing, Damage, Opened, Opening, RecordFilter, Store,
};

use crate::home::{Home, START, closing, completed, opening, record, refused};

async fn lines(store: &Store, filter: RecordFilter) -> Vec<String> {
    let lines = store.records(&filter).await.unwrap();
    lines.iter().map(|line| format!("{} {}", line.record_id, line.status)).collect()
}

async fn filled(home: &Home) -> Store {
    let store = home.open().await;
    store.open_record(opening(record("a1"))).await.unwrap();
    store.close_record(&closing(completed("a1"))).await.unwrap();
    store.open_record(opening(record("a2"))).await.unwrap();
    let fault = Fault::new(Code::PolicyDenied, "not today");
    store.close_record(&closing(refused("b1", fault))).await.unwrap();
    store
}

#[tokio::test]
async fn a_record_reads_back_as_it_was_closed() {
    let home = Home::new();
    let store = filled(&home).await;
    assert_eq!(store.record("rec_a1").await.unwrap(), Some(completed("a1")));
    assert_eq!(store.record("rec_a2").await.unwrap(), Some(record("a2")));
}

#[tokio::test]
async fn an_id_may_be_cut_short_while_it_is_clear() {
    let home = Home::new();
    let store = filled(&home).await;
    let check = async |id: &str, expected: Result<Option<&str>, Code>| {
        let found = store.record(id).await.map_err(|fault| fault.code);
        let found = found.map(|record| record.map(|record| record.record_id.to_string()));
        assert_eq!(found, expected.map(|id| id.map(str::to_owned)), "{id}");
    };
    check("rec_b", Ok(Some("rec_b1"))).await;
    check("call_a2", Ok(Some("rec_a2"))).await;
    check("call_b", Ok(Some("rec_b1"))).await;
    check("call_a11", Ok(None)).await;
    check("rec_a", Err(Code::ArgsInvalid)).await;
    check("call", Err(Code::ArgsInvalid)).await;
    check("rec_c", Ok(None)).await;
    check("a1", Ok(None)).await;
    check("", Ok(None)).await;
    check("%", Ok(None)).await;
    store.close_record(&closing(completed("a11"))).await.unwrap();
    check("rec_a1", Ok(Some("rec_a1"))).await;
}

#[tokio::test]
async fn a_list_shows_each_record_once_and_the_newest_first() {
    let home = Home::new();
    let store = filled(&home).await;
    let check = async |filter: RecordFilter, expected: &[&str]| {
        assert_eq!(lines(&store, filter.clone()).await, expected, "{filter:?}");
    };
    let all = RecordFilter::default;
    check(all(), &["rec_b1 denied", "rec_a2 open", "rec_a1 completed"]).await;
    check(RecordFilter { limit: 1, ..all() }, &["rec_b1 denied"]).await;
    let before_seq = Some(3);
    check(RecordFilter { before_seq, ..all() }, &["rec_a1 completed"]).await;
    let status = Some(RecordStatus::Open);
    check(RecordFilter { status, ..all() }, &["rec_a2 open"]).await;
    let tool = Some("payments/refund".to_owned());
    let principal = Some("user:alice".to_owned());
    let run_id = Some("run_1".to_owned());
    let mine = RecordFilter { tool, principal, run_id, limit: 2, ..all() };
    check(mine, &["rec_b1 denied", "rec_a2 open"]).await;
    let run = |run: &str| RecordFilter { run_id: Some(run.to_owned()), ..all() };
    check(run("run_a1"), &[]).await;
    check(run("run"), &[]).await;
    check(RecordFilter { principal: Some("user:bob".to_owned()), ..all() }, &[]).await;
    check(RecordFilter { tool: Some("' OR 1=1 --".to_owned()), ..all() }, &[]).await;
}

/// Records share the number of their call, and runs of one call do; earlier records did not.
#[tokio::test]
async fn a_call_and_its_run_are_found_whatever_their_numbers() {
    let home = Home::new();
    let store = filled(&home).await;
    let mut alone = completed("c1");
    alone.call.run_id = model::RunId::of(&alone.call.call_id);
    let mut elsewhere = completed("c2");
    elsewhere.call.call_id = model::CallId::from_string("call_x9");
    elsewhere.call.run_id = model::RunId::from_string("nightly");
    store.close_record(&closing(alone)).await.unwrap();
    store.close_record(&closing(elsewhere)).await.unwrap();
    let of_run = async |run: &str| {
        let filter = RecordFilter { run_id: Some(run.to_owned()), ..RecordFilter::default() };
        lines(&store, filter).await
    };
    assert_eq!(of_run("run_c1").await, ["rec_c1 completed"]);
    assert_eq!(of_run("nightly").await, ["rec_c2 completed"]);
    assert_eq!(of_run("run_c2").await, [""; 0]);
    assert_eq!(store.record("call_c1").await.unwrap().unwrap().record_id.as_str(), "rec_c1");
    assert_eq!(store.record("call_x").await.unwrap().unwrap().record_id.as_str(), "rec_c2");
}

#[tokio::test]
async fn uses_are_counted_for_one_principal_and_only_where_the_call_went_well() {
    let home = Home::new();
    let store = filled(&home).await;
    store.close_record(&closing(completed("a3"))).await.unwrap();
    let mut bobs = completed("c1");
    bobs.call.principal_chain = vec![model::Principal::user("bob")];
    store.close_record(&closing(bobs)).await.unwrap();
    let check = async |principal: &str, expected: &[(&str, u32)]| {
        let uses = store.uses(principal).await.unwrap();
        let uses: Vec<(&str, u32)> =
            uses.iter().map(|(tool, uses)| (tool.as_str(), *uses)).collect();
        assert_eq!(uses, expected, "{principal}");
    };
    check("user:alice", &[("payments/refund", 2)]).await;
    check("user:bob", &[("payments/refund", 1)]).await;
    check("user:", &[]).await;
    check("user:%", &[]).await;
}

#[tokio::test]
async fn a_line_tells_the_summary_or_the_error() {
    let home = Home::new();
    let store = filled(&home).await;
    let lines = store.records(&RecordFilter::default()).await.unwrap();
    let told: Vec<_> = lines.iter().map(|line| (line.summary.as_deref(), line.error)).collect();
    let expected = [(None, Some(Code::PolicyDenied)), (None, None), (Some("12.50 refunded"), None)];
    assert_eq!(told, expected);
    assert_eq!((lines[0].at, lines[0].seq), (START, 4));
}

#[tokio::test]
async fn an_unresolved_name_is_listed_as_it_was_asked_for() {
    let home = Home::new();
    let store = home.open().await;
    let mut unknown = refused("1", Fault::new(Code::ToolNotFound, "no such tool"));
    unknown.call.item_key = None;
    store.close_record(&closing(unknown)).await.unwrap();
    assert_eq!(store.records(&RecordFilter::default()).await.unwrap()[0].tool, "refund");
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let home = Home::new();
    filled(&home).await.close().await;
    home.clock.advance(Duration::from_hours(1));
    let store = home.open().await;
    assert_eq!(lines(&store, RecordFilter::default()).await.len(), 3);
    store.close_record(&closing(completed("a2"))).await.unwrap();
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.first_bad), (5, None));
}

#[tokio::test]
async fn a_record_is_durable_when_the_call_returns() {
    let home = Home::new();
    let store = home.open().await;
    store.open_record(opening(record("1"))).await.unwrap();
    // Neither closed nor dropped: another process sees it all the same.
    assert_eq!(home.open().await.record("rec_1").await.unwrap(), Some(record("1")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_writers_keep_one_sound_chain() {
    let home = Home::new();
    let store = Arc::new(home.open().await);
    let writers: Vec<_> = (0..200)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let id = number.to_string();
                assert_eq!(store.open_record(opening(record(&id))).await, Ok(Opened::Fresh));
                store.close_record(&closing(completed(&id))).await.unwrap();
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.first_bad), (400, None));
}

#[tokio::test]
async fn entries_can_only_be_added() {
    let home = Home::new();
    let _store = filled(&home).await;
    let mut raw = home.raw().await;
    // What would take a row's place, or all rows, without touching them one by one.
    let around = if home.is_postgres() {
        "TRUNCATE entries"
    } else {
        // As the gate's own connection has it.
        sqlx::query("PRAGMA recursive_triggers = ON").execute(&mut raw).await.unwrap();
        "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE seq = 1"
    };
    for statement in [
        "UPDATE entries SET status = 'completed' WHERE seq = 4",
        "DELETE FROM entries WHERE seq = 4",
        around,
    ] {
        let error = sqlx::query(statement).execute(&mut raw).await.unwrap_err().to_string();
        assert!(error.contains("entries are append-only"), "{statement}: {error}");
    }
}

/// Somebody who can drop the triggers still cannot hide what was done.
#[tokio::test]
async fn tampering_shows_in_the_chain() {
    let check = async |tampering: &'static str, damage: Option<(i64, Damage)>| {
        let home = Home::new();
        let store = filled(&home).await;
        home.disarm().await;
        sqlx::raw_sql(tampering).execute(&mut home.raw().await).await.unwrap();
        let report = store.verify_chain().await.unwrap();
        let sound = damage.map_or(4, |(bad, _)| u64::try_from(bad).unwrap() - 1);
        assert_eq!(report.first_bad.zip(report.damage), damage, "{tampering}");
        assert_eq!(report.entries, sound, "{tampering}");
    };
    let changed = |seq: i64| Some((seq, Damage::Changed));
    check("SELECT 1", None).await;
    let amount = "UPDATE entries SET body = replace(body, '12.5', '99.5') WHERE seq = 2";
    check(amount, changed(2)).await;
    // Canonical JSON would round both numbers to the same one.
    let digits = "UPDATE entries SET body = replace(body, '740993', '740992') WHERE seq = 3";
    check(digits, changed(3)).await;
    check("UPDATE entries SET status = 'completed' WHERE seq = 4", changed(4)).await;
    check("UPDATE entries SET principal = 'user:bob' WHERE seq = 1", changed(1)).await;
    check("UPDATE entries SET prev_hash = hash WHERE seq = 3", changed(3)).await;
    check("UPDATE entries SET body = 'nonsense' WHERE seq = 3", changed(3)).await;
    check("DELETE FROM entries WHERE seq = 2", Some((2, Damage::Deleted))).await;
    check("DELETE FROM entries WHERE seq = 1", Some((1, Damage::Deleted))).await;
    let swap = "UPDATE entries SET seq = 9 WHERE seq = 2; UPDATE entries SET seq = 2 WHERE seq = 3; \
                UPDATE entries SET seq = 3 WHERE seq = 9";
    check(swap, Some((2, Damage::Moved))).await;
    let beyond = "INSERT INTO entries SELECT seq + 9, record_id, call_id, phase, at, tool, status, \
                  principal, run_id, body, prev_hash, hash FROM entries WHERE seq = 4";
    check(beyond, Some((5, Damage::Deleted))).await;
}

#[tokio::test]
async fn the_head_shows_when_the_newest_entries_were_cut_off() {
    let home = Home::new();
    let store = filled(&home).await;
    let before = store.verify_chain().await.unwrap();
    home.disarm().await;
    let mut raw = home.raw().await;
    sqlx::query("DELETE FROM entries WHERE seq = 4").execute(&mut raw).await.unwrap();
    let after = store.verify_chain().await.unwrap();
    assert_eq!(after.first_bad, None, "a shorter chain is a sound chain");
    assert_ne!(after.head, before.head);
}

#[tokio::test]
async fn a_long_chain_is_read_in_pages() {
    let home = Home::new();
    let store = home.open().await;
    let records: Vec<Record> = (0..600).map(|number| completed(&number.to_string())).collect();
    let mut writes = tokio::task::JoinSet::new();
    for record in records {
        let store = store.clone();
        writes.spawn(async move { store.close_record(&closing(record)).await });
    }
    assert!(writes.join_all().await.into_iter().all(|written| written.is_ok()));
    assert_eq!(store.verify_chain().await.unwrap().entries, 600);
}

#[tokio::test]
async fn a_closed_store_says_that_the_call_was_not_made() {
    let home = Home::new();
    let store = home.open().await;
    store.close().await;
    let fault = store.open_record(opening(record("1"))).await.unwrap_err();
    assert_eq!(fault.code, Code::StoreUnavailable);
    assert_eq!(fault.message, "the record could not be written, so the call was not made");
}

/// A closing that could not be written waits, with the claim it settles, until it can.
#[tokio::test]
async fn what_could_not_be_closed_is_closed_later() {
    let home = Home::in_folder();
    let store = home.open().await;
    let claim = Claim {
        scope: "s".to_owned(),
        key: "k".to_owned(),
        secret: false,
        args_hash: "a".to_owned(),
        expires_at: START.after(Duration::from_hours(1)),
    };
    let opening = Opening { claim: Some(claim.clone()), ..opening(record("1")) };
    assert_eq!(store.open_record(opening).await, Ok(Opened::Fresh));
    let away = home.dir().join("elsewhere.db");
    std::fs::rename(home.database(), &away).unwrap();
    let end = ClaimEnd::Done(Answer::text("done"));
    let outcome = ClaimOutcome { scope: claim.scope.clone(), key: claim.key.clone(), end };
    let closing = Closing { record: completed("1").into(), claim: Some(outcome) };
    assert_eq!(store.close_record(&closing).await.unwrap_err().code, Code::StoreUnavailable);
    assert_eq!(store.catch_up().await, 1, "there is still no database");
    std::fs::rename(&away, home.database()).unwrap();
    assert_eq!(store.catch_up().await, 0);
    assert_eq!(store.record("rec_1").await.unwrap(), Some(completed("1")));
    assert_eq!(store.recall(&claim).await.unwrap(), Some(Answer::text("done")));
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}

/// More closings than are kept in memory: what is lost of them holds no key for ever.
#[tokio::test]
async fn a_closing_that_is_lost_leaves_no_key_running() {
    let home = Home::in_folder();
    let store = home.open().await;
    store.adopt_unfinished().await.unwrap();
    let claim = |key: &str| Claim {
        scope: "s".to_owned(),
        key: key.to_owned(),
        secret: false,
        args_hash: "a".to_owned(),
        expires_at: START.after(Duration::from_hours(1)),
    };
    let open = async |id: &str, key: &str| {
        let opening = Opening { claim: Some(claim(key)), ..opening(record(id)) };
        let opened = store.open_record(opening).await;
        opened.map_err(|fault| fault.details["state"].as_str().unwrap().to_owned())
    };
    for id in ["unsent", "sent", "running"] {
        assert_eq!(open(id, id).await, Ok(Opened::Fresh));
    }
    store.dispatch(&claim("sent"), &record("sent").record_id).await.unwrap();
    let away = home.dir().join("elsewhere.db");
    std::fs::rename(home.database(), &away).unwrap();
    let mut late = tokio::task::JoinSet::new();
    for id in 0..4_096 {
        let store = store.clone();
        late.spawn(async move { store.close_record(&closing(completed(&id.to_string()))).await });
    }
    assert!(late.join_all().await.iter().all(Result::is_err));
    for id in ["unsent", "sent"] {
        let end = claim(id).ended(ClaimEnd::Released);
        let closing = Closing { record: completed(id).into(), claim: Some(end) };
        store.close_record(&closing).await.unwrap_err();
    }
    std::fs::rename(&away, home.database()).unwrap();
    assert_eq!(store.catch_up().await, 0);
    assert_eq!(open("2", "unsent").await, Ok(Opened::Fresh));
    assert_eq!(open("3", "sent").await, Err("unknown".to_owned()));
    assert_eq!(open("4", "running").await, Err("running".to_owned()));
}

/// A store that holds so many closings in memory, as its database was away when they were due.
async fn late(home: &Home, closings: u32) -> Store {
    let store = home.open().await;
    let away = home.dir().join("elsewhere.db");
    std::fs::rename(home.database(), &away).unwrap();
    for id in 0..closings {
        assert!(store.close_record(&closing(completed(&id.to_string()))).await.is_err());
    }
    std::fs::rename(&away, home.database()).unwrap();
    store
}

#[tokio::test]
async fn who_gives_up_catching_up_loses_nothing() {
    let home = Home::in_folder();
    let store = late(&home, 3).await;
    // Begun, and no longer waited for.
    tokio::select! {
        biased;
        _ = store.catch_up() => panic!("that takes longer"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(store.catch_up().await, 0);
    assert_eq!(lines(&store, RecordFilter::default()).await.len(), 3);
}

#[tokio::test]
async fn a_store_that_closes_waits_for_late_closings() {
    let home = Home::in_folder();
    let store = late(&home, 40).await;
    let (left, ()) = tokio::join!(store.catch_up(), store.close());
    assert_eq!(left, 0);
    assert_eq!(lines(&home.open().await, RecordFilter::default()).await.len(), 40);
    let home = Home::in_folder();
    late(&home, 2).await.close().await;
    assert_eq!(home.open().await.verify_chain().await.unwrap().entries, 2, "nobody else has asked");
}

/// Whoever is told that nothing was written still has what was to be written.
#[tokio::test]
async fn a_closing_that_comes_after_the_end_is_not_forgotten() {
    let home = Home::in_folder();
    let store = home.open().await;
    store.close().await;
    let fault = store.close_record(&closing(completed("1"))).await.unwrap_err();
    assert_eq!(fault.code, Code::StoreUnavailable);
    assert_eq!(store.catch_up().await, 1);
}
