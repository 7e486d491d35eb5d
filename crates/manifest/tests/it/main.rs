//! Manifests as their authors write them: what loads, what is refused, what is enforced.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test may fall over, and its rows read better as values"
)]

mod arguments;
mod bindings;
mod lint;
mod load;
mod refuse;
mod schemas;

use serde_json::{Value, json};
use toolgate_manifest::{self as manifest, AdapterManifest};

/// The manifest of the seed, byte for byte.
const PAYMENTS: &str = include_str!("fixtures/payments.json");
/// The seed's capability as a binding of its own, in the other spelling.
const REFUND_BINDING: &str = include_str!("fixtures/refund_binding.json");

fn payments() -> AdapterManifest {
    manifest::parse(PAYMENTS).unwrap()
}

fn payments_json() -> Value {
    serde_json::from_str(PAYMENTS).unwrap()
}

/// The least that is a manifest, with `extra` laid over it.
fn small(extra: Value) -> Value {
    let mut value = json!({
        "adapter_id": "adp_small",
        "name": "Small",
        "owner_role": "nobody",
        "protocol": "mcp",
        "capabilities": [{
            "capability_id": "small.look",
            "tool": "look",
            "class": "observe",
            "approval_mode": "read_only"
        }]
    });
    lay_over(&mut value, extra);
    value
}

/// Objects are joined key by key, lists place by place; anything else is replaced.
fn lay_over(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(under), Value::Array(over)) if under.len() == over.len() => {
            for (place, value) in under.iter_mut().zip(over) {
                lay_over(place, value);
            }
        }
        (under, over) => *under = over,
    }
}
