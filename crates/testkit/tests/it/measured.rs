//! What is measured of each call, where its manifest lists it.

use std::time::Duration;

use auth::Credentials;
use model::{Code, Fault};
use serde_json::{Value, json};
use toolgate_testkit::{
    Collector, Recorder, Rest, Script, TestGateway, World, capability, manifest_with,
};
use upstream::Otlp;
use upstream::openapi::OpenApi;

const ALL: [&str; 4] = ["latency_ms", "retry_count", "upstream_status", "cost_cents"];

fn declared(metrics: &[&str]) -> Value {
    let retry = json!({"retry": {"max_attempts": 2, "codes": ["UPSTREAM_TIMEOUT"], "base_ms": 1}});
    let peek = capability("shelf.peek", "peek", retry);
    manifest_with([peek], json!({"observability": {"metrics": metrics}}))
}

fn gate(script: Script, metrics: &[&str]) -> TestGateway {
    TestGateway::new()
        .upstream("shelf", Recorder::one("peek", script))
        .manifest("shelf", declared(metrics))
        .settings(|settings| settings.runs.costs = vec![("*/peek".to_owned(), 7)])
}

async fn measured(world: &World) -> Value {
    world.call("peek", json!({})).await;
    serde_json::to_value(world.last_record().await.result.unwrap().metrics).unwrap()
}

/// CO-90: the four are on the record of each call, and only those that are listed.
#[tokio::test]
async fn listed_metrics_are_on_the_record() {
    let check = async |script: Script, metrics: &[&str], expected: [Value; 3]| {
        let world = gate(script, metrics).start().await;
        let found = measured(&world).await;
        let of = |key: &str| found.get(key).cloned().unwrap_or_default();
        assert!(of("latency_ms").is_u64());
        let found = [of("retry_count"), of("upstream_status"), of("cost_cents")];
        assert_eq!(found, expected, "{metrics:?}");
    };
    check(Script::Echo, &ALL, [json!(0), json!("ok"), json!(7)]).await;
    check(Script::Echo, &["cost_cents"], [json!(0), Value::Null, json!(7)]).await;
    check(Script::Echo, &[], [json!(0), Value::Null, Value::Null]).await;
    let timeout = Script::Fault(Fault::new(Code::UpstreamTimeout, "too slow"));
    check(timeout, &ALL, [json!(1), json!("timeout"), json!(7)]).await;
}

/// CO-90: what nobody states is absent, and so is what never reached the upstream.
#[tokio::test]
async fn what_is_not_known_is_not_told() {
    let free = gate(Script::Echo, &ALL).settings(|settings| settings.runs.costs.clear());
    let world = free.start().await;
    assert_eq!(measured(&world).await.get("cost_cents"), None);
    let refused = gate(Script::Echo, &ALL).settings(|settings| settings.calls_per_minute = 0);
    let world = refused.start().await;
    let found = measured(&world).await;
    assert_eq!((found.get("cost_cents"), found.get("upstream_status")), (None, None), "{found}");
}

/// CO-90: a service over HTTP is told by its status.
#[tokio::test]
async fn a_service_has_its_status() {
    let service = Rest::start().await;
    let connector = OpenApi::new(service.document(), Some(&service.base), Credentials::default());
    let declared = manifest_with([], json!({"observability": {"metrics": ALL}}));
    let world = TestGateway::new()
        .upstream("rest", connector.unwrap())
        .manifest("rest", declared)
        .start()
        .await;
    let check = async |tool: &str, number: u16, expected: &str| {
        world.call(tool, json!({"number": number})).await;
        let status = world.last_record().await.result.unwrap().metrics.upstream_status;
        assert_eq!(status.as_deref(), Some(expected), "{tool} {number}");
    };
    check("shelf_get", 1, "200").await;
    check("shelf_get", 2, "404").await;
    check("shelf_put", 202, "202").await;
    check("shelf_put", 503, "503").await;
}

/// CO-90: the same four are attributes of the call's span.
#[tokio::test]
async fn listed_metrics_are_on_the_span() {
    let collector = Collector::start().await;
    let spans = Otlp::new(&collector.url, "gate-7", &Credentials::default()).unwrap().start();
    let world = gate(Script::Echo, &ALL).settings(|settings| settings.spans = Some(spans));
    let world = world.start().await;
    world.call("peek", json!({})).await;
    world.gateway.close(Duration::from_secs(5)).await;
    let [span] = collector.spans().try_into().unwrap();
    let all = span["attributes"].as_array().unwrap();
    let value = |key: &str| {
        let key = format!("toolgate.{key}");
        all.iter().find(|one| one["key"] == key.as_str()).map(|one| one["value"].clone())
    };
    assert!(ALL.iter().all(|key| value(key).is_some()), "{span:#}");
    assert_eq!(value("upstream_status"), Some(json!({"stringValue": "ok"})));
    assert_eq!(value("cost_cents"), Some(json!({"intValue": "7"})));
    assert_eq!(value("retry_count"), Some(json!({"intValue": "0"})));
}
