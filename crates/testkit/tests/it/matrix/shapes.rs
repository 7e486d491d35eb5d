//! What tools of 2026-07-28 may give and those before may not: a list, a number, anything but an object.

use serde_json::{Value, json};
use upstream::mcp::{Age, Revision};
use upstream::stdio::{Config, Stdio};

use super::REVISIONS;
use super::client::{Client, MODERN};
use super::servers::gate;

/// Its tool says that it gives a list, and gives one.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
  case $line in
    *'"method":"server/discover"'*) r='"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"method":"tools/list"'*) r='"result":{"resultType":"complete","tools":[{"name":"steps","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{"type":"integer"}}},{"name":"sum","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) r='"result":{"resultType":"complete","content":[],"structuredContent":[1,2]}' ;;
    *'"id":'*) r='"error":{"code":-32601,"message":"no"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
done
"#;

/// PROTOCOL 1.13: each client gets what its revision can read, and loses nothing of what was said.
#[tokio::test]
async fn a_tool_that_gives_a_list_is_one_to_clients_of_any_age() {
    let args = ["-c", SERVER].map(str::to_owned).to_vec();
    let age = Age::Pinned(Revision::V2026_07_28);
    let world = gate(Stdio::new(Config { args, age, ..Config::new("sh") })).await;
    for revision in REVISIONS {
        let mut client = Client::connect(&world, revision).await;
        let listed = client.ask("tools/list", json!({})).await;
        let schemas = listed["result"]["tools"].as_array().unwrap().iter();
        let schemas: Vec<Value> =
            schemas.map(|tool| tool["outputSchema"]["type"].clone()).collect();
        let answer = client.call("steps", json!({})).await;
        let (given, content) =
            (&answer["result"]["structuredContent"], &answer["result"]["content"]);
        if revision == MODERN {
            assert_eq!(schemas, [json!("array"), json!("object")], "{listed}");
            assert_eq!((given, content), (&json!([1, 2]), &json!([])), "{answer}");
        } else {
            assert_eq!(schemas, [Value::Null, json!("object")], "{revision}: {listed}");
            let text = json!([{"type": "text", "text": "[1,2]"}]);
            assert_eq!((given, content), (&Value::Null, &text), "{revision}: {answer}");
        }
        client.leave().await;
    }
}
