//! Upstreams looked after while the gate runs.

use std::time::Duration;

use catalog::Mode;

use crate::world::{World, tool};

/// What is listed at the start holds no longer than what is listed later.
#[tokio::test(start_paused = true)]
async fn a_list_is_asked_for_again_when_its_time_is_up_from_the_start_on() {
    let world = World::new(vec![tool("a")], |settings| settings.mode = Mode::Native).await;
    world.shelf.holds_for(Duration::from_mins(1));
    world.refresh().await;
    world.shelf.put(vec![tool("a"), tool("b")]);
    let mut changes = world.gateway.changes();
    tokio::select! {
        () = world.gateway.watch() => panic!("nobody looks after it"),
        change = changes.recv() => drop(change.unwrap()),
    }
    assert_eq!(world.names(), ["a", "b"]);
}

/// What is at work for the store is let finish, and may write to the end.
#[tokio::test]
async fn a_gate_that_closes_waits_for_who_looks_after_its_store() {
    let world = World::new(vec![tool("a")], |_| ()).await;
    let shift = world.gateway.shift();
    let noted = async || world.gateway.note("gate/test", serde_json::json!({})).await;
    let mut closing = std::pin::pin!(world.gateway.close(Duration::ZERO));
    tokio::select! {
        biased;
        () = &mut closing => panic!("somebody is at work"),
        () = shift.ended() => {}
    }
    tokio::select! {
        biased;
        () = &mut closing => panic!("somebody is at work"),
        noted = noted() => drop(noted.unwrap()),
    }
    assert_eq!(shift.until_ended(std::future::pending::<()>()).await, None);
    drop(shift);
    closing.await;
    assert!(noted().await.is_err(), "the store is closed");
}
