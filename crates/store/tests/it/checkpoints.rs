//! Checkpoints, retention and exports: what keeps the history honest when it grows and shrinks.

use std::time::Duration;

use toolgate_store::{Ancestor, Damage, RecordFilter, Store, Witnesses};

use crate::home::{Home, START, closing, completed, opening, record};

async fn filled(home: &Home, records: usize) -> Store {
    let store = home.open().await;
    for number in 0..records {
        store.close_record(&closing(completed(&format!("{number:03}")))).await.unwrap();
    }
    store
}

/// What was signed is borne out, and signing twice says nothing new.
#[tokio::test]
async fn a_checkpoint_signs_the_head_once() {
    let home = Home::new();
    let store = filled(&home, 3).await;
    let signed = store.checkpoint().await.unwrap().unwrap();
    assert_eq!((signed.seq, signed.at), (3, START));
    assert_eq!(store.checkpoint().await.unwrap(), None);
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.checkpoints, report.unknown_keys, report.damage), (1, 0, None));
    assert_eq!(report.head, signed.hash);
    let stranger = store.verify_against(&Witnesses::default()).await.unwrap();
    assert_eq!((stranger.checkpoints, stranger.unknown_keys), (0, 1));
}

#[tokio::test]
async fn what_was_cut_off_is_missed() {
    let home = Home::new();
    let store = filled(&home, 5).await;
    store.checkpoint().await.unwrap();
    home.disarm().await;
    let mut raw = home.raw().await;
    sqlx::raw_sql("DELETE FROM entries WHERE seq > 3").execute(&mut raw).await.unwrap();
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.first_bad, report.damage), (Some(4), Some(Damage::Truncated)));
    // Even if the database forgets its checkpoints, the copy beside it does not.
    let on = if home.is_postgres() { " ON checkpoints" } else { "" };
    let forget = format!("DROP TRIGGER checkpoints_refuse_delete{on}; DELETE FROM checkpoints");
    sqlx::raw_sql(sqlx::AssertSqlSafe(forget)).execute(&mut raw).await.unwrap();
    assert_eq!(store.verify_chain().await.unwrap().damage, Some(Damage::Truncated));
    assert_eq!(store.verify_against(&Witnesses::default()).await.unwrap().damage, None);
}

/// A line that a crash has torn is lost; the next one is not lost with it.
#[tokio::test]
async fn a_torn_line_takes_no_other_with_it() {
    let home = Home::new();
    let store = filled(&home, 1).await;
    store.checkpoint().await.unwrap();
    let file = home.dir().join("checkpoints.jsonl");
    let whole = std::fs::read(&file).unwrap();
    let (half, _torn_off) = whole.split_at(whole.len() / 2);
    std::fs::write(&file, half).unwrap();
    store.close_record(&closing(completed("next"))).await.unwrap();
    let next = store.checkpoint().await.unwrap().unwrap();
    assert_eq!(Witnesses::beside(&home.dir()).checkpoints, [next]);
}

/// Whoever can write the database can compute a chain; nobody can compute the signature.
#[tokio::test]
async fn a_forged_checkpoint_shows() {
    let home = Home::new();
    let store = filled(&home, 2).await;
    store.checkpoint().await.unwrap();
    let on = if home.is_postgres() { " ON checkpoints" } else { "" };
    let forge =
        format!("DROP TRIGGER checkpoints_refuse_update{on}; UPDATE checkpoints SET at = at + 1");
    let forge = sqlx::AssertSqlSafe(forge);
    sqlx::raw_sql(forge).execute(&mut home.raw().await).await.unwrap();
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.first_bad, report.damage), (Some(2), Some(Damage::Forged)));
}

#[tokio::test]
async fn what_is_purged_leaves_a_chain_that_verifies() {
    let home = Home::new();
    let store = filled(&home, 4).await;
    home.clock.advance(Duration::from_hours(48));
    store.close_record(&closing(completed("new"))).await.unwrap();
    let old = store.older_than(START.after(Duration::from_hours(1))).await.unwrap().unwrap();
    assert_eq!((old.upto_seq, old.entries), (4, 4));
    store.purge(old).await.unwrap();
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.purged, report.damage), (1, 4, None));
    store.close_record(&closing(completed("newer"))).await.unwrap();
    store.checkpoint().await.unwrap();
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.damage), (2, None));
    assert_eq!(store.older_than(START).await.unwrap(), None);
    store.close().await;
    let report = home.open().await.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.purged, report.damage), (2, 4, None));
}

/// The database honours any purge that stands in it; the walk only one that is signed.
#[tokio::test]
async fn a_purge_that_no_known_key_signed_removes_nothing_in_silence() {
    let check = async |key_id: &str, unknown_keys: u64| {
        let home = Home::new();
        let store = filled(&home, 4).await;
        let own = store.checkpoint().await.unwrap().unwrap().key_id;
        let key_id = if key_id == "own" { own.as_str() } else { key_id };
        let purge = "INSERT INTO checkpoints (kind, seq, hash, at, key_id, signature) \
                     SELECT 'purge', seq, hash, 0, $1, 'ab' FROM entries WHERE seq = 2";
        let mut raw = home.raw().await;
        sqlx::query(purge).bind(key_id.to_owned()).execute(&mut raw).await.unwrap();
        let report = store.verify_chain().await.unwrap();
        assert_eq!(report.damage.is_some(), unknown_keys == 0, "nothing is gone yet");
        sqlx::query("DELETE FROM entries WHERE seq <= 2").execute(&mut raw).await.unwrap();
        let report = store.verify_chain().await.unwrap();
        assert_eq!((report.first_bad, report.damage), (Some(1), Some(Damage::Forged)));
        assert_eq!((report.purged, report.unknown_keys), (0, unknown_keys));
    };
    check("x", 1).await;
    check("own", 0).await;
}

/// A purge is noted beside the database before anything goes. If nothing goes, nothing is skipped.
#[tokio::test]
async fn a_purge_that_failed_hides_nothing() {
    let home = Home::in_folder();
    let store = filled(&home, 5).await;
    let beyond = store.beyond(2).await.unwrap().unwrap();
    let away = home.dir().join("elsewhere.db");
    std::fs::rename(home.database(), &away).unwrap();
    assert!(store.purge(beyond).await.is_err());
    std::fs::rename(&away, home.database()).unwrap();
    assert_eq!(Witnesses::beside(&home.dir()).checkpoints.len(), 1, "it is noted");
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.purged, report.damage), (5, 0, None));
    home.disarm().await;
    let change = "UPDATE entries SET body = replace(body, '12.5', '99.5') WHERE seq = 2";
    sqlx::raw_sql(change).execute(&mut home.raw().await).await.unwrap();
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.first_bad, report.damage), (Some(2), Some(Damage::Changed)));
}

/// Of nine entries, two are gone, five are signed away and the last two of these still there.
async fn broken_off(home: &Home) -> Store {
    let store = filled(home, 9).await;
    let purge = async |keep: u64| {
        store.purge(store.beyond(keep).await.unwrap().unwrap()).await.unwrap();
    };
    purge(7).await;
    let mut raw = home.raw().await;
    let aside = "CREATE TABLE aside AS SELECT * FROM entries WHERE seq BETWEEN 4 AND 5";
    sqlx::raw_sql(aside).execute(&mut raw).await.unwrap();
    purge(4).await;
    let back = "INSERT INTO entries SELECT * FROM aside; DROP TABLE aside";
    sqlx::raw_sql(back).execute(&mut raw).await.unwrap();
    store
}

/// What is signed away may go at any time, the first first; as long as it is there it is looked at.
#[tokio::test]
async fn what_a_purge_has_not_removed_yet_is_looked_at() {
    let check = async |tampering: &'static str, damage: Option<(i64, Damage)>, purged: u64| {
        let home = Home::new();
        let store = broken_off(&home).await;
        home.disarm().await;
        sqlx::raw_sql(tampering).execute(&mut home.raw().await).await.unwrap();
        let report = store.verify_chain().await.unwrap();
        assert_eq!(report.first_bad.zip(report.damage), damage, "{tampering}");
        assert_eq!(report.purged, purged, "{tampering}");
    };
    check("SELECT 1", None, 3).await;
    check("DELETE FROM entries WHERE seq = 4", None, 4).await;
    check("DELETE FROM entries WHERE seq < 6", None, 5).await;
    check("DELETE FROM entries WHERE seq < 7", Some((6, Damage::Deleted)), 5).await;
    check("DELETE FROM entries WHERE seq = 5", Some((5, Damage::Deleted)), 3).await;
    check("DELETE FROM entries WHERE seq > 4", Some((5, Damage::Truncated)), 3).await;
    let body = "UPDATE entries SET body = replace(body, '12.5', '99.5') WHERE seq = 4";
    check(body, Some((4, Damage::Changed)), 3).await;
    // Whoever hides where the first comes from cannot hide what it leads to.
    check("UPDATE entries SET prev_hash = hash WHERE seq = 4", Some((4, Damage::Changed)), 3).await;
    let earlier = "INSERT INTO entries SELECT 3, record_id, call_id, phase, at, tool, status, \
                   principal, run_id, body, prev_hash, hash FROM entries WHERE seq = 4";
    check(earlier, Some((4, Damage::Moved)), 2).await;
}

/// The chain may be computed anew; what was signed about it is not.
#[tokio::test]
async fn what_was_computed_anew_up_to_a_purge_shows() {
    let home = Home::new();
    let store = broken_off(&home).await;
    let entries = store.export(&RecordFilter::default(), 0).await.unwrap();
    let (mut last, mut raw) = (entries[0].prev_hash.clone(), home.raw().await);
    home.disarm().await;
    for entry in &entries[..2] {
        let body = entry.entry.get().replace("12.5", "99.5");
        let hash = model::canonical::hash_bytes(format!("{last}{body}").as_bytes());
        let change = "UPDATE entries SET body = $1, prev_hash = $2, hash = $3 WHERE seq = $4";
        let change = sqlx::query(change).bind(body).bind(last).bind(hash.clone()).bind(entry.seq);
        change.execute(&mut raw).await.unwrap();
        last = hash;
    }
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.first_bad, report.damage), (Some(5), Some(Damage::Changed)));
}

/// Gates on one database sign with a key each; whoever verifies needs them all.
#[tokio::test]
async fn a_purge_of_another_gate_is_borne_out_by_its_key() {
    let home = Home::new();
    let store = filled(&home, 4).await;
    let beyond = store.beyond(2).await.unwrap().unwrap();
    store.purge(beyond).await.unwrap();
    let mut known = Witnesses::beside(&home.dir());
    assert_eq!(store.verify_against(&known).await.unwrap().damage, None);
    let stranger = Home::in_folder();
    filled(&stranger, 1).await.checkpoint().await.unwrap();
    let theirs = Witnesses::beside(&stranger.dir()).keys;
    let own = std::mem::replace(&mut known.keys, theirs);
    let report = store.verify_against(&known).await.unwrap();
    assert_eq!((report.damage, report.unknown_keys), (Some(Damage::Forged), 1));
    known.keys.extend(own);
    assert_eq!(store.verify_against(&known).await.unwrap().damage, None);
}

#[tokio::test]
async fn the_newest_entry_and_running_calls_stay() {
    let home = Home::new();
    let store = filled(&home, 2).await;
    store.open_record(opening(record("running"))).await.unwrap();
    store.close_record(&closing(completed("last"))).await.unwrap();
    let beyond = store.beyond(0).await.unwrap().unwrap();
    assert_eq!(beyond.upto_seq, 2, "the third is running");
    home.clock.advance(Duration::from_hours(3));
    let beyond = store.beyond(0).await.unwrap().unwrap();
    assert_eq!(beyond.upto_seq, 3, "nothing runs for three hours");
    assert_eq!(store.beyond(9).await.unwrap(), None);
}

/// What no entry points to any more goes, once everything that could have is gone.
#[tokio::test]
async fn definitions_leave_with_the_last_entry_that_may_point_to_them() {
    let home = Home::new();
    let store = filled(&home, 2).await;
    let keep = |hashes: &[&str]| {
        let ancestor = |hash: &&str| Ancestor {
            kind: "definition",
            hash: (*hash).to_owned(),
            body: "{}".to_owned(),
        };
        store.keep_lineage(hashes.iter().map(ancestor).collect())
    };
    keep(&["old", "lasting", "lasting"]).await.unwrap();
    home.clock.advance(Duration::from_hours(48));
    keep(&["lasting"]).await.unwrap();
    store.close_record(&closing(completed("new"))).await.unwrap();
    assert_eq!(store.prune_lineage().await, Ok(0), "the first entries may point to it");
    let old = store.older_than(START.after(Duration::from_hours(1))).await.unwrap().unwrap();
    store.purge(old).await.unwrap();
    assert_eq!(store.prune_lineage().await, Ok(1));
    assert_eq!(store.ancestor("definition", "old").await, Ok(None));
    assert_eq!(store.ancestor("definition", "lasting").await, Ok(Some("{}".to_owned())));
}

/// Nobody needs to be told what entries were that nobody has.
#[tokio::test]
async fn checkpoints_leave_with_the_entries_they_are_about() {
    let home = Home::new();
    let store = home.open().await;
    for number in 0..8 {
        store.close_record(&closing(completed(&number.to_string()))).await.unwrap();
        store.checkpoint().await.unwrap();
    }
    let file = home.dir().join("checkpoints.jsonl");
    let mut copy = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("half a li\n{copy}")).unwrap();
    let told = async || {
        let database = store.checkpoints().await.unwrap();
        let beside = Witnesses::beside(&home.dir()).checkpoints;
        assert!(database.iter().all(|checkpoint| beside.contains(checkpoint)), "{beside:?}");
        assert_eq!(database.len(), beside.len());
        database.iter().map(|checkpoint| checkpoint.seq).collect::<Vec<_>>()
    };
    assert_eq!(told().await, [1, 2, 3, 4, 5, 6, 7, 8]);
    for (keep, left) in [(5, &[3, 3, 4, 5, 6, 7, 8][..]), (2, &[6, 6, 7, 8][..])] {
        store.purge(store.beyond(keep).await.unwrap().unwrap()).await.unwrap();
        assert_eq!(told().await, left);
        let report = store.verify_chain().await.unwrap();
        assert_eq!((report.entries, report.checkpoints, report.damage), (keep, keep, None));
    }
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("half a li\n"), "nobody knows");
    // A copy that was taken before still bears out what is left.
    copy.push_str(&std::fs::read_to_string(&file).unwrap());
    let mut witnesses = Witnesses::beside(&home.dir());
    witnesses.add(&copy);
    let report = store.verify_against(&witnesses).await.unwrap();
    assert_eq!((report.checkpoints, report.damage), (2, None));
    let mut raw = home.raw().await;
    for seq in [6, 8] {
        let error = sqlx::query("DELETE FROM checkpoints WHERE seq = $1").bind(seq);
        let error = error.execute(&mut raw).await.unwrap_err().to_string();
        assert!(error.contains("checkpoints are append-only"), "{seq}: {error}");
    }
}

#[tokio::test]
async fn one_process_at_a_time_removes_entries() {
    let home = Home::new();
    let (store, other) = (home.open().await, home.open().await);
    for _ in 0..2 {
        let turn = store.turn_to_prune().await.unwrap().unwrap();
        assert!(other.turn_to_prune().await.unwrap().is_none());
        turn.end().await;
        other.turn_to_prune().await.unwrap().unwrap().end().await;
    }
    let elsewhere = Home::new();
    let _turn = store.turn_to_prune().await.unwrap().unwrap();
    assert!(elsewhere.open().await.turn_to_prune().await.unwrap().is_some(), "another history");
}

/// However much goes, it goes in parts, and others write and read in between.
#[tokio::test]
async fn a_long_purge_holds_nobody_up() {
    let home = Home::new();
    let store = filled(&home, 600).await;
    let beyond = store.beyond(20).await.unwrap().unwrap();
    let before = store.commits();
    let closing = closing(completed("beside"));
    let (purged, closed, report) =
        tokio::join!(store.purge(beyond), store.close_record(&closing), store.verify_chain());
    closed.unwrap();
    assert_eq!(purged.unwrap().seq, 580);
    assert!(store.commits() - before >= 4, "a part at a time: 580 entries are three");
    assert_eq!(report.unwrap().damage, None, "what goes meanwhile is not missed");
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.purged, report.damage), (21, 580, None));
}

/// Free pages of the file would keep it for whoever looks there.
#[tokio::test]
async fn what_was_purged_cannot_be_read_in_the_file() {
    let home = Home::in_folder();
    let store = home.open().await;
    for number in 0..40 {
        let mut secret = completed(&number.to_string());
        secret.call.args = serde_json::json!({"note": format!("mark-of-{number} ").repeat(40)});
        store.close_record(&closing(secret)).await.unwrap();
    }
    let beyond = store.beyond(5).await.unwrap().unwrap();
    store.purge(beyond).await.unwrap();
    store.close().await;
    let file = std::fs::read(home.database()).unwrap();
    let marks = |number: u32| {
        let mark = format!("mark-of-{number} ");
        file.windows(mark.len()).filter(|bytes| *bytes == mark.as_bytes()).count()
    };
    assert_eq!((0..35).map(marks).sum::<usize>(), 0);
    assert!((35..40).all(|number| marks(number) >= 40), "what is kept is there");
}

/// Nothing leaves that no purge has signed away.
#[tokio::test]
async fn entries_after_a_purge_cannot_be_removed() {
    let home = Home::new();
    let store = filled(&home, 4).await;
    let beyond = store.beyond(2).await.unwrap().unwrap();
    store.purge(beyond).await.unwrap();
    let mut raw = home.raw().await;
    let error = sqlx::query("DELETE FROM entries WHERE seq = 3").execute(&mut raw).await;
    assert!(error.unwrap_err().to_string().contains("entries are append-only"));
    let (entries, bytes) = store.entries_size().await.unwrap();
    assert_eq!((entries, bytes > 2_000), (2, true));
}

#[tokio::test]
async fn an_export_hands_out_what_the_hashes_are_over() {
    let home = Home::new();
    let store = filled(&home, 3).await;
    let all = store.export(&RecordFilter::default(), 0).await.unwrap();
    assert_eq!(all.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(all[1].prev_hash, all[0].hash);
    let told = model::canonical::hash_bytes(
        format!("{}{}", all[1].prev_hash, all[1].entry.get()).as_bytes(),
    );
    assert_eq!(told, all[1].hash);
    assert_eq!(all[2].read().unwrap(), (START, completed("002")));
    assert_eq!(store.export(&RecordFilter::default(), 2).await.unwrap().len(), 1);
    let later = RecordFilter { since: Some(START.after(Duration::from_secs(1))), ..all_records() };
    assert_eq!(store.export(&later, 0).await.unwrap().len(), 0);
}

fn all_records() -> RecordFilter {
    RecordFilter::default()
}
