//! How old a server on a pipe is: asked once, newest first, and found out also from those that answer
//! late, in one way only, or not at all what they do not know.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use upstream::Connector;
use upstream::limits::DISCOVER_PATIENCE;
use upstream::stdio::{Config, Stdio};

/// How long what must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server of some kind, which notes every line it reads. Most keep the first question to themselves
/// until they hear the second, as if they had only just been started.
const SERVER: &str = r#"
kind=$1 seen=$2 kept=
old='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}'
new='"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}'
no='"error":{"code":-32601,"message":"no"}'
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
while read -r line; do
  printf '%s\n' "$line" >> "$seen"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
  case $line in
    *'"method":"server/discover"'*)
      case $kind in
        ends) exit 3 ;;
        *) kept=$id ;;
      esac ;;
    *'"method":"initialize"'*)
      case $kind in
        locked) say "$kept" "$new"; say "$id" "$no" ;;
        refuses) say "$kept" "$no"; say "$id" "$old" ;;
        *) say "$id" "$old" ;;
      esac ;;
    *'"method":"tools/list"'*) say "$id" '"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
  esac
done
"#;

fn asked(seen: &Path, method: &str) -> usize {
    let text = std::fs::read_to_string(seen).unwrap_or_default();
    text.lines().filter(|line| line.contains(&format!("\"method\":\"{method}\""))).count()
}

async fn until_asked(seen: &Path, method: &str) {
    let since = Instant::now();
    while asked(seen, method) == 0 {
        assert!(since.elapsed() < PATIENCE, "`{method}` does not arrive");
        tokio::task::yield_now().await;
    }
}

async fn check(kind: &str, speaks: &str) {
    let home = tempfile::tempdir().unwrap();
    let seen = home.path().join("seen");
    let args = ["-c", SERVER, "sh", kind, &seen.display().to_string()].map(str::to_owned).to_vec();
    let child = Arc::new(Stdio::new(Config { args, ..Config::new("sh") }));
    let listing = tokio::spawn({
        let child = Arc::clone(&child);
        async move { child.list().await }
    });
    until_asked(&seen, "server/discover").await;
    if kind != "ends" {
        tokio::time::pause();
        tokio::time::advance(DISCOVER_PATIENCE + Duration::from_millis(1)).await;
        tokio::time::resume();
    }
    assert_eq!(listing.await.unwrap().unwrap().len(), 1, "{kind}");
    assert_eq!(child.speaks().as_deref(), Some(speaks), "{kind}");
    child.list().await.unwrap();
    assert_eq!((asked(&seen, "server/discover"), asked(&seen, "initialize")), (1, 1), "{kind}");
    child.close().await;
}

/// Servers of the second Python SDK hold on to the first question they hear, however late they hear it.
#[tokio::test]
async fn a_new_server_that_starts_slowly_and_answers_one_way_only_is_new() {
    check("locked", "2026-07-28").await;
}

#[tokio::test]
async fn an_old_server_is_old_whether_it_refuses_ignores_or_dies_of_the_new_question() {
    check("refuses", "2025-06-18").await;
    check("ignores", "2025-06-18").await;
    check("ends", "2025-06-18").await;
}
