//! Everything a client can ask for, made from the methods the router knows and the names the
//! catalogue has.

use protocol::decode::METHODS;
use serde_json::{Value, json};
use toolgate_testkit::World;

use super::line::Era;

/// Verbs of ours that lead to an upstream, by the argument that names what is meant.
const VERBS: [(&str, &str); 8] = [
    ("tool_execute", "tool_id"),
    ("tool_read", "tool_id"),
    ("tool_write", "tool_id"),
    ("tool_destroy", "tool_id"),
    ("tool_hydrate", "tool_id"),
    ("tool_view", "handle"),
    ("resource_read", "uri"),
    ("prompt_get", "name"),
];

pub(super) fn all(world: &World, era: Era) -> Vec<(&'static str, Value)> {
    let methods = METHODS.iter().copied().chain(["vendor/anything"]);
    methods.flat_map(|method| of(method, world, era)).collect()
}

fn of(method: &'static str, world: &World, era: Era) -> Vec<(&'static str, Value)> {
    let each = |params: Vec<Value>| params.into_iter().map(|params| (method, params)).collect();
    match method {
        // The line has introduced itself, and a stream without end would have none.
        "initialize" | "subscriptions/listen" => Vec::new(),
        "tools/call" => each(calls(world)),
        "prompts/get" => each(names(world).iter().map(|name| json!({"name": name})).collect()),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            each(uris().map(|uri| json!({"uri": uri})).to_vec())
        }
        "completion/complete" => {
            let argument = json!({"name": "to", "value": "a"});
            let prompt =
                json!({"ref": {"type": "ref/prompt", "name": "whisper"}, "argument": argument});
            let template = json!({"ref": {"type": "ref/resource", "uri": "file:///rooms/{room}"}, "argument": argument});
            each(vec![prompt, template])
        }
        "logging/setLevel" if era == Era::Old => each(vec![json!({"level": "debug"})]),
        "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => {
            each(vec![json!({"taskId": "task-1"})])
        }
        _ => each(vec![json!({})]),
    }
}

/// Every tool by every name, as itself and through the verb that executes; and through each other
/// verb.
fn calls(world: &World) -> Vec<Value> {
    let (mut calls, names) = (Vec::new(), names(world));
    for name in &names {
        calls.push(json!({"name": name, "arguments": {}}));
        calls.push(json!({"name": "tool_execute", "arguments": {"tool_id": name}}));
    }
    for name in ["burn", "whisper"] {
        calls.push(json!({"name": name, "arguments": {}, "task": {"ttl": 1_000}}));
        for (verb, argument) in VERBS {
            calls.push(json!({"name": verb, "arguments": {argument: name}}));
        }
        calls
            .push(json!({"name": "tool_execute", "arguments": {"tool_id": name, "dry_run": true}}));
        calls.push(json!({"name": "tool_browse", "arguments": {"query": name}}));
    }
    for uri in uris() {
        calls.push(json!({"name": "resource_read", "arguments": {"uri": uri}}));
    }
    calls.push(json!({"name": "resource_browse", "arguments": {}}));
    calls.push(json!({"name": "prompt_browse", "arguments": {}}));
    calls
}

/// Every rendering of every name there is.
fn names(world: &World) -> Vec<String> {
    let catalogue = world.gateway.catalogue();
    let shelf = catalogue.shelf();
    let mut names = Vec::new();
    for entry in catalogue.entries().iter().chain(shelf.prompts()) {
        let ids = &entry.item.ids;
        let capability = ids.capability.as_ref().map(ToString::to_string);
        names.extend([ids.legacy.clone(), ids.canonical.clone(), ids.wire.clone()]);
        names.extend([entry.item.name.clone(), entry.shown_name.clone()]);
        names.extend([entry.item.key.to_string()].into_iter().chain(capability));
    }
    names.sort();
    names.dedup();
    assert!(names.len() >= 6, "{names:?}");
    names
}

fn uris() -> [&'static str; 2] {
    ["file:///secret", "file:///rooms/12"]
}
