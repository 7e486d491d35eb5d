//! Upstreams that are processes, seen from outside: what starts, what is shown before it answers, what
//! is said of it, and that nothing of it is left.

use std::time::Instant;

use serde_json::{Value, json};

use crate::gate::{Home, PATIENCE};
use crate::peer::{Over, Peer};

/// A server in a few lines of shell. It knows one tool, named by `$1`, and writes to standard error.
const SERVER: &str = r#"#!/bin/sh
echo "server $1 is starting" >&2
[ -z "$GRANDCHILDREN" ] || { sleep 3600 & setsid sleep 3600 & }
while read -r line; do
  [ -z "$SEEN" ] || printf '%s\n' "$line" >> "$SEEN"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":['"$TOOLS"']}' ;;
    *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"done by '$1'"}]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

fn tool(name: &str) -> String {
    json!({"name": name, "inputSchema": {"type": "object"}}).to_string()
}

/// A home with one server of these settings beside the file's other lines.
fn home(entry: &Value, rest: &str) -> Home {
    let home = Home::new();
    home.write("server.sh", SERVER);
    let mut server = json!({"command": "sh", "args": ["server.sh", "one"], "cwd": "."});
    server["env"] = json!({"TOOLS": tool("greet")});
    for (key, value) in entry.as_object().unwrap() {
        server[key] = value.clone();
    }
    home.write("toolgate.yaml", &format!("upstreams: {{one: {server}}}\n{rest}"));
    home
}

/// Ids of processes that have this variable, wherever they went.
fn marked(variable: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let has = |environ: &[u8]| environ.split(|byte| *byte == 0).any(|e| e == variable.as_bytes());
    let found = all.filter(|process| {
        std::fs::read(process.path().join("environ")).is_ok_and(|environ| has(&environ))
    });
    found.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

async fn until(what: &str, mut fact: impl FnMut() -> bool) {
    let since = Instant::now();
    while !fact() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        tokio::task::yield_now().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_survives_a_gate_that_is_killed() {
    let mark = format!("SUITE=kill-{}", std::process::id());
    let value = mark.strip_prefix("SUITE=").unwrap();
    let env = json!({"TOOLS": tool("greet"), "GRANDCHILDREN": "1", "SUITE": value});
    let home = home(&json!({"env": env}), "");
    let (gate, _) = home.listen(&["up", "--port", "0", "--yes"]).await;
    until("the server and both of its children run", || marked(&mark).len() >= 3).await;
    gate.kill().await;
    until("nothing is left", || marked(&mark).is_empty()).await;
}

#[tokio::test]
async fn nothing_is_left_of_a_gate_that_stops() {
    let mark = format!("SUITE=stop-{}", std::process::id());
    let value = mark.strip_prefix("SUITE=").unwrap();
    let env = json!({"TOOLS": tool("greet"), "GRANDCHILDREN": "1", "SUITE": value});
    let home = home(&json!({"env": env}), "");
    let (gate, _) = home.listen(&["up", "--port", "0", "--yes"]).await;
    gate.interrupt();
    assert!(gate.end().await.success());
    assert_eq!(marked(&mark), Vec::<String>::new());
}

/// OR-33, C19: what must be there, must be there.
#[test]
fn a_start_can_insist_on_its_upstreams() {
    let broken = json!({"command": "sh", "args": ["-c", "echo no such database >&2; exit 7"]});
    let check = |entry: Value, rest: &str, wanted: Option<&str>| {
        let home = home(&entry, &format!("catalog: tools.json\n{rest}"));
        home.write("tools.json", &format!("[{}]", tool("stub")));
        let ran = home.run(&["call", "stub", "{}", "--yes"]);
        match wanted {
            None => assert_eq!(ran.code, 0, "{}", ran.stderr),
            Some(why) => {
                assert_eq!(ran.code, 6, "{}", ran.stderr);
                assert!(ran.stderr.contains(why), "{}", ran.stderr);
            }
        }
    };
    let required = |mut entry: Value| {
        entry["required"] = json!(true);
        entry
    };
    check(broken.clone(), "", None);
    check(broken.clone(), "startup: {mode: strict}", Some("upstream `one` is required"));
    check(required(broken.clone()), "", Some("upstream `one` is required"));
    check(broken, "startup: {min_healthy: 2}", Some("1 of 2 upstreams answer, and 2 must"));
    check(json!({}), "startup: {mode: strict, min_healthy: 2}", None);
}

#[test]
fn an_upstream_without_tools_says_why() {
    let check = |entry: Value, wanted: &str| {
        let ran = home(&entry, "").run(&["call", "greet", "{}", "--yes"]);
        assert_eq!(ran.code, 6, "{}", ran.stderr);
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    };
    check(json!({"env": {"TOOLS": ""}}), "it lists no tools, resources or prompts");
    check(json!({"exclude": ["*"]}), "`include` and `exclude` leave none of its 1 tools");
    check(json!({"command": "/nowhere/server", "args": []}), "cannot start `/nowhere/server`");
    check(json!({"args": ["-c", "exit 7"]}), "exit status: 7");
}

/// Tools are shown without waiting long for whoever does not answer, and it is named.
#[test]
fn a_hanging_upstream_does_not_hold_up_a_list() {
    let hanging = json!({"args": ["-c", "exec sleep 3600"]});
    let home = home(&hanging, "catalog: tools.json\nstartup: {wait_ms: 100}");
    home.write("tools.json", &format!("[{}]", tool("stub")));
    let ran = home.run(&["tools", "list", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("stub"), "{}", ran.stdout);
    assert!(ran.stderr.contains("`one`: it has not answered within"), "{}", ran.stderr);
}

/// The next start shows what was known, before the server has answered.
#[tokio::test]
async fn a_known_server_is_shown_before_it_answers() {
    let home = home(&json!({}), "mode: native\n");
    assert_eq!(home.run(&["call", "greet", "{}", "--yes"]).code, 0);
    // It now hangs before it says a word, but is the same server as far as the file says.
    home.write("server.sh", "#!/bin/sh\nexec sleep 3600\n");
    let mut peer = Peer::start_in(home, Over::Stdio, &["--yes"]).await;
    peer.initialize("2025-11-25").await;
    let listed = peer.ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "greet", "{listed}");
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["result"]["_meta"]["toolgate/stale"], true, "{listed}");
}

/// How old a server is, is found out once and remembered, also by the next start; a server that has
/// changed meanwhile is asked anew.
#[test]
fn how_a_server_speaks_is_remembered() {
    let home = home(&json!({"env": {"TOOLS": tool("greet"), "SEEN": "seen"}}), "");
    let asked = |method: &str| {
        let seen = std::fs::read_to_string(home.path().join("seen")).unwrap();
        seen.lines().filter(|line| line.contains(&format!("\"{method}\""))).count()
    };
    for run in 1..=3 {
        assert_eq!(home.run(&["call", "greet", "{}", "--yes"]).code, 0);
        assert_eq!((asked("server/discover"), asked("initialize")), (1, run));
    }
}

#[test]
fn the_doctor_shows_what_each_upstream_says() {
    let well = home(&json!({}), "").run(&["doctor", "--yes"]);
    assert_eq!(well.code, 0, "{}", well.stderr);
    assert!(well.stdout.contains("well  one (stdio, MCP 2025-11-25): 1 tools"), "{}", well.stdout);
    assert!(well.stdout.contains("      $ sh server.sh one\n"), "{}", well.stdout);
    assert!(well.stdout.contains("server one is starting"), "{}", well.stdout);
    let secret = json!({"API_KEY": "hunter2-hunter2-hunter2"});
    let args = json!(["-c", "echo no database at $API_KEY >&2; exit 7"]);
    let ill = home(&json!({"args": args, "env": secret}), "").run(&["doctor", "--yes"]);
    assert_eq!(ill.code, 6, "{}", ill.stderr);
    assert!(ill.stdout.contains("ill   one (stdio): the upstream's process has ended"));
    assert!(ill.stdout.contains("no database at"), "{}", ill.stdout);
    assert!(!ill.stdout.contains("hunter2"), "{}", ill.stdout);
}

/// A child gets a short list of harmless variables, and what the file says.
#[test]
fn a_child_does_not_inherit_the_environment() {
    let home = home(&json!({"args": ["-c", "env | sort | cut -d= -f1 | tr '\\n' ' ' >&2"]}), "");
    let ran = home.run(&["doctor", "--yes"]);
    let allowed = [
        "HOME",
        "LANG",
        "LC_ALL",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "TOOLS",
        "TOOLGATE_CHILD",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    ];
    let line = ran.stdout.lines().find(|line| line.contains("TOOLGATE_CHILD")).unwrap();
    for name in line.split_whitespace() {
        assert!(allowed.contains(&name), "`{name}` was passed on: {line}");
    }
}
