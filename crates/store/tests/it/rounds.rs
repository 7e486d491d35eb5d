//! Rounds and tasks: found by whom they belong to, on any gate of the same database.

use std::time::Duration;

use toolgate_store::{RoundRow, TaskRow};

use crate::home::Home;

const KEPT: Duration = Duration::from_mins(5);

fn round(id: &str) -> RoundRow {
    RoundRow {
        round_id: id.to_owned(),
        principal: "ann".to_owned(),
        bound_to: "this".to_owned(),
        body: "theirs".to_owned(),
    }
}

fn task(principal: &str, body: &str) -> TaskRow {
    TaskRow { task_id: "t1".to_owned(), principal: principal.to_owned(), body: body.to_owned() }
}

#[tokio::test]
async fn a_round_is_its_callers_and_its_requests_in_its_time() {
    let home = Home::new();
    let store = home.open().await;
    store.keep_round(round("r1"), KEPT).await.unwrap();
    let check = async |id: &str, who: &str, what: &str, wanted: bool| {
        let found = store.round(id, who, what).await.unwrap();
        assert_eq!(found.is_some(), wanted, "{id} {who} {what}");
    };
    check("r1", "ann", "this", true).await;
    check("r1", "bob", "this", false).await;
    check("r1", "ann", "that", false).await;
    check("r2", "ann", "this", false).await;
    home.clock.advance(KEPT);
    check("r1", "ann", "this", false).await;
    assert_eq!(store.take_round("r1", "ann", "this").await.unwrap(), None);
}

#[tokio::test]
async fn a_round_is_taken_once() {
    let home = Home::new();
    let store = home.open().await;
    store.keep_round(round("r1"), KEPT).await.unwrap();
    assert_eq!(store.take_round("r1", "bob", "this").await.unwrap(), None);
    let taking = (0..8).map(|_| store.take_round("r1", "ann", "this"));
    let mut taken = Vec::new();
    for take in taking {
        taken.extend(take.await.unwrap());
    }
    assert_eq!(taken, ["theirs"]);
}

#[tokio::test]
async fn a_task_is_its_owners_and_outlives_the_process() {
    let home = Home::new();
    let store = home.open().await;
    store.keep_task(task("ann", "hers"), KEPT).await.unwrap();
    store.keep_task(task("bob", "his"), KEPT).await.unwrap();
    store.close().await;
    let store = home.open().await;
    assert_eq!(store.task("t1", "ann").await.unwrap(), Some(("hers".to_owned(), None)));
    assert_eq!(store.task("t1", "bob").await.unwrap(), Some(("his".to_owned(), None)));
    assert_eq!(store.task("t1", "eve").await.unwrap(), None);
    assert_eq!(store.tasks_of("ann", 9).await.unwrap(), ["t1"]);
    assert!(store.tasks_of("eve", 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_task_ends_once_and_begins_anew_under_an_old_name() {
    let home = Home::new();
    let store = home.open().await;
    store.keep_task(task("ann", "first"), KEPT).await.unwrap();
    let end = async |how: &str| store.end_task("t1", "ann", how).await.unwrap().unwrap();
    assert_eq!(end("cancelled").await, "cancelled");
    assert_eq!(end("completed").await, "cancelled");
    assert_eq!(store.end_task("t1", "eve", "failed").await.unwrap(), None);
    store.keep_task(task("ann", "second"), KEPT).await.unwrap();
    assert_eq!(store.task("t1", "ann").await.unwrap(), Some(("second".to_owned(), None)));
}

#[tokio::test]
async fn a_task_of_long_ago_is_forgotten() {
    let home = Home::new();
    let store = home.open().await;
    store.keep_task(task("ann", "old"), KEPT).await.unwrap();
    home.clock.advance(KEPT + Duration::from_millis(1));
    store.keep_task(task("bob", "new"), KEPT).await.unwrap();
    assert_eq!(store.task("t1", "ann").await.unwrap(), None);
    assert!(store.task("t1", "bob").await.unwrap().is_some());
}
