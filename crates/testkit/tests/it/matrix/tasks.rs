//! Tasks of either design for clients of either: begun, looked at, told of and ended, each in its own
//! words. CO-182, CO-185, CO-186.

use std::time::Instant;

use serde_json::{Value, json};
use toolgate_testkit::World;
use upstream::mcp::{Age, Revision};
use upstream::stdio::{Config, Stdio};

use super::PATIENCE;
use super::client::Client;
use super::servers::gate;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// A server in the words of one revision whose tool `dig` is a task for who asks for one, and is done
/// once somebody has looked at it. At `nudge` it tells of the task; in the newer design only if it was
/// asked to.
const SERVER: &str = r#"
new=$1 looked= wished=
done='"content":[{"type":"text","text":"gold"}]'
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
  state=$([ "$looked" ] && echo completed || echo working)
  if [ "$new" ]; then task='"taskId":"t1","status":"'$state'","ttlMs":60000,"pollIntervalMs":50'
  else task='"taskId":"t1","status":"'$state'","ttl":60000,"pollInterval":50'; fi
  case $line in
    *'"method":"server/discover"'*) r='"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"method":"initialize"'*) r='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) r='"result":{"tools":[{"name":"dig","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"nudge","inputSchema":{"type":"object"}},{"name":"scratch","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"subscriptions/listen"'*'"taskIds":["t1"]'*) wished=1; continue ;;
    *'"method":"subscriptions/listen"'*) wished=; continue ;;
    *'"method":"tools/call"'*'"name":"nudge"'*)
      if [ -z "$new" ]; then printf '{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{%s}}\n' "$task"
      elif [ "$wished" ]; then printf '{"jsonrpc":"2.0","method":"notifications/tasks","params":{%s,"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}\n' "$task"; fi
      r='"result":{"content":[]}' ;;
    *'"method":"tools/call"'*'"task":{'*) looked= r='"result":{"task":{'$task'}}' ;;
    *'"method":"tools/call"'*'"io.modelcontextprotocol/tasks":{'*) looked= r='"result":{"resultType":"task",'$task'}' ;;
    *'"method":"tools/call"'*) r='"result":{'$done'}' ;;
    *'"method":"tasks/get"'*) looked=1; r='"result":{'$task$([ "$new$state" = newcompleted ] && printf ',"result":{%s}' "$done")'}' ;;
    *'"method":"tasks/result"'*) r='"result":{'$done'}' ;;
    *'"id":'*) r='"error":{"code":-32601,"message":"no"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
done
"#;

async fn server(revision: &str) -> World {
    let new = if revision == NEW { "new" } else { "" };
    let args = ["-c", SERVER, "sh", new].map(str::to_owned).to_vec();
    let age = Age::Pinned(revision.parse::<Revision>().unwrap());
    gate(Stdio::new(Config { args, age, ..Config::new("sh") })).await
}

async fn client(world: &World, revision: &'static str) -> Client {
    let follows = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let able = if revision == NEW { follows } else { json!({}) };
    Client::connect_able(world, revision, able).await
}

/// Begins a task; it is told of in the client's words.
async fn begins(client: &mut Client) {
    if client.is_modern() {
        let begun = client.call("dig", json!({})).await["result"].clone();
        assert_eq!((&begun["resultType"], &begun["taskId"]), (&json!("task"), &json!("t1")));
        assert_eq!((&begun["ttlMs"], begun.get("ttl")), (&json!(60_000), None), "{begun}");
    } else {
        let asked = json!({"name": "dig", "arguments": {}, "task": {"ttl": 60_000}});
        let begun = client.ask("tools/call", asked).await["result"]["task"].clone();
        assert_eq!((&begun["taskId"], &begun["status"]), (&json!("t1"), &json!("working")));
        assert_eq!((&begun["ttl"], begun.get("ttlMs")), (&json!(60_000), None), "{begun}");
    }
}

async fn ends(client: &mut Client) -> Value {
    if client.is_modern() {
        return client.until_done(&json!("t1")).await;
    }
    let looked = client.ask("tasks/get", json!({"taskId": "t1"})).await["result"].clone();
    assert!(looked.get("result").is_none() && looked.get("ttl").is_some(), "{looked}");
    client.ask("tasks/result", json!({"taskId": "t1"})).await["result"].clone()
}

#[tokio::test]
async fn a_task_is_one_in_the_words_of_the_client() {
    for server_speaks in [OLD, NEW] {
        for revision in [OLD, NEW] {
            // Each has a gate of its own: a task that has ended stays ended for its owner.
            let world = server(server_speaks).await;
            let mut client = client(&world, revision).await;
            begins(&mut client).await;
            let result = ends(&mut client).await;
            let said = format!("{revision} on {server_speaks}: {result}");
            assert_eq!(result["content"][0]["text"], "gold", "{said}");
            client.leave().await;
        }
    }
}

/// PROTOCOL 1.9: since 2026-07-28 it is not for clients to ask for a task, whoever serves them.
#[tokio::test]
async fn a_newer_client_that_asks_for_a_task_gets_none() {
    for server_speaks in [OLD, NEW] {
        let world = server(server_speaks).await;
        let mut client = Client::connect_able(&world, NEW, json!({})).await;
        let asked = json!({"name": "scratch", "arguments": {}, "task": {"ttl": 60_000}});
        let answer = client.ask("tools/call", asked).await;
        assert_eq!(answer["result"]["content"][0]["text"], "gold", "{server_speaks}: {answer}");
        client.leave().await;
    }
}

/// A client of 2026-07-28 hears of the tasks it listens for, and one from before of those it has, as
/// far as its server tells of them unasked.
#[tokio::test]
async fn news_of_a_task_are_told_in_the_words_of_the_client() {
    let check = async |revision: &'static str, server_speaks: &str, method: &str, ttl: &str| {
        let world = server(server_speaks).await;
        let mut client = client(&world, revision).await;
        begins(&mut client).await;
        if client.is_modern() {
            client.listen(&json!({"taskIds": ["t1"]})).await;
        }
        let began = Instant::now();
        let news = loop {
            client.call("nudge", json!({})).await;
            if let Some(news) = client.take_news(method).pop() {
                break news;
            }
            assert!(began.elapsed() < PATIENCE, "{revision} on {server_speaks}: nothing is told");
        };
        let told = &news["params"];
        assert_eq!((&told["taskId"], &told["status"]), (&json!("t1"), &json!("working")), "{news}");
        assert_eq!(told[ttl], 60_000, "{news}");
        let subscription = &told["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(subscription.is_null(), revision == OLD, "{news}");
        client.leave().await;
    };
    check(OLD, OLD, "notifications/tasks/status", "ttl").await;
    check(NEW, OLD, "notifications/tasks", "ttlMs").await;
    check(NEW, NEW, "notifications/tasks", "ttlMs").await;
}

/// Somebody else's task is not listened for, and nobody is told that it is.
#[tokio::test]
async fn a_task_that_is_not_ones_own_is_not_acknowledged() {
    let world = server(NEW).await;
    let mut client = client(&world, NEW).await;
    begins(&mut client).await;
    let honoured = client.listens(&json!({"taskIds": ["t1", "t2"]})).await;
    assert_eq!(honoured, json!({"taskIds": ["t1"]}));
    client.leave().await;
}
