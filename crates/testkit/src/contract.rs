//! Small makers for what upstreams and manifests say: definitions, capabilities, manifests.

use serde_json::{Value, json};

/// A tool that takes any object, with `extra` laid over its definition.
#[expect(clippy::needless_pass_by_value, reason = "`json!` stands at the call")]
pub fn tool(name: &str, extra: Value) -> Value {
    let definition = json!({
        "name": name,
        "description": format!("Does {name}."),
        "inputSchema": {"type": "object"},
    });
    laid_over(definition, &extra)
}

/// A capability that only reads, bound to `tool`, with `extra` laid over it.
#[expect(clippy::needless_pass_by_value, reason = "`json!` stands at the call")]
pub fn capability(id: &str, tool: &str, extra: Value) -> Value {
    let binding = json!({"capability_id": id, "tool": tool, "class": "observe", "approval_mode": "read_only"});
    laid_over(binding, &extra)
}

/// The manifest `fake@1.0.0` with these capabilities.
pub fn manifest(capabilities: impl IntoIterator<Item = Value>) -> Value {
    json!({
        "adapter_id": "fake",
        "version": "1.0.0",
        "name": "Fake",
        "owner_role": "tests",
        "protocol": "custom",
        "capabilities": capabilities.into_iter().collect::<Vec<_>>(),
    })
}

/// The same with `extra` keys.
#[expect(clippy::needless_pass_by_value, reason = "`json!` stands at the call")]
pub fn manifest_with(capabilities: impl IntoIterator<Item = Value>, extra: Value) -> Value {
    laid_over(manifest(capabilities), &extra)
}

fn laid_over(mut base: Value, extra: &Value) -> Value {
    let fields = extra.as_object().expect("`extra` must be an object").clone();
    base.as_object_mut().expect("the base is an object").extend(fields);
    base
}
