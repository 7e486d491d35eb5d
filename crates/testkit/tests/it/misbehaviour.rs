//! Upstreams that do what none should do harm only themselves.

use gateway::{CallRequest, Mode};
use model::Code;
use serde_json::json;
use toolgate_testkit::{Misbehaving, Recorder, Script, TestGateway, World};

use crate::{code, up_to};

#[tokio::test]
async fn an_upstream_that_will_not_list_leaves_the_others_alone() {
    let world = TestGateway::new()
        .upstream("bad", Misbehaving::WontList)
        .upstream("good", Recorder::one("peek", Script::Echo))
        .start()
        .await;
    assert_eq!(world.refreshed.tools, 1);
    let (name, fault) = &world.refreshed.failures[0];
    assert_eq!((name.as_str(), fault.code), ("bad", Code::UpstreamUnavailable));
    assert_eq!(code(&world.call("peek", json!({})).await), None);
}

#[tokio::test]
async fn nonsense_is_left_out_and_a_broken_schema_is_held_back() {
    let gate = TestGateway::new().upstream("bad", Misbehaving::ListsNonsense);
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    let menu = world.gateway.menu(&World::ann());
    let names: Vec<_> = menu.get().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["sound"]);
    assert_eq!(code(&world.call("sound", json!({})).await), None);
    let done = world.call("broken", json!({})).await;
    assert_eq!(code(&done), Some(Code::SchemaInvalid));
    assert_eq!(world.last_record().await.stages, up_to("resolve"));
}

/// CW-88: the upstream's own refusal is told as such.
#[tokio::test]
async fn a_tool_that_is_gone_by_the_time_it_is_called_is_the_upstreams_fault() {
    let world = TestGateway::new().upstream("bad", Misbehaving::ForgetsItsTools).start().await;
    let done = world.call("gone", json!({})).await;
    assert_eq!(code(&done), Some(Code::UpstreamError));
    assert_eq!(world.last_record().await.stages, up_to("invoke"));
    let again = CallRequest::new(World::ann(), "gone", json!({}));
    assert_eq!(code(&world.send(again).await), Some(Code::UpstreamError));
}
