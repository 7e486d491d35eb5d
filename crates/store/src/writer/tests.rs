//! What the writer promises when items or the database fail.

use std::time::Duration;

use model::Code;

use super::*;
use crate::{Config, Store, folder};

/// Any statement as an item.
pub(super) struct Raw(pub(super) &'static str);

impl Write for Raw {
    type Done = ();
    const UNWRITTEN: &'static str = "raw could not be written";

    async fn write(&self, connection: &mut Connection, _now: Timestamp) -> Result<(), WriteError> {
        sqlx::query(self.0).execute(connection).await?;
        Ok(())
    }
}

/// Writes, and then refuses itself.
struct Regret;

impl Write for Regret {
    type Done = ();
    const UNWRITTEN: &'static str = "regret could not be written";

    async fn write(&self, connection: &mut Connection, now: Timestamp) -> Result<(), WriteError> {
        Raw("INSERT INTO notes VALUES ('regret')").write(connection, now).await?;
        Err(Fault::new(Code::PolicyDenied, "on second thoughts").into())
    }
}

async fn store_with_notes() -> (tempfile::TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    let config = Config::folder(home.path().join("data"));
    let store = Store::open(&config, Clock::System).await.unwrap();
    store.write(Raw("CREATE TABLE notes (text TEXT)")).await.unwrap();
    (home, store)
}

async fn notes(store: &Store) -> Vec<String> {
    let mut reader = store.reader().await.unwrap();
    let notes = sqlx::query_scalar("SELECT text FROM notes ORDER BY text");
    notes.fetch_all(&mut *reader).await.unwrap()
}

/// One commit for all, however many wait; what a commit costs is then paid once.
#[tokio::test]
async fn those_who_wait_share_a_commit() {
    let (_home, store) = store_with_notes().await;
    let before = store.commits();
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let store = store.clone();
        waiting.spawn(async move { store.write(Raw("INSERT INTO notes VALUES ('x')")).await });
    }
    waiting.join_all().await.into_iter().for_each(|written| written.unwrap());
    assert_eq!((notes(&store).await.len(), store.commits() - before), (32, 1));
}

/// What is in the batch if one item is there and another comes after each of these waits.
async fn gathered(expected: usize, waits: &[Duration]) -> usize {
    let item = || -> Box<dyn Item> { Box::new(Waiting::new(Raw(""), oneshot::channel().0)) };
    let inbox = Inbox::default();
    assert!(inbox.put(item()).await.is_ok());
    let coming = async {
        for wait in waits {
            // The clock stands still until nobody has anything else to do.
            drop(tokio::time::timeout(*wait, std::future::pending::<()>()).await);
            assert!(inbox.put(item()).await.is_ok());
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = coming => 0,
        more = inbox.gather(expected, None) => {
            assert!(more);
            inbox.len()
        }
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_are_expected_are_waited_for_as_long_as_some_come() {
    let (soon, late) = (limits::GATHER_WAIT, limits::GATHER_WAIT * 5);
    assert_eq!(gathered(1, &[soon]).await, 1, "a lone caller never waits");
    assert_eq!(gathered(2, &[late]).await, 1);
    assert_eq!(gathered(3, &[soon; 5]).await, 3, "no more than are expected");
    let many = gathered(limits::GATHER_MAX, &[soon; limits::GATHER_MAX]).await;
    assert!(many > 2 && many < limits::GATHER_MAX, "not for ever: {many}");
}

#[tokio::test]
async fn a_failing_item_does_not_fail_its_neighbours() {
    let (_home, store) = store_with_notes().await;
    // One poll queues all four, so that they meet in one batch.
    let (first, broken, refused, last) = tokio::join!(
        store.write(Raw("INSERT INTO notes VALUES ('first')")),
        store.write(Raw("INSERT INTO nowhere VALUES (1)")),
        store.write(Regret),
        store.write(Raw("INSERT INTO notes VALUES ('last')")),
    );
    first.unwrap();
    last.unwrap();
    let broken = broken.unwrap_err();
    assert_eq!(
        (broken.code, broken.message.as_str()),
        (Code::StoreUnavailable, "raw could not be written")
    );
    assert!(broken.log.unwrap().contains("no such table"));
    assert_eq!(refused.unwrap_err().code, Code::PolicyDenied);
    assert_eq!(notes(&store).await, ["first", "last"]);
}

/// Fails to be written in a way that nobody has foreseen.
struct Bug;

impl Write for Bug {
    type Done = ();
    const UNWRITTEN: &'static str = "a bug could not be written";

    async fn write(&self, _: &mut Connection, _: Timestamp) -> Result<(), WriteError> {
        panic!("a bug, for the sake of the test");
    }
}

#[tokio::test]
async fn nobody_waits_for_a_writer_that_broke_off() {
    let (_home, store) = store_with_notes().await;
    // Those with it, those behind it, and those that come later.
    let (bug, behind) = tokio::join!(store.write(Bug), store.write(Raw("SELECT 1")));
    assert_eq!(bug.unwrap_err().code, Code::StoreUnavailable);
    assert_eq!(behind.unwrap_err().code, Code::StoreUnavailable);
    let later = store.write(Raw("SELECT 1")).await.unwrap_err();
    assert_eq!(later.code, Code::StoreUnavailable);
    store.close().await;
}

#[tokio::test]
async fn a_full_disk_is_told_and_later_writes_go_on() {
    let (_home, store) = store_with_notes().await;
    let big = Raw("PRAGMA max_page_count = 1; INSERT INTO notes VALUES (hex(zeroblob(1000000)))");
    let fault = store.write(big).await.unwrap_err();
    assert_eq!(fault.message, "raw could not be written");
    assert!(fault.log.unwrap().contains("full"));
    store.write(Raw("INSERT INTO notes VALUES ('small')")).await.unwrap();
    assert_eq!(notes(&store).await, ["small"]);
}

#[tokio::test]
async fn a_deleted_database_takes_no_more_writes() {
    let (home, store) = store_with_notes().await;
    std::fs::remove_file(home.path().join("data").join(folder::DATABASE)).unwrap();
    let fault = store.write(Raw("INSERT INTO notes VALUES ('lost')")).await.unwrap_err();
    assert!(fault.log.unwrap().contains("was removed or replaced"));
}

#[tokio::test]
async fn closing_finishes_what_is_queued_and_refuses_the_rest() {
    let (home, store) = store_with_notes().await;
    let (queued, ()) =
        tokio::join!(store.write(Raw("INSERT INTO notes VALUES ('queued')")), store.close());
    queued.unwrap();
    let fault = store.write(Raw("INSERT INTO notes VALUES ('late')")).await.unwrap_err();
    assert_eq!(fault.code, Code::StoreUnavailable);
    store.close().await;
    let log = home.path().join("data").join("toolgate.db-wal");
    assert!(!log.exists(), "the log was folded in");
}

#[tokio::test]
async fn readers_cannot_write() {
    let (_home, store) = store_with_notes().await;
    let mut reader = store.reader().await.unwrap();
    let error = sqlx::query("DELETE FROM notes").execute(&mut *reader).await.unwrap_err();
    assert!(error.to_string().contains("readonly"), "{error}");
}

#[tokio::test]
async fn connections_are_set_up_to_lose_nothing() {
    let (home, store) = store_with_notes().await;
    store.close().await;
    let mut database = Database::locate(&home.path().join("data"), None).unwrap();
    let mut connection = database.open().await.unwrap();
    let mut check = async |pragma: &'static str, expected: &str| {
        let row = sqlx::query(pragma).fetch_one(&mut connection).await.unwrap();
        let number = sqlx::Row::try_get::<i64, _>(&row, 0).map(|number| number.to_string());
        let text = number.or_else(|_| sqlx::Row::try_get::<String, _>(&row, 0)).unwrap();
        assert_eq!(text, expected, "{pragma}");
    };
    check("PRAGMA journal_mode", "wal").await;
    check("PRAGMA synchronous", "2").await;
    check("PRAGMA foreign_keys", "1").await;
    check("PRAGMA busy_timeout", "5000").await;
    let mut filer = database.filer().await.unwrap();
    let synchronous: i64 =
        sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut filer).await.unwrap();
    assert_eq!(synchronous, 2);
}
