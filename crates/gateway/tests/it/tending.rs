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
