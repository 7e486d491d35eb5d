//! Who follows a trace finds the call in it: what upstreams are told, and what a collector gets.

use std::time::Duration;

use auth::Credentials;
use gateway::CallRequest;
use model::trace::Trace;
use serde_json::{Value, json};
use toolgate_testkit::{Collector, Recorder, Script, TestGateway, World, capability, manifest};
use upstream::{Otlp, Spans};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn traced(name: &str, args: Value) -> CallRequest {
    let trace = Trace::read(&format!("00-{TRACE}-{PARENT}-01"));
    assert!(trace.is_some());
    CallRequest { trace, ..World::request(name, args) }
}

fn exporter(url: &str) -> Spans {
    Otlp::new(url, "gate-7", &Credentials::default()).unwrap().start()
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let all = span["attributes"].as_array()?;
    all.iter().find(|one| one["key"] == key)?.pointer("/value/stringValue")?.as_str()
}

/// CO-206: the trace goes on to the upstream, and our span is the parent there.
#[tokio::test]
async fn an_upstream_hears_of_the_trace_with_our_span_as_its_parent() {
    let recorder = Recorder::one("peek", Script::Echo);
    let world = TestGateway::new().upstream("shelf", recorder.clone()).start().await;
    world.send(traced("peek", json!({}))).await;
    let call = world.last_record().await.call;
    assert_eq!(call.trace_id.as_str(), TRACE);
    assert_eq!(call.parent_span_id.as_ref().map(AsRef::as_ref), Some(PARENT));
    let span_id = call.span_id();
    assert_eq!(recorder.calls()[0].traceparent, Some(format!("00-{TRACE}-{span_id}-01")));
    assert!(call.call_id.as_str().ends_with(span_id.as_str()));
}

/// Where nobody follows the trace, an upstream is told nothing new.
#[tokio::test]
async fn an_upstream_hears_of_no_trace_that_nobody_follows() {
    let recorder = Recorder::one("peek", Script::Echo);
    let world = TestGateway::new().upstream("shelf", recorder.clone()).start().await;
    world.call("peek", json!({})).await;
    assert_eq!(recorder.calls()[0].traceparent, None);
}

/// CO-206: span attributes, `policy_decision_id` and the id of the call; CO-52: a span for each call
/// with the decision, the evidence and the latency, and what was asked or answered in none of them.
#[tokio::test]
async fn a_collector_gets_one_span_for_each_call() {
    let collector = Collector::start().await;
    let recorder = Recorder::one("peek", Script::Echo);
    let binding = capability("shelf.peek", "peek", json!({"evidence_keys": ["number"]}));
    let world = TestGateway::new()
        .upstream("shelf", recorder.clone())
        .manifest("shelf", manifest([binding]))
        .settings(|settings| settings.spans = Some(exporter(&collector.url)))
        .start()
        .await;
    world.send(traced("peek", json!({"number": 41, "note": "zanzibar"}))).await;
    let record = world.last_record().await;
    world.gateway.close(Duration::from_secs(5)).await;
    let [span] = collector.spans().try_into().unwrap();
    let check = |key: &str, expected: Option<&str>| {
        assert_eq!(attribute(&span, key), expected, "{key} in {span:#}");
    };
    assert_eq!(span["traceId"], TRACE);
    assert_eq!(span["parentSpanId"], PARENT);
    assert_eq!(span["spanId"], record.call.span_id().as_str());
    assert_eq!(span["name"], "tools/call peek");
    assert_eq!(span["startTimeUnixNano"], format!("{}000000", record.opened_at.as_millis()));
    check("gen_ai.tool.call.id", Some(record.call.call_id.as_str()));
    check("gen_ai.tool.name", Some("peek"));
    check("toolgate.record_id", Some(record.record_id.as_str()));
    check("toolgate.upstream", Some("shelf"));
    check("toolgate.capability_id", Some("shelf.peek"));
    check("toolgate.principal", Some("user:ann"));
    check("toolgate.status", Some("completed"));
    check("toolgate.policy.action", Some("allow"));
    let decision = record.call.policy_decision_id.as_ref().map(AsRef::as_ref);
    assert!(decision.is_some());
    check("toolgate.policy_decision_id", decision);
    check("error.type", None);
    let text = span.to_string();
    let evidence = &record.result.unwrap().evidence[0].evidence_ref;
    assert!(text.contains(evidence.as_str()) && text.contains("toolgate.latency_ms"), "{text}");
    assert!(!text.contains("zanzibar"), "an argument left with the span: {text}");
    let service = "/resourceSpans/0/resource/attributes/0/value/stringValue";
    assert_eq!(collector.requests()[0].pointer(service).unwrap(), "gate-7");
}

#[tokio::test]
async fn a_refusal_is_a_span_with_an_error() {
    let collector = Collector::start().await;
    let world = TestGateway::new()
        .upstream("shelf", Recorder::one("peek", Script::Echo))
        .settings(|settings| settings.spans = Some(exporter(&collector.url)))
        .start()
        .await;
    world.call("no-such-tool", json!({})).await;
    world.gateway.close(Duration::from_secs(5)).await;
    let [span] = collector.spans().try_into().unwrap();
    assert_eq!(span["status"]["code"], 2, "{span:#}");
    assert_eq!(attribute(&span, "error.type"), Some("TOOL_NOT_FOUND"));
}

#[tokio::test]
async fn calls_go_on_without_their_collector() {
    let gone = Collector::start().await.url.clone();
    let world = TestGateway::new()
        .upstream("shelf", Recorder::one("peek", Script::Echo))
        .settings(|settings| settings.spans = Some(exporter(&gone)))
        .start()
        .await;
    let done = world.call("peek", json!({})).await;
    assert!(done.fault.is_none(), "{done:?}");
    world.gateway.close(Duration::from_secs(5)).await;
}

#[test]
fn a_collector_needs_an_address() {
    let check = |url: &str, good: bool| {
        assert_eq!(Otlp::new(url, "x", &Credentials::default()).is_ok(), good, "{url}");
    };
    check("http://127.0.0.1:4318", true);
    check("https://collector.example/v1/traces", true);
    check("127.0.0.1:4318", false);
    check("ftp://collector.example", false);
    check("", false);
}

/// CO-89: the names of spans begin as the manifest of their upstream says.
#[tokio::test]
async fn a_manifest_says_how_the_names_of_spans_begin() {
    let collector = Collector::start().await;
    let mut contract = manifest([capability("shelf.peek", "peek", json!({"class": "observe"}))]);
    contract["observability"] = json!({"span_name_prefix": "shelves."});
    let spans = exporter(&collector.url);
    let world = TestGateway::new()
        .upstream("shelf", Recorder::one("peek", Script::Echo))
        .manifest("shelf", contract)
        .settings(move |settings| settings.spans = Some(spans))
        .start()
        .await;
    world.call("peek", json!({})).await;
    world.gateway.close(Duration::from_secs(5)).await;
    let [span] = collector.spans().try_into().unwrap();
    assert_eq!(span["name"], "shelves. tools/call peek");
}
