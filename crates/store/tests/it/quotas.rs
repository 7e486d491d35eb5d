//! How long artifacts are kept, how many, and what is never removed.

use std::time::Duration;

use model::{Code, Fault};
use toolgate_store::{NewArtifact, Quotas, Store};

use crate::artifacts::{ALICE, artifact, files};
use crate::home::Home;

async fn opened(home: &Home, quotas: Quotas) -> Store {
    home.open_with(|config| config.quotas = quotas).await
}

async fn put(store: &Store, handle: &str, bytes: &'static [u8]) -> Result<(), Fault> {
    store.put_artifact(artifact(handle, "call_1", bytes)).await.map(drop)
}

async fn cite(store: &Store, handle: &str, bytes: &'static [u8]) -> Result<(), Fault> {
    let new = NewArtifact { cited: true, ..artifact(handle, "call_1", bytes) };
    store.put_artifact(new).await.map(drop)
}

/// The handles that lead somewhere.
async fn there(store: &Store, handles: &[&str]) -> String {
    let mut found = Vec::new();
    for handle in handles {
        if store.artifact(handle, ALICE).await.unwrap().is_some() {
            found.push(*handle);
        }
    }
    found.join(" ")
}

#[tokio::test]
async fn an_artifact_expires_and_its_bytes_go_with_the_next_sweep() {
    let home = Home::new();
    let ttl = Duration::from_mins(1);
    let store = opened(&home, Quotas { ttl, ..Quotas::default() }).await;
    put(&store, "a", b"one").await.unwrap();
    cite(&store, "c", b"cited").await.unwrap();
    home.clock.advance(Duration::from_millis(59_999));
    put(&store, "b", b"two").await.unwrap();
    assert_eq!(there(&store, &["a", "b", "c"]).await, "a b c");
    home.clock.advance(Duration::from_millis(1));
    assert_eq!(there(&store, &["a", "b", "c"]).await, "b c");
    assert_eq!(files(&home).len(), 3);
    assert_eq!(store.sweep_artifacts().await, Ok(1));
    assert_eq!(files(&home).len(), 2);
    assert_eq!(store.sweep_artifacts().await, Ok(0));
}

#[tokio::test]
async fn the_oldest_make_room_and_what_is_cited_stays() {
    let home = Home::new();
    let quotas = Quotas { bytes_max: 10, count_max: 3, ..Quotas::default() };
    let store = opened(&home, quotas).await;
    let all = ["c", "a", "b", "d", "e"];
    cite(&store, "c", b"1234").await.unwrap();
    put(&store, "a", b"12").await.unwrap();
    put(&store, "b", b"34").await.unwrap();
    assert_eq!(there(&store, &all).await, "c a b");
    put(&store, "d", b"56").await.unwrap();
    assert_eq!(there(&store, &all).await, "c b d", "one too many");
    put(&store, "e", b"123456").await.unwrap();
    assert_eq!(there(&store, &all).await, "c e", "bytes too many");
    assert_eq!(files(&home).len(), 2);
}

#[tokio::test]
async fn bytes_shared_with_another_handle_outlive_the_first() {
    let home = Home::new();
    let store = opened(&home, Quotas { count_max: 2, ..Quotas::default() }).await;
    put(&store, "a", b"same").await.unwrap();
    put(&store, "b", b"same").await.unwrap();
    put(&store, "c", b"other").await.unwrap();
    assert_eq!(there(&store, &["a", "b", "c"]).await, "b c");
    assert_eq!(files(&home).len(), 2);
}

#[tokio::test]
async fn what_leaves_no_room_is_refused_and_leaves_nothing() {
    let home = Home::new();
    let store = opened(&home, Quotas { bytes_max: 10, ..Quotas::default() }).await;
    let check = |refused: Result<(), Fault>, words: &str| {
        let fault = refused.unwrap_err();
        assert_eq!(fault.code, Code::BudgetExceeded);
        assert!(fault.message.contains(words), "{fault}");
    };
    check(put(&store, "big", b"12345678901").await, "has 11 bytes");
    cite(&store, "c", b"12345678").await.unwrap();
    put(&store, "a", b"12").await.unwrap();
    check(put(&store, "b", b"345").await, "records cite so much");
    assert_eq!(there(&store, &["a", "b", "c", "big"]).await, "a c");
    assert_eq!(files(&home).len(), 2);
}

/// Writers and sweepers at once: whatever a handle leads to can be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_bytes_are_removed_while_their_row_is_written() {
    let home = Home::new();
    let store = opened(&home, Quotas { count_max: 2, ..Quotas::default() }).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = store.clone();
        // Three different contents, so that removing and writing the same one meet.
        let bytes = [b"a".as_slice(), b"b", b"c"][number % 3];
        tasks.spawn(async move {
            let handle = format!("art_{number}");
            put(&store, &handle, bytes).await.unwrap();
            store.artifact(&handle, ALICE).await.unwrap();
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let handles: Vec<String> = (0..40).map(|number| format!("art_{number}")).collect();
    let handles: Vec<&str> = handles.iter().map(String::as_str).collect();
    assert_eq!(there(&store, &handles).await.split(' ').count(), 2);
}
