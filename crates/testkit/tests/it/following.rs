//! News of resources that somebody follows: one wish at a time, said in the words of the server's
//! revision, and said again to whoever comes after a server that was lost.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway::Mode;
use serde_json::{Value, json};
use server::stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{TestGateway, World};
use upstream::mcp::{Age, Revision};
use upstream::stdio::{Config, Stdio};

use crate::{mcp, open_door};

/// How long what must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that notes every line it reads, has two resources, and dies when its tool is called.
const SERVER: &str = r#"
seen=$1
able='"capabilities":{"tools":{},"resources":{"subscribe":true}}'
while read -r line; do
  printf '%s\n' "$line" >> "$seen"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
  case $line in
    *'"method":"server/discover"'*) r='{"resultType":"complete","supportedVersions":["2026-07-28"],'$able',"ttlMs":0,"cacheScope":"private"}' ;;
    *'"method":"initialize"'*) r='{"protocolVersion":"2025-11-25",'$able',"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) r='{"tools":[{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"resources/list"'*) r='{"resources":[{"uri":"test://a","name":"a"},{"uri":"test://b","name":"b"}]}' ;;
    *'"method":"resources/templates/list"'*) r='{"resourceTemplates":[]}' ;;
    *'"method":"tools/call"'*) exit 1 ;;
    *'"method":"subscriptions/listen"'*) continue ;;
    *'"id":'*) r='{}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

async fn world(revision: Revision, seen: &Path) -> World {
    start(TestGateway::new(), SERVER, revision, seen).await
}

async fn start(gate: TestGateway, server: &str, revision: Revision, seen: &Path) -> World {
    let args = ["-c", server, "sh", &seen.display().to_string()].map(str::to_owned).to_vec();
    let stdio = Stdio::new(Config { args, age: Age::Pinned(revision), ..Config::new("sh") });
    let gate = gate.upstream("it", stdio);
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    assert!(world.refreshed.failures.is_empty(), "{:?}", world.refreshed.failures);
    let watching = Arc::clone(&world.gateway);
    tokio::spawn(async move { watching.watch().await });
    world
}

async fn follow(world: &World, uri: &str, wanted: bool) {
    world.gateway.follow(&World::ann(), uri, wanted).await.unwrap();
}

/// What the server has read so far, all its lives together.
fn noted(seen: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(seen).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

async fn until(what: &str, seen: &Path, fact: impl Fn(&[Value]) -> bool) {
    let since = Instant::now();
    loop {
        let noted = noted(seen);
        if fact(&noted) {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{what}: {noted:#?}");
        tokio::task::yield_now().await;
    }
}

/// A client of 2025-11-25 that follows a resource and goes.
async fn comes_follows_and_goes(world: &World, uri: &str) {
    let (mut input, theirs) = tokio::io::duplex(1 << 16);
    let (output, gate) = tokio::io::duplex(1 << 16);
    let surface = mcp(world, open_door());
    let serving = tokio::spawn(stdio::serve(surface, theirs, gate, CancellationToken::new()));
    let info = json!({"name": "c", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let mut lines = BufReader::new(output).lines();
    for (id, method, params) in
        [(1, "initialize", hello), (2, "resources/subscribe", json!({"uri": uri}))]
    {
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        input.write_all(format!("{ask}\n").as_bytes()).await.unwrap();
        let said = lines.next_line().await.unwrap().unwrap();
        assert!(said.contains("\"result\""), "{said}");
    }
    drop((input, lines));
    serving.await.unwrap();
}

/// What a client followed is let go when it goes, whether it says so or not.
#[tokio::test]
async fn nothing_is_followed_for_a_client_that_has_gone() {
    let home = tempfile::tempdir().unwrap();
    let seen = home.path().join("seen");
    let world = world(Revision::V2025_11_25, &seen).await;
    comes_follows_and_goes(&world, "test://a").await;
    until("the server hears that nobody follows", &seen, |noted| {
        noted.iter().any(|line| {
            line["method"] == "resources/unsubscribe" && line["params"]["uri"] == "test://a"
        })
    })
    .await;
    world.gateway.close(Duration::from_secs(1)).await;
}

/// CO-66: neither one that says it has no news of resources, nor one whose manifest says so.
#[tokio::test]
async fn who_tells_of_no_changes_is_not_asked_for_them() {
    let mute = SERVER.replace(r#"{"subscribe":true}"#, "{}");
    let declares = |subscribe: bool| {
        json!({
            "adapter_id": "it", "name": "it", "owner_role": "ops", "protocol": "mcp",
            "capabilities": [], "server_capabilities": {"resources": {"subscribe": subscribe}},
        })
    };
    let check = async |server: &str, declared: Option<bool>, follows: bool| {
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            let home = tempfile::tempdir().unwrap();
            let seen = home.path().join("seen");
            let gate = TestGateway::new();
            let gate = match declared {
                Some(declared) => gate.manifest("it", declares(declared)),
                None => gate,
            };
            let world = start(gate, server, revision, &seen).await;
            let followed = world.gateway.follow(&World::ann(), "test://a", true).await;
            assert_eq!(followed.is_ok(), follows, "{revision:?} {declared:?} {followed:?}");
            let asks = |line: &Value| line.to_string().contains("test://a\"");
            assert!(follows || !noted(&seen).iter().any(asks), "{:?}", noted(&seen));
            world.gateway.close(Duration::from_secs(1)).await;
        }
    };
    check(SERVER, None, true).await;
    check(SERVER, Some(true), true).await;
    check(SERVER, Some(false), false).await;
    check(&mute, None, false).await;
    check(&mute, Some(true), false).await;
}

/// Whoever follows and leaves again and again must not fill the line with wishes of old.
#[tokio::test]
async fn a_new_wish_takes_the_place_of_the_old() {
    let home = tempfile::tempdir().unwrap();
    let seen = home.path().join("seen");
    let world = world(Revision::V2026_07_28, &seen).await;
    for _ in 0..3 {
        follow(&world, "test://a", true).await;
        follow(&world, "test://b", true).await;
        follow(&world, "test://b", false).await;
        follow(&world, "test://a", false).await;
    }
    follow(&world, "test://b", true).await;
    until("one wish is open, and it is the last", &seen, |noted| {
        let listens: Vec<&Value> =
            noted.iter().filter(|line| line["method"] == "subscriptions/listen").collect();
        let cancelled: BTreeSet<i64> = noted
            .iter()
            .filter(|line| line["method"] == "notifications/cancelled")
            .filter_map(|line| line["params"]["requestId"].as_i64())
            .collect();
        let is_open =
            |line: &&&Value| line["id"].as_i64().is_some_and(|id| !cancelled.contains(&id));
        let open: Vec<_> = listens.iter().filter(is_open).collect();
        open.len() == 1
            && open.iter().all(|line| {
                line["params"]["notifications"]["resourceSubscriptions"] == json!(["test://b"])
            })
    })
    .await;
    world.gateway.close(Duration::from_secs(1)).await;
}

/// The next process knows nothing of what the former was asked for.
#[tokio::test]
async fn who_comes_after_a_server_that_died_is_asked_for_the_same_news() {
    for (revision, greeting, wish) in [
        (Revision::V2025_11_25, "initialize", "resources/subscribe"),
        (Revision::V2026_07_28, "server/discover", "subscriptions/listen"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let seen = home.path().join("seen");
        let world = world(revision, &seen).await;
        // At once: neither wish forgets the other.
        tokio::join!(follow(&world, "test://a", true), follow(&world, "test://b", true));
        assert!(world.call("die", json!({})).await.fault.is_some());
        until("the second life has heard the wish", &seen, |noted| {
            let second = noted.iter().rposition(|line| line["method"] == greeting);
            let lives = noted.iter().filter(|line| line["method"] == greeting).count();
            let after = second.and_then(|at| noted.get(at..)).unwrap_or_default();
            let wished = |uri: &str| {
                let names = |line: &&Value| line["params"].to_string().contains(uri);
                after.iter().filter(|line| line["method"] == wish).any(|line| names(&line))
            };
            lives == 2 && wished("test://a") && wished("test://b")
        })
        .await;
        world.gateway.close(Duration::from_secs(1)).await;
    }
}
