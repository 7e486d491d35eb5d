//! What is shown and how a call is taught, mode by mode.

use catalog::menu::Doors;
use catalog::{Deed, Mode, Query};
use model::{Caller, Code, SessionId};
use serde_json::{Value, json};
use store::RecordFilter;
use toolgate_gateway::{CallRequest, Via};

use crate::world::{World, alice, tool};

fn many(count: usize) -> Vec<Value> {
    (0..count).map(|i| tool(&format!("tool_number_{i}"))).collect()
}

#[tokio::test]
async fn auto_is_native_below_the_threshold_and_gateway_above() {
    let auto = |settings: &mut toolgate_gateway::Settings| {
        settings.mode = Mode::Gateway;
        settings.native_up_to_tokens = Some(1_000);
    };
    let world = World::new(many(3), auto).await;
    assert_eq!((world.gateway.mode(), world.names().len()), (Mode::Native, 3));
    assert!(world.gateway.choice().why.contains("tokens"));
    world.shelf.put(many(80));
    world.refresh().await;
    assert_eq!(world.gateway.mode(), Mode::Gateway);
    assert_eq!(world.names(), ["tool_browse", "tool_execute", "tool_view"]);
    assert_eq!(world.gateway.reading().mode, Mode::Gateway);
}

/// CW-75, CW-87, gateway-spec §6: every error, its place, and the schema; nothing reached the upstream.
#[tokio::test]
async fn wrong_arguments_come_back_with_all_errors_and_the_schema() {
    let world = World::new(vec![tool("a")], |_| ()).await;
    let done = world.execute("a", json!({"x": 1, "q": 2})).await;
    let fault = done.fault.unwrap();
    assert_eq!((fault.code, fault.violations.len()), (Code::ArgsInvalid, 2));
    let text = done.cleared.get().full_text();
    assert!(text.contains("/q") && text.contains("schema: {\"type\":\"object\""), "{text}");
    let structured = done.cleared.get().structured.clone().unwrap();
    assert_eq!(structured["details"]["schema"], tool("a")["inputSchema"]);
    assert_eq!(world.shelf.calls(), 0);
}

/// CW-75: of a schema too long to be sent whole, what was broken and what must be given is sent.
#[tokio::test]
async fn wrong_arguments_to_a_large_schema_come_back_with_what_they_need() {
    let kind = json!({"enum": ["gift", "letter"], "description": "What is in it."});
    let parcel = json!({"type": "object", "properties": {"kind": {"$ref": "#/$defs/kind"}}, "required": ["kind"]});
    let mut properties: serde_json::Map<String, Value> = (0..120)
        .map(|n| (format!("p{n}"), json!({"type": "string", "description": "x".repeat(60)})))
        .collect();
    properties.insert("parcels".to_owned(), json!({"type": "array", "items": parcel}));
    properties.insert(
        "to".to_owned(),
        json!({"type": "object", "properties": {"zip": {"type": "string"}}}),
    );
    let schema = json!({"type": "object", "properties": properties, "required": ["to"], "$defs": {"kind": kind}});
    let world = World::new(vec![json!({"name": "post", "inputSchema": schema})], |_| ()).await;
    let told = async |args: Value| {
        let done = world.execute("post", args).await;
        let told = done.cleared.get().structured.clone().unwrap()["details"]["schema"].clone();
        assert!(told.to_string().len() <= 4_000, "{told}");
        told
    };
    let nested = told(json!({"to": {}, "parcels": [{"kind": "bomb"}]})).await;
    assert_eq!(nested["$defs"]["kind"], kind);
    let missing = told(json!({})).await;
    assert_eq!(missing["properties"]["to"]["type"], "object");
    assert_eq!(missing["required"], json!(["to"]));
    assert_eq!(world.shelf.calls(), 0);
}

/// A dry run touches nothing: no upstream, no record, no question.
#[tokio::test]
async fn a_dry_run_reports_and_touches_nothing() {
    let world = World::new(vec![tool("a")], |_| ()).await;
    let rehearse = async |name: &str, args: Value| {
        let request = CallRequest::new(alice(), name, args);
        let request = CallRequest { via: Via::Argument, ..request };
        world.gateway.rehearse(&request).await.get().clone()
    };
    let good = rehearse("a", json!({"q": "x"})).await;
    assert!(!good.is_error);
    let report = good.structured.unwrap();
    assert_eq!((&report["dry_run"], &report["args_valid"]), (&json!(true), &json!(true)));
    assert_eq!(report["outcome"], "it would be called");
    let bad = rehearse("a", json!({})).await;
    assert_eq!((bad.is_error, &bad.structured.unwrap()["error"]), (true, &json!("ARGS_INVALID")));
    assert!(rehearse("nope", json!({})).await.is_error);
    assert_eq!(world.shelf.calls(), 0);
    assert_eq!(world.gateway.records(&RecordFilter::default()).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_door_for_reading_does_not_open_for_writing() {
    let world = World::new(vec![tool("a")], |settings| settings.doors = Doors::ByDeed).await;
    let call = async |up_to: Deed| {
        let request = CallRequest::new(alice(), "a", json!({"q": "x"}));
        let request = CallRequest { via: Via::Argument, up_to: Some(up_to), ..request };
        Box::pin(world.gateway.call(request, toolgate_gateway::Watch::default())).await.fault
    };
    let refused = call(Deed::Read).await.unwrap();
    assert_eq!(refused.code, Code::ArgsInvalid);
    assert!(refused.message.contains("`tool_destroy`"), "{}", refused.message);
    assert!(call(Deed::Write).await.is_some());
    assert_eq!(call(Deed::Destroy).await, None);
}

/// CW-69, CW-70, CW-71: stripped entries, schema on demand, direct calls by name.
#[tokio::test]
async fn transparent_tools_can_be_hydrated_and_called_by_name() {
    let world = World::new(many(5), |settings| settings.mode = Mode::Transparent).await;
    let names = world.names();
    assert_eq!(names.len(), 5 + 3);
    let hydrated = world.gateway.hydrate(&alice(), &names[0]);
    assert!(hydrated.get().full_text().contains("additionalProperties"));
    let request = CallRequest::new(alice(), &names[0], json!({"q": "x"}));
    let done = Box::pin(world.gateway.call(request, toolgate_gateway::Watch::default())).await;
    assert_eq!(done.fault, None);
    assert_eq!(world.shelf.calls(), 1);
}

/// CW-59, CW-63, CW-64, CW-65: whatever a server claims about its tool, and whatever it leaves out,
/// decides nothing.
#[tokio::test]
async fn flipping_every_claim_changes_no_decision() {
    const CLAIMS: [&str; 4] =
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    // Each claim is true, false or absent: 81 ways.
    let claiming = |mut number: usize| {
        let mut claims = tool(&format!("t{number}"));
        claims["annotations"] = json!({"costHint": number});
        for claim in CLAIMS {
            if let Some(value) = [None, Some(true), Some(false)][number % 3] {
                claims["annotations"][claim] = json!(value);
            }
            number /= 3;
        }
        claims
    };
    let world = World::new((0..81).map(claiming).collect(), |_| ()).await;
    let mut outcomes = Vec::new();
    for number in 0..81 {
        let name = format!("t{number}");
        let done = world.execute(&name, json!({"q": "x"})).await;
        let record = world.gateway.record(done.record_id.unwrap().as_str()).await.unwrap().unwrap();
        let decision = record.decision.unwrap();
        let deed = world.gateway.catalogue().resolve(&name).map(|tool| Deed::of(tool));
        outcomes.push((decision.action, decision.effective_mode, decision.matched_rule_ids, deed));
    }
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
}

/// CW-51, CW-52, CW-53, CW-55: by run for clients without a session, by session for others.
#[tokio::test]
async fn seen_cards_come_first_within_a_run_and_nowhere_else() {
    let list = vec![tool("alpha_one"), tool("beta_two"), tool("gamma_three")];
    let world = World::new(list, |settings| settings.cache_stable = true).await;
    let browse = async |caller: &Caller, run: Option<&str>, words: &str| {
        let query = Query::Words(words.to_owned());
        let found = world.gateway.browse_in(caller, run, &query, Some(1)).await;
        let cards = found.get().structured.clone().unwrap()["cards"].clone();
        let ids =
            cards.as_array().unwrap().iter().map(|card| card["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    let mark = catalog::stable::BREAKPOINT;
    assert_eq!(browse(&alice(), Some("r1"), "gamma").await, ["gamma_three"]);
    assert_eq!(browse(&alice(), Some("r1"), "alpha").await, ["gamma_three", mark, "alpha_one"]);
    assert_eq!(browse(&alice(), Some("r1"), "alpha").await, ["alpha_one", "gamma_three"]);
    assert_eq!(browse(&alice(), Some("r2"), "beta").await, ["beta_two"]);
    assert_eq!(browse(&alice(), None, "beta").await, ["beta_two"]);
    let in_session = Caller { session: Some(SessionId::from_string("s")), ..alice() };
    assert_eq!(browse(&in_session, None, "gamma").await, ["gamma_three"]);
    assert_eq!(browse(&in_session, None, "beta").await, ["gamma_three", mark, "beta_two"]);
    world.refresh().await;
    assert_eq!(browse(&alice(), Some("r1"), "beta").await, ["beta_two"]);
    let query = Query::Words("gamma".to_owned());
    let found = world.gateway.browse_in(&alice(), Some("r1"), &query, Some(1)).await;
    let told = found.get().full_text();
    assert!(told.contains("best first: gamma_three"), "{told}");
    assert_eq!(found.get().structured.as_ref().unwrap()["ranked"], json!(["gamma_three"]));
}
