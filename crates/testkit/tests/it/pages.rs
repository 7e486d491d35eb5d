//! Web pages at the gate: which of them may use an upstream, as its manifest says.

use gateway::CallRequest;
use model::{Caller, Code, Method, Origin};
use serde_json::{Value, json};
use toolgate_testkit::{Recorder, Script, TestGateway, World, capability, manifest_with};

use crate::resources::Library;

fn declared(capabilities: Vec<Value>, origins: &Value) -> Value {
    let transport = json!({"kind": "streamable_http", "origin_allowlist": origins});
    manifest_with(capabilities, json!({"transport": transport}))
}

fn from(origin: Option<&str>, request: CallRequest) -> CallRequest {
    let origin = origin.map(Origin::read);
    CallRequest { caller: Caller { origin, ..World::ann() }, ..request }
}

/// CO-64: a page that the manifest does not name gets nowhere near the upstream, and hears why; who
/// sends no origin is no page; an empty list restricts nobody.
#[tokio::test]
async fn only_pages_that_the_manifest_names_call_its_tools() {
    let check = async |origins: Value, origin: Option<&str>, expected: Option<Code>| {
        let recorder = Recorder::one("peek", Script::Echo);
        let peek = capability("shelf.peek", "peek", json!({}));
        let world = TestGateway::new()
            .upstream("shelf", recorder.clone())
            .manifest("shelf", declared(vec![peek], &origins))
            .start()
            .await;
        let request = || from(origin, World::request("peek", json!({})));
        let done = world.send(request()).await;
        assert_eq!(done.fault.map(|fault| fault.code), expected, "{origins} {origin:?}");
        assert_eq!(recorder.calls().len(), usize::from(expected.is_none()));
        let dry = Box::pin(world.gateway.rehearse(&request())).await;
        assert_eq!(dry.get().is_error, expected.is_some(), "a dry run: {origins} {origin:?}");
        if expected.is_some() {
            let record = world.last_record().await;
            let told = record.result.unwrap().summary;
            assert!(told.contains("`transport.origin_allowlist`"), "{told}");
        }
    };
    let listed = json!(["https://App.example", "https://other.example"]);
    let refused = Some(Code::PermissionDenied);
    check(listed.clone(), Some("https://app.example"), None).await;
    check(listed.clone(), Some("HTTPS://APP.EXAMPLE"), None).await;
    check(listed.clone(), Some("http://app.example"), refused).await;
    check(listed.clone(), Some("https://app.example.evil"), refused).await;
    check(listed.clone(), Some("null"), refused).await;
    check(listed.clone(), Some(""), refused).await;
    check(listed, None, None).await;
    check(json!([]), Some("https://evil.example"), None).await;
}

/// CO-64: resources and prompts of the upstream neither, nor news of them.
#[tokio::test]
async fn only_pages_that_the_manifest_names_read_and_prompt() {
    let world = TestGateway::new()
        .upstream("docs", Library)
        .manifest("docs", declared(vec![], &json!(["https://app.example"])))
        .start()
        .await;
    let check = async |origin: &str, method: Method, name: &str, expected: Option<Code>| {
        let request = CallRequest { method, ..World::request(name, json!({})) };
        let done = world.send(from(Some(origin), request)).await;
        assert_eq!(done.fault.map(|fault| fault.code), expected, "{origin} {name}");
    };
    let refused = Some(Code::PermissionDenied);
    for (method, name) in [(Method::ReadResource, "docs://policy/7"), (Method::GetPrompt, "greet")]
    {
        check("https://app.example", method.clone(), name, None).await;
        check("https://evil.example", method, name, refused).await;
    }
    let page = Caller { origin: Some(Origin::read("https://evil.example")), ..World::ann() };
    let followed = Box::pin(world.gateway.follow(&page, "docs://policy/7", true)).await;
    assert!(followed.is_err());
}
