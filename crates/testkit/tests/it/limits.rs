//! CO-40: idempotency, timeout, rate and egress, each refusing on its own.

use std::time::Duration;

use auth::Credentials;
use gateway::{CallRequest, Watch};
use model::{Code, Principal, limits};
use serde_json::json;
use toolgate_testkit::{
    McpHttp, Recorder, Script, Style, TestGateway, World, capability, manifest,
};
use upstream::http::Http;
use upstream::mcp::Age;

use crate::{code, refused, up_to};

/// CO-40, CO-84: a call that must have a key has one or is not made, and no human is bothered.
#[tokio::test]
async fn a_call_without_its_key_is_refused() {
    let recorder = Recorder::one("pay", Script::Echo);
    let binding = json!({"class": "act", "idempotency": {"required": true, "arg": "key"}});
    let world = TestGateway::new()
        .upstream("bank", recorder.clone())
        .manifest("bank", manifest([capability("bank.pay", "pay", binding)]))
        .start()
        .await;
    let request = World::request("pay", json!({}));
    assert_eq!(code(&world.send(request).await), Some(Code::IdempotencyMissing));
    assert_eq!(recorder.count(), 0);
    let stages = world.last_record().await.stages;
    assert_eq!(stages, [up_to("policy"), &["idempotency"][..]].concat());
    assert_eq!(code(&world.call("pay", json!({"key": "k1"})).await), None);
}

/// CO-40: the shortest patience of caller, manifest and upstream counts; where the upstream has none,
/// the gate's.
#[tokio::test]
async fn the_shortest_timeout_counts() {
    type Ms = Option<u64>;
    let check = async |asked: Ms, declared: Ms, [upstream, tool]: [Ms; 2], wanted: Duration| {
        let recorder = Recorder::one("peek", Script::Echo);
        let limits = declared.map_or(json!({}), |ms| json!({"timeout_ms": ms}));
        let world = TestGateway::new()
            .upstream("shelf", recorder.clone())
            .manifest(
                "shelf",
                manifest([capability("shelf.peek", "peek", json!({"limits": limits}))]),
            )
            .member("shelf", |member| {
                let own = tool.map(|ms| ("peek".to_owned(), Duration::from_millis(ms)));
                member.timeout = upstream.map(Duration::from_millis);
                member.tool_timeouts = own.into_iter().collect();
            })
            .start()
            .await;
        let request = World::request("peek", json!({}));
        let done =
            world.send(CallRequest { timeout: asked.map(Duration::from_millis), ..request }).await;
        assert_eq!(code(&done), None);
        assert_eq!(recorder.calls()[0].timeout, wanted);
        let call = world.last_record().await.call;
        assert_eq!(call.deadline, call.started_at.after(wanted));
    };
    let none = [None; 2];
    check(None, None, none, limits::CALL_TIMEOUT_DEFAULT).await;
    check(Some(7_000), None, none, Duration::from_secs(7)).await;
    check(Some(7_000), Some(5_000), none, Duration::from_secs(5)).await;
    check(Some(7_000_000), Some(5_000_000), none, limits::CALL_TIMEOUT_DEFAULT).await;
    check(Some(7_000), Some(5_000), [Some(3_000), None], Duration::from_secs(3)).await;
    check(Some(7_000), None, [Some(9_000_000), None], Duration::from_secs(7)).await;
    check(None, None, [Some(9_000_000), None], Duration::from_hours(2) + Duration::from_mins(30))
        .await;
    check(None, None, [Some(3_000), Some(2_000)], Duration::from_secs(2)).await;
    check(None, None, [Some(3_000), Some(4_000)], Duration::from_secs(4)).await;
}

/// A manifest bounds how often a tool is called in one session, and how long its answer may be.
#[tokio::test]
async fn a_session_and_an_answer_are_bounded_as_the_manifest_says() {
    let gate = async |limits: serde_json::Value| {
        let recorder = Recorder::one("peek", Script::Echo);
        let binding = capability("shelf.peek", "peek", json!({"limits": limits}));
        let gate = TestGateway::new().upstream("shelf", recorder.clone());
        (recorder, gate.manifest("shelf", manifest([binding])).start().await)
    };
    let (recorder, world) = gate(json!({"per_session": 2})).await;
    let within = |session: &str| {
        let mut request = World::request("peek", json!({}));
        request.caller.session = Some(model::SessionId::from_string(session));
        request
    };
    for _ in 0..2 {
        assert_eq!(code(&world.send(within("one")).await), None);
    }
    refused(&world, &recorder, within("one"), Code::BudgetExceeded, "limits").await;
    assert_eq!(code(&world.send(within("two")).await), None);

    let (_, world) = gate(json!({"max_result_bytes": 200})).await;
    assert_eq!(code(&world.call("peek", json!({"a": "b"})).await), None);
    let long = world.call("peek", json!({"a": "b".repeat(200)})).await;
    assert_eq!(code(&long), Some(Code::OutputInvalid));
}

/// CO-40: no answer in time is a fault of its own, and a read may be sent again.
#[tokio::test]
async fn a_call_that_outlasts_its_time_ends_as_a_timeout() {
    let recorder = Recorder::one("sleep", Script::Hang);
    let binding = json!({"limits": {"timeout_ms": 1}});
    let world = TestGateway::new()
        .upstream("shelf", recorder.clone())
        .manifest("shelf", manifest([capability("shelf.sleep", "sleep", binding)]))
        .start()
        .await;
    let done = world.call("sleep", json!({})).await;
    assert_eq!(code(&done), Some(Code::UpstreamTimeout));
    assert!(done.fault.unwrap().retryable());
    assert_eq!(recorder.lost().len(), 1);
    assert_eq!(world.last_record().await.stages.last().unwrap(), "invoke");
}

/// CO-40: the call too many within a minute waits; other people do not.
#[tokio::test]
async fn the_call_too_many_is_refused_until_the_minute_is_over() {
    let recorder = Recorder::one("peek", Script::Echo);
    let binding = json!({"limits": {"per_minute": 2}});
    let world = TestGateway::new()
        .upstream("shelf", recorder.clone())
        .manifest("shelf", manifest([capability("shelf.peek", "peek", binding)]))
        .start()
        .await;
    for _ in 0..2 {
        assert_eq!(code(&world.call("peek", json!({})).await), None);
    }
    let request = World::request("peek", json!({}));
    let (done, _) = refused(&world, &recorder, request, Code::RateLimited, "limits").await;
    assert_eq!(done.fault.unwrap().details["retry_after_ms"], 60_000);
    let bob = world.call_as(Principal::user("bob"), "peek", json!({})).await;
    assert_eq!(code(&bob), None);
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(code(&world.call("peek", json!({})).await), None);
}

#[tokio::test]
async fn one_call_more_than_may_run_at_once_is_refused() {
    let recorder = Recorder::one("sleep", Script::Wait(model::Answer::text("awake")));
    let gate = TestGateway::new().upstream("shelf", recorder.clone());
    let world = gate.settings(|settings| settings.calls_in_flight = 1).start().await;
    let running = world.spawn(World::request("sleep", json!({})), Watch::default());
    recorder.arrived().await;
    let request = World::request("sleep", json!({}));
    refused(&world, &recorder, request, Code::RateLimited, "limits").await;
    recorder.release();
    assert_eq!(code(&running.await.unwrap()), None);
    assert_eq!(code(&world.call("sleep", json!({})).await), None);
}

/// CO-40: a host the operator did not name is not reached, whatever the upstream speaks.
#[tokio::test]
async fn a_host_outside_the_allowed_ones_is_not_reached() {
    let server = McpHttp::start(Style::Json).await;
    let http = Http::new(&server.url, &Credentials::default(), Age::Auto).unwrap();
    let recorder = Recorder::one("peek", Script::Echo).at_host("api.example.com");
    let world = TestGateway::new()
        .upstream("far", http)
        .upstream("near", recorder.clone())
        .settings(|settings| settings.egress_allow = Some(vec!["*.example.com".to_owned()]))
        .start()
        .await;
    let request = World::request("mcp__far__echo", json!({}));
    let (_, record) = refused(&world, &recorder, request, Code::EgressDenied, "limits").await;
    assert_eq!(record.status, model::RecordStatus::Denied);
    assert_eq!(server.count("tools/call"), 0);
    assert_eq!(code(&world.call("mcp__near__peek", json!({})).await), None);
}
