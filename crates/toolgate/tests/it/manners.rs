//! What the records say of how upstreams answer.

use serde_json::Value;

use crate::gate::Home;

/// A server whose one tool answers every call with an error of the protocol.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"greet","inputSchema":{"type":"object"}}]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// CO-136: `protocol_error_ratio` is told for each upstream, and complained of where it is high.
#[test]
fn a_server_that_answers_with_protocol_errors_is_told_of() {
    let home = Home::new();
    home.write("server.sh", SERVER);
    home.write(
        "gate.yaml",
        "data: data\nupstreams:\n  rude: {command: sh, args: [server.sh], cwd: ., protocol: '2025-11-25'}\n  \
         kind: {type: stub, tools: [{name: bow, inputSchema: {type: object}}]}\n",
    );
    let told = || -> Value { home.json(&["doctor", "--config", "gate.yaml"]) };
    let of = |told: &Value, name: &str| {
        let all = told.as_array().unwrap().iter();
        all.clone().find(|one| one["upstream"] == name).unwrap().clone()
    };
    assert!(of(&told(), "rude")["protocol_error_ratio"].is_null());
    for _ in 0..10 {
        home.run(&["call", "greet", "--config", "gate.yaml"]);
    }
    home.run(&["call", "bow", "--config", "gate.yaml"]);
    let told = told();
    let rude = of(&told, "rude");
    assert_eq!(rude["protocol_error_ratio"], 1.0, "{told:#}");
    let concern = "10 of its last 10 calls ended in an error of the protocol";
    assert!(rude["concerns"].to_string().contains(concern), "{told:#}");
    assert_eq!(of(&told, "kind")["protocol_error_ratio"], 0.0, "{told:#}");
}
