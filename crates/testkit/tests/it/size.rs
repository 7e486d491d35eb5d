//! How much room a call under way takes. It is moved when it begins, so it must stay small.

use gateway::Watch;
use serde_json::json;
use toolgate_testkit::{TestGateway, World};

#[tokio::test]
async fn a_call_under_way_takes_little_room() {
    let world = TestGateway::new().start().await;
    let call = world.gateway.call(World::request("echo", json!({})), Watch::default());
    assert!(size_of_val(&call) <= 5_600, "{} bytes", size_of_val(&call));
}
