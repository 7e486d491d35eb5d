//! Where the gate listens, under which name and for whom: defaults, flags over files, tokens.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::Ran;
use crate::gate::Home;
use crate::peer::{Over, Peer};
use crate::web;

const REVISION: &str = "2025-11-25";
/// A tool list as the seed's `catalog` file holds it.
const CATALOG: &str = r#"[{"name": "search_database", "description": "Search the product database",
  "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}]"#;

/// CW-77, CW-99, CW-110: with a file and nothing else, a client's child process speaks on stdio.
#[tokio::test]
async fn serve_needs_no_flag_but_the_file() {
    let home = Home::new();
    home.write("gate.yaml", "name: example-gateway\nupstreams: {demo: {type: demo}}\n");
    let mut peer = Peer::start_in(home, Over::Stdio, &["--config", "gate.yaml"]).await;
    let answer = peer.initialize(REVISION).await;
    assert_eq!(answer["serverInfo"]["name"], "example-gateway");
}

/// CW-78: the proxy mode lists the tools themselves, and ours beside them.
#[tokio::test]
async fn transparent_mode_is_a_flag() {
    let mut peer = Peer::start(Over::Stdio, &["--mode", "transparent"]).await;
    peer.initialize(REVISION).await;
    let listed = names(&peer.ask("tools/list", json!({})).await);
    assert!(listed.contains(&"payments_issue_refund".to_owned()), "{listed:?}");
    for own in ["tool_hydrate", "tool_execute", "tool_view"] {
        assert!(listed.contains(&own.to_owned()), "{own}");
    }
    assert!(!listed.contains(&"tool_browse".to_owned()));
}

/// CW-79: a stub stands in for an upstream with nothing but definitions.
#[tokio::test]
async fn a_stub_is_an_upstream() {
    let home = Home::new();
    let tools = CATALOG.replace('\n', "");
    let yaml = format!("mode: native\nupstreams: {{x: {{type: stub, tools: {tools}}}}}\n");
    home.write("gate.yaml", &yaml);
    let mut peer = Peer::start_in(home, Over::Stdio, &["--config", "gate.yaml"]).await;
    peer.initialize(REVISION).await;
    assert_eq!(names(&peer.ask("tools/list", json!({})).await), ["search_database"]);
    let answer = peer.call("search_database", json!({"query": "lamp"})).await;
    assert!(answer["result"]["content"].is_array(), "{answer}");
}

/// CW-111, CW-113: the seed's file, with a catalogue beside it, serves over SSE on its port.
#[tokio::test]
async fn the_seeds_file_serves_over_sse_on_its_port() {
    let home = Home::new();
    home.write("my_catalog.json", CATALOG);
    let port = free_port();
    let yaml = format!(
        "catalog: my_catalog.json\nmode: gateway\ntransport: sse\nhost: 127.0.0.1\nport: {port}\n"
    );
    home.write("toolgate.yaml", &yaml);
    let (_gate, said) = home.listen(&["mcp", "serve", "--config", "toolgate.yaml"]).await;
    assert_eq!(said["url"], format!("http://127.0.0.1:{port}/sse"));
    assert_eq!(said["tools"], 1);
}

/// CW-112: flags override the file, in the seed's form of the command too.
#[tokio::test]
async fn a_flag_outweighs_the_file() {
    let home = Home::new();
    home.write("my_catalog.json", CATALOG);
    home.write(
        "toolgate.yaml",
        "catalog: my_catalog.json\nmode: native\ntransport: http\nport: 1\n",
    );
    let (from_file, port) = (["--config", "toolgate.yaml"], free_port().to_string());
    let seed = [&["mcp", "serve"], &from_file[..], &["--transport", "sse", "--port", &port]];
    let (gate, said) = home.listen(&seed.concat()).await;
    assert_eq!(said["url"], format!("http://127.0.0.1:{port}/sse"));
    assert_eq!(said["mode"], "native");
    gate.interrupt();
    assert_eq!(gate.end().await.code(), Some(0));
    let flags = ["serve", "--port", "0", "--mode", "gateway", "--host", "localhost"];
    let (_gate, said) = home.listen(&[&flags, &from_file[..]].concat()).await;
    assert!(said["url"].as_str().unwrap().ends_with("/mcp"), "{said}");
    assert_eq!(said["mode"], "gateway");
}

/// CW-114.
#[tokio::test]
async fn only_this_machine_is_listened_to() {
    let home = Home::new();
    let (_gate, said) = home.listen(&["up", "--port", "0"]).await;
    assert!(said["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{said}");
}

/// CW-115: a port that others can reach wants to know who they are.
#[test]
fn an_open_door_is_refused() {
    let home = Home::new();
    let Ran { code, stdout, stderr } = home.run(&["up", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!((code, stdout.as_str()), (3, ""), "{stderr}");
    assert!(stderr.contains("hint: set `auth.tokens`"), "{stderr}");
    assert!(!home.data().exists(), "nothing was begun");
}

/// CW-120, C14: whoever opens the door leaves a record of it; pages elsewhere are still told nothing.
#[tokio::test]
async fn an_open_door_is_put_on_record() {
    let home = Home::new();
    let flags = ["up", "--host", "0.0.0.0", "--port", "0", "--insecure-no-auth"];
    let (gate, said) = home.listen(&flags).await;
    let url = said["url"].as_str().unwrap().replace("0.0.0.0", "127.0.0.1");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let page = web::post(&url, &[], &ping).await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(!page.headers.keys().any(|name| name.as_str().starts_with("access-control")));
    gate.interrupt();
    assert_eq!(gate.end().await.code(), Some(0));
    let listed = home.json(&["records", "list"]).to_string();
    assert!(listed.contains("gate/start") && listed.contains("automation:toolgate"), "{listed}");
}

#[tokio::test]
async fn a_token_opens_the_door_and_nothing_else_does() {
    let home = Home::new();
    let yaml = "host: 0.0.0.0\nport: 0\nupstreams: {demo: {type: demo}}\n\
                auth: {tokens: [{name: ann, token: secret-of-ann}]}\n";
    home.write("gate.yaml", yaml);
    let (_gate, said) = home.listen(&["up", "--config", "gate.yaml"]).await;
    let url = said["url"].as_str().unwrap().replace("0.0.0.0", "127.0.0.1");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    for headers in
        [&[][..], &[("authorization", "Bearer wrong")], &[("authorization", "Basic YTpi")]]
    {
        let page = web::post(&url, headers, &initialize).await;
        assert_eq!(page.status, 401, "{headers:?}");
        assert_eq!(page.headers.get("www-authenticate").unwrap(), "Bearer");
        assert!(!page.body.contains("secret"), "{}", page.body);
    }
    let page = web::post(&url, &[("authorization", "Bearer secret-of-ann")], &initialize).await;
    assert_eq!(page.status, 200, "{}", page.body);
    let session = page.headers.get("mcp-session-id").unwrap().to_str().unwrap();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let stolen = web::post(&url, &[("mcp-session-id", session)], &list).await;
    assert_eq!(stolen.status, 401, "a session proves nothing");
}

/// CO-161, CO-194: a session is its owner's alone, to post in, to listen to and to end; to anybody
/// else it is unknown, like one that never was.
#[tokio::test]
async fn anothers_session_is_an_unknown_one() {
    let home = Home::new();
    let yaml = "port: 0\nupstreams: {demo: {type: demo}}\nauth: {tokens: [\
                {name: ann, token: secret-of-ann-0123}, {name: bob, token: secret-of-bob-0123}]}\n";
    home.write("gate.yaml", yaml);
    let (_gate, said) = home.listen(&["up", "--config", "gate.yaml"]).await;
    let url = said["url"].as_str().unwrap();
    let (ann, bob) = ("Bearer secret-of-ann-0123", "Bearer secret-of-bob-0123");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    let page = web::post(url, &[("authorization", ann)], &initialize).await;
    let session = page.headers.get("mcp-session-id").unwrap().to_str().unwrap().to_owned();
    let ask = async |method: &http::Method, who: &str, session: &str| {
        let headers = [
            ("authorization", who),
            ("mcp-session-id", session),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
        let response = web::send(method.clone(), url, &headers, ping).await;
        (response.status(), response)
    };
    for method in [http::Method::POST, http::Method::GET, http::Method::DELETE] {
        let (foreign, taken) = ask(&method, bob, &session).await;
        let (unknown, never) = ask(&method, bob, "0123456789abcdef0123456789abcdef").await;
        assert_eq!((foreign.as_u16(), foreign), (404, unknown), "{method}");
        assert_eq!(web::read(taken).await.body, web::read(never).await.body, "{method}");
    }
    assert_eq!(ask(&http::Method::POST, ann, &session).await.0, 200);
    assert_eq!(ask(&http::Method::GET, ann, &session).await.0, 200);
    assert_eq!(ask(&http::Method::DELETE, ann, &session).await.0, 204);
}

/// A client that was not told to begin anew goes on where it was; one that ended stays ended.
#[tokio::test]
async fn a_session_outlives_the_process_that_began_it() {
    let home = Home::new();
    let up = ["up", "--port", "0"];
    let (gate, said) = home.listen(&up).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    let page = web::post(said["url"].as_str().unwrap(), &[], &initialize).await;
    let session = page.headers.get("mcp-session-id").unwrap().to_str().unwrap().to_owned();
    gate.kill().await;
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let headers = [("mcp-session-id", session.as_str())];
    let (gate, said) = home.listen(&up).await;
    let url = said["url"].as_str().unwrap();
    assert_eq!(web::post(url, &headers, &ping).await.status, 200);
    let ended = web::send(http::Method::DELETE, url, &headers, String::new()).await;
    assert_eq!(ended.status(), 204);
    gate.kill().await;
    let (_gate, said) = home.listen(&up).await;
    assert_eq!(web::post(said["url"].as_str().unwrap(), &headers, &ping).await.status, 404);
}

#[tokio::test]
async fn a_web_page_cannot_reach_a_local_gate() {
    let home = Home::new();
    let (_gate, said) = home.listen(&["up", "--port", "0"]).await;
    let url = said["url"].as_str().unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let page = web::post(url, &[("origin", "https://evil.example")], &ping).await;
    assert_eq!(page.status, 403);
    let page = web::post(url, &[("host", "evil.example")], &ping).await;
    assert_eq!(page.status, 421);
    let page = web::post(url, &[], &ping).await;
    assert_eq!(page.status, 200, "{}", page.body);
}

/// Whatever the gate keeps, only its owner can read.
#[tokio::test]
async fn the_data_is_its_owners_alone() {
    let mut peer = Peer::start(Over::Stdio, &[]).await;
    peer.initialize(REVISION).await;
    let export = json!({"tool_id": "reports_export_ledger", "args": {}});
    peer.call("tool_execute", export).await;
    let note = json!({"tool_id": "reports_build_annual", "args": {"year": 2026, "step_ms": 0}});
    peer.call("tool_execute", note).await;
    let data = peer.home.data();
    assert!(["toolgate.db", "lock", "demo.json"].iter().all(|name| data.join(name).exists()));
    let kept = walk(&data);
    assert!(kept > 5, "{kept} entries");
}

/// Checks a folder and all below it; returns how much there was.
fn walk(path: &Path) -> usize {
    let meta = std::fs::metadata(path).unwrap();
    let (mode, wanted) =
        (meta.permissions().mode() & 0o777, if meta.is_dir() { 0o700 } else { 0o600 });
    assert_eq!(mode, wanted, "{} is {mode:o}", path.display());
    if !meta.is_dir() {
        return 1;
    }
    let below = std::fs::read_dir(path).unwrap();
    1 + below.map(|entry| walk(&entry.unwrap().path())).sum::<usize>()
}

fn names(listed: &Value) -> Vec<String> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A port that was free a moment ago, for files that must name one.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
