//! Closing: refuse the new, finish the old, and at the deadline cut off what is left.

use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use gateway::Watch;
use model::{Answer, Code};
use serde_json::json;
use toolgate_testkit::{Recorder, Script, TestGateway, World};

use crate::code;

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_closed_gate_refuses_calls() {
    let recorder = Recorder::one("peek", Script::Echo);
    let world = TestGateway::new().upstream("shelf", recorder.clone()).start().await;
    world.gateway.close(LONG).await;
    let done = world.call("peek", json!({})).await;
    assert_eq!(code(&done), Some(Code::ShuttingDown));
    assert!(done.fault.unwrap().retryable() && done.record_id.is_none());
    assert_eq!((recorder.count(), recorder.closings()), (0, 1));
}

#[tokio::test]
async fn a_running_call_finishes_while_new_ones_are_refused() {
    let recorder = Recorder::one("work", Script::Wait(Answer::text("done")));
    let world = TestGateway::new().upstream("desk", recorder.clone()).start().await;
    let running = world.spawn(World::request("work", json!({})), Watch::default());
    recorder.arrived().await;

    let mut closing = pin!(world.gateway.close(LONG));
    let mut context = Context::from_waker(Waker::noop());
    assert!(closing.as_mut().poll(&mut context).is_pending());
    assert_eq!(code(&world.call("work", json!({})).await), Some(Code::ShuttingDown));
    assert_eq!((recorder.count(), recorder.closings()), (1, 0));

    recorder.release();
    closing.await;
    let done = running.await.unwrap();
    assert_eq!((code(&done), done.cleared.get()), (None, &Answer::text("done")));
    assert_eq!((recorder.lost().len(), recorder.closings()), (0, 1));
}

#[tokio::test]
async fn a_call_that_will_not_end_is_cut_off_at_the_deadline() {
    let recorder = Recorder::one("work", Script::Hang);
    let world = TestGateway::new().upstream("desk", recorder.clone()).start().await;
    let running = world.spawn(World::request("work", json!({})), Watch::default());
    let seen = recorder.arrived().await;
    world.gateway.close(Duration::ZERO).await;
    let done = running.await.unwrap();
    assert_eq!(code(&done), Some(Code::Cancelled));
    assert!(done.fault.unwrap().indeterminate, "an undeclared tool may have written");
    assert_eq!(recorder.lost(), [seen.call_id]);
    assert!(done.result.is_some(), "the record was closed before the store was");
}
