//! Whatever is put into a tool of ours, the answer is one a model can read (CW-83, CW-91,
//! gateway-spec §8).

use catalog::menu::Also;
use catalog::{Deed, Menu, Mode};
use model::Code;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use toolgate_gateway::{CallRequest, Cleared, Verb, Via, Watch};

use crate::world::{World, alice, tool};

const OWN: &[&str] = &[
    "tool_browse",
    "tool_execute",
    "tool_read",
    "tool_write",
    "tool_destroy",
    "tool_view",
    "resource_browse",
    "resource_read",
    "prompt_browse",
    "prompt_get",
];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["/", "/*", "//", "a", "head", "art_0", "../x"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Arguments near enough to the schemas that every branch is reached.
fn any_args() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "query", "path", "top_k", "tool_id", "args", "dry_run", "handle", "selector", "uri",
        "name", "x",
    ]);
    let near = prop::collection::vec((keys, any_value()), 0..4).prop_map(|fields| {
        Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    });
    prop_oneof![4 => near, 1 => any_value()]
}

fn everything() -> Menu {
    let also = Also { resources: true, prompts: true };
    Menu { mode: Mode::Gateway, also, ..Menu::default() }
}

async fn answer(world: &World, name: &str, args: Value) -> (Cleared, Option<Code>) {
    let gateway = &world.gateway;
    let request = |tool: String, args: Value, up_to| CallRequest {
        via: Via::Argument,
        up_to: Some(up_to),
        ..CallRequest::new(alice(), tool, args)
    };
    match Verb::read(everything(), name, args) {
        Err(fault) => (gateway.refuse(&fault), Some(fault.code)),
        Ok(Verb::Browse { query, top_k }) => (gateway.browse(&alice(), &query, top_k).await, None),
        Ok(Verb::Look { kind, query, top_k }) => {
            (gateway.look(&alice(), kind, query.as_deref(), top_k), None)
        }
        Ok(Verb::Fetch { method, name, args }) => {
            let asked = CallRequest { method, ..request(name, args, Deed::Destroy) };
            let done = Box::pin(gateway.call(asked, Watch::default())).await;
            (done.cleared, done.fault.map(|fault| fault.code))
        }
        Ok(Verb::Hydrate { tool_id }) => (gateway.hydrate(&alice(), &tool_id), None),
        Ok(Verb::View { handle, selector }) => {
            (gateway.view(&alice(), &handle, &selector).await, None)
        }
        Ok(Verb::Execute { tool_id, args, dry_run: true, up_to }) => {
            (gateway.rehearse(&request(tool_id, args, up_to)).await, None)
        }
        Ok(Verb::Execute { tool_id, args, dry_run: false, up_to }) => {
            let done =
                Box::pin(gateway.call(request(tool_id, args, up_to), Watch::default())).await;
            (done.cleared, done.fault.map(|fault| fault.code))
        }
        Ok(Verb::Call { name, .. }) => unreachable_verb(&name),
    }
}

#[expect(clippy::panic, reason = "a name of ours must never be read as another's")]
fn unreachable_verb(name: &str) -> (Cleared, Option<Code>) {
    panic!("`{name}` was read as a tool of an upstream");
}

#[test]
fn no_input_to_a_tool_of_ours_is_a_protocol_error() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new(vec![tool("a")], |_| ()));
    let mut runner = TestRunner::new(Config { cases: 400, ..Config::default() });
    let names = prop::sample::select(OWN.to_vec());
    let outcome = runner.run(&(names, any_args()), |(name, args)| {
        let (cleared, code) = runtime.block_on(answer(&world, name, args));
        let wrong_channel = matches!(code, Some(Code::ToolNotFound | Code::Protocol));
        prop_assert!(!wrong_channel, "{:?}", code);
        prop_assert!(!cleared.get().full_text().is_empty());
        if let (true, Some(error)) = (cleared.get().is_error, &cleared.get().structured) {
            for key in ["error", "message", "path", "details"] {
                prop_assert!(error.get(key).is_some(), "{key}");
            }
        }
        Ok(())
    });
    outcome.unwrap();
    let unknown = json!({"tool_id": "nope", "args": {}});
    let (cleared, _) = runtime.block_on(answer(&world, "tool_execute", unknown));
    assert!(cleared.get().is_error);
}
