//! A list that changes becomes another generation; what is under way keeps the one it began with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use gateway::Watch;
use model::{Answer, Code, Fault};
use policy::Permit;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolgate_testkit::{TestGateway, World, tool};
use upstream::mcp::{Age, Revision};
use upstream::stdio::{Config, Stdio};
use upstream::{Connector, Errand};

use crate::code;

/// Has `old` until it changes, and `new` from then on. A call waits until it is let go.
#[derive(Clone, Debug, Default)]
struct Changing {
    changed: Arc<AtomicBool>,
    begun: Arc<Notify>,
    go: Arc<Notify>,
}

#[async_trait]
impl Connector for Changing {
    fn protocol(&self) -> &'static str {
        "custom"
    }

    async fn list(&self) -> Result<Vec<Value>, Fault> {
        let name = if self.changed.load(Ordering::SeqCst) { "new" } else { "old" };
        Ok(vec![tool(name, json!({}))])
    }

    async fn call(&self, permit: &Permit, _errand: &Errand) -> Result<Answer, Fault> {
        self.begun.notify_one();
        self.go.notified().await;
        Ok(Answer::text(permit.tool()))
    }
}

/// SG-1 and the catalogue: a call ends with the definition it began with.
#[tokio::test]
async fn a_running_call_keeps_its_generation() {
    let upstream = Changing::default();
    let world = TestGateway::new().upstream("it", upstream.clone()).start().await;
    let before = world.gateway.catalogue().generation();
    let running = world.spawn(World::request("old", json!({})), Watch::default());
    upstream.begun.notified().await;
    upstream.changed.store(true, Ordering::SeqCst);
    world.gateway.refresh().await;
    assert!(world.gateway.catalogue().generation() > before);
    assert_eq!(code(&world.call("old", json!({})).await), Some(Code::ToolNotFound));
    upstream.go.notify_one();
    let done = running.await.unwrap();
    assert_eq!(code(&done), None, "{done:?}");
    assert_eq!(done.cleared.get().full_text(), "old");
}

/// A child that tells its number.
const WHO: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) r='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) r='"result":{"tools":[{"name":"who","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) r='"result":{"content":[{"type":"text","text":"'$$'"}]}' ;;
    *'"id":'*) r='"error":{"code":-32601,"message":"no"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
done"#;

/// Idle stop and wake on use: nobody needs it, so it ends; somebody does, so it is started.
#[tokio::test]
async fn an_idle_child_is_stopped_and_woken_by_the_next_call() {
    let args = vec!["-c".to_owned(), WHO.to_owned()];
    let idle = Some(Duration::from_millis(500));
    let child = Stdio::new(Config { args, idle, ..Config::new("sh") });
    let world = TestGateway::new().upstream("it", child).start().await;
    let who = async || {
        let done = world.call("who", json!({})).await;
        assert_eq!(code(&done), None, "{done:?}");
        done.cleared.get().full_text()
    };
    let first = who().await;
    let gone = async {
        while std::path::Path::new(&format!("/proc/{first}/cmdline")).exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone).await.unwrap();
    assert_ne!(who().await, first);
    world.gateway.close(Duration::from_secs(1)).await;
}

/// A start that takes longer than anybody waits is still one start, and good for whoever comes later.
#[tokio::test]
async fn a_slow_start_goes_on_when_nobody_waits_for_it() {
    let home = tempfile::tempdir().unwrap();
    let (flag, starts) = (home.path().join("flag"), home.path().join("starts"));
    let slow = format!(
        "echo started >> '{}'; while [ ! -e '{}' ]; do sleep 0.01; done\n{WHO}",
        starts.display(),
        flag.display()
    );
    let age = Age::Pinned(Revision::V2025_11_25);
    let config = Config { args: vec!["-c".to_owned(), slow], age, ..Config::new("sh") };
    let child = Stdio::new(config);
    for _ in 0..3 {
        let waited = tokio::time::timeout(Duration::from_millis(50), child.list()).await;
        assert!(waited.is_err(), "{waited:?}");
    }
    std::fs::write(&flag, "").unwrap();
    assert_eq!(child.list().await.unwrap().len(), 1);
    assert_eq!(std::fs::read_to_string(&starts).unwrap(), "started\n");
    child.close().await;
}
