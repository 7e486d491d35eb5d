//! What only the journal has, through crashes and beside other processes. A server has no journal.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolgate_store::{Config, RecordFilter, Store, Witnesses};

use crate::home::{Home, closing, completed};

const FILES: [&str; 2] = ["journal-0", "journal-1"];

async fn write(store: &Store, ids: impl IntoIterator<Item = u32>) {
    for id in ids {
        store.close_record(&closing(completed(&id.to_string()))).await.unwrap();
    }
}

/// A folder as a crash would leave it.
struct Crashed {
    _folder: TempDir,
    dir: PathBuf,
}

impl Crashed {
    /// The database with its log, and no journal.
    fn database(of: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("data");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("lock"), "").unwrap();
        for name in ["toolgate.db", "toolgate.db-wal"] {
            fs::copy(of.join(name), dir.join(name)).unwrap();
        }
        Self { _folder: folder, dir }
    }

    fn with_journal(self, of: &Path) -> Self {
        for name in FILES {
            fs::copy(of.join(name), self.dir.join(name)).unwrap();
        }
        self
    }

    async fn open(&self, home: &Home) -> Store {
        Store::open(&Config::folder(&self.dir), home.clock.clone()).await.unwrap()
    }
}

/// How many entries there are, in a chain that is sound.
async fn entries(store: &Store) -> u64 {
    let report = store.verify_against(&Witnesses::default()).await.unwrap();
    assert_eq!(report.damage, None, "{report:?}");
    report.entries
}

/// Every one of them, and nothing twice.
async fn ids(store: &Store) -> Vec<String> {
    let filter = RecordFilter { limit: 1_000, ..RecordFilter::default() };
    let lines = store.records(&filter).await.unwrap();
    let mut ids: Vec<String> = lines.iter().map(|line| line.record_id.to_string()).collect();
    ids.sort_unstable();
    assert_eq!(entries(store).await, ids.len() as u64, "{ids:?}");
    ids
}

fn expected(ids: impl IntoIterator<Item = u32>) -> Vec<String> {
    let mut ids: Vec<String> = ids.into_iter().map(|id| format!("rec_{id}")).collect();
    ids.sort_unstable();
    ids
}

/// A store that has filed entries 1 to 3, and the database as it is then.
async fn begun(home: &Home) -> (Store, Crashed) {
    let store = home.open().await;
    write(&store, 1..=3).await;
    assert_eq!(entries(&store).await, 3);
    let database = Crashed::database(&home.dir());
    (store, database)
}

/// A store whose database has entries 1 to 3, and whose journal alone has what follows.
struct Ahead {
    home: Home,
    store: Store,
    database: Crashed,
    /// Which file they stand in, and where each ends there.
    place: usize,
    ends: Vec<usize>,
}

/// Tried anew if they were filed meanwhile, as may happen where nothing is quick.
async fn ahead(last: u32) -> Ahead {
    let files = |home: &Home| FILES.map(|name| fs::read(home.dir().join(name)).unwrap());
    loop {
        let home = Home::in_folder();
        let (store, database) = begun(&home).await;
        let before = files(&home);
        let mut after = Vec::new();
        for id in 4..=last {
            write(&store, [id]).await;
            after.push(files(&home));
        }
        let changed =
            |place: &usize| after.last().and_then(|it| it.get(*place)) != before.get(*place);
        if let [place] = (0..FILES.len()).filter(changed).collect::<Vec<_>>()[..] {
            let length = |files: &[Vec<u8>; 2]| files.get(place).map_or(0, Vec::len);
            let ends: Vec<usize> = after.iter().map(length).collect();
            if ends.is_sorted_by(|one, next| 0 < *one && one < next) {
                return Ahead { home, store, database, place, ends };
            }
        }
    }
}

#[tokio::test]
async fn what_only_the_journal_has_is_there_after_a_crash() {
    let Ahead { home, store, database, .. } = ahead(9).await;
    let crashed = database.with_journal(&home.dir());
    let again = crashed.open(&home).await;
    assert_eq!(ids(&again).await, expected(1..=9));
    write(&again, 10..=12).await;
    again.close().await;
    assert_eq!(ids(&crashed.open(&home).await).await, expected(1..=12));
    assert_eq!(ids(&store).await, expected(1..=9));
}

#[tokio::test]
async fn a_journal_torn_anywhere_leaves_a_sound_chain() {
    let Ahead { home, store, database, place, ends } = ahead(7).await;
    let whole = fs::read(home.dir().join(FILES[place])).unwrap();
    for cut in (0..=whole.len()).step_by(97).chain(ends.iter().copied()) {
        let crashed = Crashed::database(&database.dir).with_journal(&home.dir());
        fs::write(crashed.dir.join(FILES[place]), &whole[..cut]).unwrap();
        let again = crashed.open(&home).await;
        let kept = u32::try_from(ends.iter().filter(|end| **end <= cut).count()).unwrap();
        assert_eq!(ids(&again).await, expected(1..=3 + kept), "{cut} of {ends:?}");
        write(&again, [100]).await;
        assert_eq!(entries(&again).await, u64::from(4 + kept), "{cut} of {ends:?}");
        again.close().await;
    }
    store.close().await;
}

/// Two processes may add to one chain: somebody settles a claim while a gate is at work.
#[tokio::test]
async fn what_another_process_adds_in_between_moves_nothing_out() {
    let home = Home::in_folder();
    let (store, _) = begun(&home).await;
    let other = home.open().await;
    for round in 1..=20 {
        write(&store, [round * 10]).await;
        write(&other, [round * 10 + 1]).await;
        write(&store, [round * 10 + 2]).await;
    }
    let all = (1..=3).chain((1..=20).flat_map(|round| (0..3).map(move |n| round * 10 + n)));
    // Whichever of them has the journal, who opens the folder waits for what stands there.
    assert_eq!(ids(&home.open().await).await, expected(all));
}

#[tokio::test]
async fn after_a_crash_the_journal_comes_behind_what_another_process_added() {
    let Ahead { home, store: _store, database, .. } = ahead(6).await;
    // Adds at the place where the journal goes on, too.
    let other = database.open(&home).await;
    write(&other, 40..=42).await;
    other.close().await;
    let crashed = database.with_journal(&home.dir());
    for _ in 0..2 {
        let again = crashed.open(&home).await;
        assert_eq!(ids(&again).await, expected((1..=6).chain(40..=42)));
    }
}

#[tokio::test]
async fn the_journal_of_another_history_is_put_aside() {
    let home = Home::in_folder();
    let (store, database) = begun(&home).await;
    write(&store, 4..=9).await;
    assert_eq!(entries(&store).await, 9);
    write(&store, 10..=12).await;
    let crashed = database.with_journal(&home.dir());
    let journal = FILES.map(|name| fs::read(crashed.dir.join(name)).unwrap());
    // Not a database that is older by a moment, but one that knows none of this.
    fs::remove_file(crashed.dir.join("toolgate.db-wal")).unwrap();
    fs::remove_file(crashed.dir.join("toolgate.db")).unwrap();
    for _ in 0..2 {
        let again = crashed.open(&home).await;
        assert_eq!(entries(&again).await, 0);
        again.close().await;
    }
    write(&crashed.open(&home).await, [1]).await;
    let aside = FILES.map(|name| fs::read(crashed.dir.join("journal-aside-1").join(name)).unwrap());
    assert_eq!(aside, journal);
    assert!(!crashed.dir.join("journal-aside-2").exists(), "once is enough");
}

#[tokio::test]
async fn what_was_purged_does_not_come_back() {
    let home = Home::in_folder();
    let (store, _) = begun(&home).await;
    write(&store, 4..=9).await;
    let journal = FILES.map(|name| fs::read(home.dir().join(name)).unwrap());
    let old = store.beyond(2).await.unwrap().unwrap();
    store.purge(old).await.unwrap();
    // As if the journal had not been emptied any more.
    let crashed = Crashed::database(&home.dir());
    for (name, text) in FILES.iter().zip(&journal) {
        fs::write(crashed.dir.join(name), text).unwrap();
    }
    assert_eq!(bytes(&home.dir()), 0, "and nothing of it is left in the journal");
    let again = crashed.open(&home).await;
    let filter = RecordFilter::default();
    let left: Vec<_> = again.records(&filter).await.unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// How much stands in the journal.
fn bytes(dir: &Path) -> u64 {
    FILES.iter().map(|name| fs::metadata(dir.join(name)).unwrap().len()).sum()
}

#[tokio::test]
async fn a_purge_empties_the_journal_that_a_crash_has_left() {
    let Ahead { home, database, .. } = ahead(9).await;
    let crashed = database.with_journal(&home.dir());
    let again = crashed.open(&home).await;
    assert!(bytes(&crashed.dir) > 0);
    again.purge(again.beyond(2).await.unwrap().unwrap()).await.unwrap();
    assert_eq!(bytes(&crashed.dir), 0);
}

/// A journal is emptied by whoever writes it.
#[tokio::test]
async fn a_gate_empties_its_journal_when_another_process_has_purged() {
    let home = Home::in_folder();
    let (store, _) = begun(&home).await;
    write(&store, 4..=9).await;
    assert_eq!(store.follow_purges().await, Ok(()));
    let before = bytes(&home.dir());
    assert!(before > 0, "nothing was purged");
    let other = home.open().await;
    other.purge(other.beyond(2).await.unwrap().unwrap()).await.unwrap();
    assert_eq!(bytes(&home.dir()), before, "another one's journal");
    assert_eq!(store.follow_purges().await, Ok(()));
    assert_eq!(bytes(&home.dir()), 0);
    write(&store, 10..=11).await;
    assert_eq!(store.follow_purges().await, Ok(()));
    assert!(bytes(&home.dir()) > 0, "once is enough");
    let report = store.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.damage), (4, None));
}

#[tokio::test]
async fn a_closed_store_leaves_an_empty_journal() {
    let home = Home::in_folder();
    let (store, _) = begun(&home).await;
    write(&store, 4..=9).await;
    store.close().await;
    assert_eq!(bytes(&home.dir()), 0);
    assert_eq!(ids(&home.open().await).await, expected(1..=9));
}

/// More than a journal holds goes to the database at once; nobody waits for ever.
#[tokio::test]
async fn an_entry_that_is_too_long_for_the_journal_is_written_all_the_same() {
    let home = Home::in_folder();
    let (store, _) = begun(&home).await;
    let mut long = completed("4");
    long.call.args = serde_json::json!({"text": "x".repeat(5 << 20)});
    store.close_record(&closing(long)).await.unwrap();
    write(&store, 5..=6).await;
    assert_eq!(ids(&store).await, expected(1..=6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_and_readers_meet_in_one_sound_chain() {
    let home = Home::in_folder();
    let store = home.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..32_u32 {
        let store = store.clone();
        tasks.spawn(async move {
            for number in 0..50 {
                let id = writer * 1_000 + number;
                write(&store, [id]).await;
                let found = store.record(&format!("rec_{id}")).await.unwrap();
                assert!(number % 10 != 0 || found.is_some(), "{id} was acknowledged");
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(entries(&store).await, 1_600);
    assert!(store.commits() < 3_200);
}
