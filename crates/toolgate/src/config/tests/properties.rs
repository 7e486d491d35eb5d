//! What holds for every text, and for every configuration in both spellings.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::load;

/// The value as block-style YAML, written by a hand that shares nothing with the reader.
fn yaml(value: &Value, indent: usize) -> String {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            let pair = |(key, value): (&String, &Value)| {
                format!("\n{pad}{}:{}", json!(key), yaml(value, indent + 2))
            };
            map.iter().map(pair).collect::<Vec<_>>().concat()
        }
        Value::Array(items) if !items.is_empty() => {
            let item = |item: &Value| format!("\n{pad}-{}", yaml(item, indent + 2));
            items.iter().map(item).collect::<Vec<_>>().concat()
        }
        scalar => format!(" {scalar}"),
    }
}

fn text() -> impl Strategy<Value = Value> {
    "[ -~äß]{1,12}".prop_map(Value::from)
}

fn upstream() -> impl Strategy<Value = Value> {
    let stdio = (text(), prop::collection::vec(text(), 0..3), text());
    let stdio = stdio.prop_map(|(command, args, value)| {
        json!({"command": command, "args": args, "env": {"A": value}, "enabled": false})
    });
    let http = (1u64..10_000).prop_map(|timeout| {
        json!({"url": "https://x.test/mcp", "headers": {"X-A": "b"}, "timeout_ms": timeout})
    });
    let stub = text().prop_map(|name| json!({"type": "stub", "tools": [{"name": name}]}));
    prop_oneof![stdio, http, stub, Just(json!({"type": "demo"})), Just(json!({"type": 5}))]
}

fn config() -> impl Strategy<Value = Value> {
    let upstreams = prop::collection::btree_map("[a-z][a-z0-9_-]{0,8}", upstream(), 0..4);
    (upstreams, text(), any::<u16>(), 0u64..700_000).prop_map(|(upstreams, name, port, stop)| {
        let upstreams = upstreams.into_iter().collect::<Map<_, _>>();
        json!({
            "name": name, "port": port, "limits": {"shutdown_ms": stop},
            "upstreams": upstreams, "mode": "native",
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_panics(text in "(?s).{0,120}") {
        prop_assert!(load(&text).is_ok() || load(&text).is_err());
    }

    #[test]
    fn no_line_of_a_configuration_panics(
        key in "(name|port|upstreams|mcpServers|auth|limits|tools|env|http|[a-z]{1,4})",
        value in "[\\[\\]{}:,&*!|>'\"$ a-c0-9\n-]{0,40}",
    ) {
        let text = format!("{key}: {value}");
        prop_assert!(load(&text).is_ok() || load(&text).is_err());
    }

    #[test]
    fn json_and_yaml_say_the_same(value in config()) {
        let from_json = load(&value.to_string()).map_err(messages);
        let from_yaml = load(yaml(&value, 0).trim_start()).map_err(messages);
        prop_assert_eq!(from_json, from_yaml);
    }
}

/// The messages of an error without their lines, which differ between the spellings.
fn messages(error: crate::config::ConfigError) -> Vec<String> {
    let mut messages =
        error.problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>();
    messages.sort();
    messages
}
