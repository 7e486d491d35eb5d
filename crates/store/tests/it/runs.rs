//! What runs have used up: changed whole or not at all, and known to every gate.

use std::time::Duration;

use model::{Code, Fault};
use toolgate_store::{Store, Turn};

use crate::home::Home;

async fn call(store: &Store, run: &str, most: u64) -> Result<(), Fault> {
    let change = move |turn: &mut Turn| {
        if turn.spending.calls >= most {
            return Err(Fault::new(Code::BudgetExceeded, "no more"));
        }
        turn.spending.calls += 1;
        turn.made = (turn.made.0 + 1, true);
        Ok(())
    };
    store.spend(run, Some("peek"), change).await
}

#[tokio::test]
async fn a_run_is_counted_across_stores_and_a_refusal_changes_nothing() {
    let home = Home::new();
    let (store, other_process) = (home.open().await, home.open().await);
    assert_eq!(store.spending("r").await.unwrap(), None);
    let began = home.clock.now();
    call(&store, "r", 2).await.unwrap();
    home.clock.advance(Duration::from_mins(1));
    call(&other_process, "r", 2).await.unwrap();
    assert_eq!(call(&store, "r", 2).await.unwrap_err().code, Code::BudgetExceeded);
    let spending = store.spending("r").await.unwrap().unwrap();
    assert_eq!((spending.calls, spending.began), (2, began));
    assert_eq!(store.spending("other").await.unwrap(), None);
    let seen = |turn: &mut Turn| {
        assert_eq!(turn.made, (2, true));
        Ok(())
    };
    store.spend("r", Some("peek"), seen).await.unwrap();
    let fresh = |turn: &mut Turn| {
        assert_eq!(turn.made, (0, false));
        Ok(())
    };
    store.spend("r", Some("put"), fresh).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_at_once_only_as_many_are_counted_as_may_be() {
    let home = Home::new();
    let (store, other_process) = (home.open().await, home.open().await);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..64 {
        let store = if number % 2 == 0 { store.clone() } else { other_process.clone() };
        calls.spawn(async move { call(&store, "r", 10).await.is_ok() });
    }
    let counted = calls.join_all().await.into_iter().filter(|counted| *counted).count();
    assert_eq!(counted, 10);
}

#[tokio::test]
async fn a_run_that_nobody_has_heard_of_for_long_is_forgotten() {
    let home = Home::new();
    let store = home.open().await;
    call(&store, "old", 9).await.unwrap();
    home.clock.advance(Duration::from_hours(29 * 24));
    call(&store, "young", 9).await.unwrap();
    home.clock.advance(Duration::from_hours(2 * 24));
    call(&store, "new", 9).await.unwrap();
    assert_eq!(store.spending("old").await.unwrap(), None);
    assert!(store.spending("young").await.unwrap().is_some());
    let forgotten = |turn: &mut Turn| {
        assert_eq!(turn.made, (0, false));
        Ok(())
    };
    store.spend("old", Some("peek"), forgotten).await.unwrap();
}
