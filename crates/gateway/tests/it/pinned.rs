//! What a manifest pins of an upstream: one that departs from it is treated as one that drifted.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Mode;
use manifest::AdapterManifest;
use model::{Code, UpstreamName, canonical};
use serde_json::{Value, json};
use toolgate_gateway::{DriftRule, DriftRules};

use crate::world::{World, tool};

async fn world(otherwise: DriftRule) -> World {
    World::new(vec![tool("a"), tool("b")], |settings| {
        settings.mode = Mode::Native;
        settings.drift = DriftRules { otherwise, ..DriftRules::default() };
    })
    .await
}

fn manifest(extra: &Value) -> AdapterManifest {
    let capability = json!({
        "capability_id": "shelf.a", "tool": "a", "class": "observe", "approval_mode": "read_only",
    });
    let mut whole = json!({
        "adapter_id": "shelf", "name": "Shelf", "owner_role": "ops", "protocol": "mcp",
        "capabilities": [capability],
    });
    whole.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    manifest::from_value(whole).unwrap()
}

async fn declare(world: &World, manifest: AdapterManifest) {
    let shelf = UpstreamName::from_string("shelf");
    Box::pin(world.gateway.swap_manifests(BTreeMap::from([(shelf, Arc::new(manifest))]))).await;
}

async fn code(world: &World, tool: &str) -> Option<Code> {
    world.execute(tool, json!({"q": "x"})).await.fault.map(|fault| fault.code)
}

fn found(world: &World, rule: &str) -> usize {
    let catalogue = world.gateway.catalogue();
    catalogue.findings().iter().filter(|finding| finding.rule == rule).count()
}

/// CO-61: an upstream that negotiated another revision than its manifest pins is not called, until
/// either changes.
#[tokio::test]
async fn another_revision_than_the_pinned_one_is_held() {
    let check = async |rule: DriftRule, fault: Option<Code>, findings: usize| {
        let world = world(rule).await;
        world.shelf.speak("2025-06-18");
        world.refresh().await;
        declare(&world, manifest(&json!({"protocol_version": "2025-11-25"}))).await;
        assert_eq!(code(&world, "a").await, fault, "{rule:?}");
        assert_eq!(code(&world, "b").await, fault, "{rule:?}");
        assert_eq!(found(&world, "revision_differs"), findings, "{rule:?}");
        assert_eq!(world.shelf.calls(), if fault.is_some() { 0 } else { 2 });
        let message = world.execute("a", json!({"q": "x"})).await.fault.map(|fault| fault.message);
        assert!(message.is_none_or(|told| told.contains("`shelf` pins MCP 2025-11-25")));

        world.shelf.speak("2025-11-25");
        world.refresh().await;
        assert_eq!((code(&world, "a").await, found(&world, "revision_differs")), (None, 0));
    };
    check(DriftRule::Hold, Some(Code::CatalogueDrift), 1).await;
    check(DriftRule::Warn, None, 1).await;
    check(DriftRule::Ignore, None, 0).await;
}

/// CO-61: what is not stated pins nothing.
#[tokio::test]
async fn a_revision_that_nobody_stated_is_not_pinned() {
    let world = world(DriftRule::Hold).await;
    world.shelf.speak("2026-07-28");
    world.refresh().await;
    declare(&world, manifest(&json!({}))).await;
    assert_eq!(code(&world, "a").await, None);
}

/// CO-80, CO-81: a tool whose live schema has another hash than the pinned one is not called.
#[tokio::test]
async fn another_schema_than_the_pinned_one_is_held() {
    let check = async |rule: DriftRule, fault: Option<Code>, findings: usize| {
        let world = world(rule).await;
        let mut pinned = manifest(&json!({}));
        let hash = canonical::hash(&tool("a")["inputSchema"]);
        pinned.capabilities[0].schema_pins.input = Some(hash);
        declare(&world, pinned.clone()).await;
        assert_eq!((code(&world, "a").await, found(&world, "schema_differs")), (None, 0));

        pinned.capabilities[0].schema_pins.output = Some("0".repeat(64));
        declare(&world, pinned).await;
        assert_eq!(code(&world, "a").await, fault, "{rule:?}");
        assert_eq!(code(&world, "b").await, None, "only that tool");
        assert_eq!(found(&world, "schema_differs"), findings, "{rule:?}");
    };
    check(DriftRule::Hold, Some(Code::CatalogueDrift), 1).await;
    check(DriftRule::Warn, None, 1).await;
    check(DriftRule::Ignore, None, 0).await;
}
