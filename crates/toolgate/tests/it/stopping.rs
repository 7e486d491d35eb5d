//! Ends and disturbances: signals, second instances, taken ports, lost clients, garbage.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::Ran;
use crate::gate::{Home, PATIENCE};
use crate::peer::{Over, Peer};
use crate::web;

const REVISION: &str = "2025-11-25";

#[tokio::test]
async fn ctrl_c_lets_a_running_call_finish() {
    for over in [Over::Stdio, Over::Http, Over::Sse] {
        let mut peer = Peer::start(over, &["--mode", "native"]).await;
        peer.initialize(REVISION).await;
        let slow = json!({"name": "reports_build_annual", "_meta": {"progressToken": 1},
            "arguments": {"year": 2026, "steps": 10, "step_ms": 50}});
        let id = peer.begin("tools/call", slow).await;
        assert_eq!(peer.next().await["method"], "notifications/progress");
        peer.gate.interrupt();
        let answer = peer.answer_to(id).await;
        assert_eq!(answer["result"]["structuredContent"]["report_id"], "rpt_2026", "{over:?}");
        let (home, gate) = peer.leave();
        assert_eq!(gate.end().await.code(), Some(0), "{over:?}: {}", home.stderr());
        assert_eq!(home.last_status().as_deref(), Some("completed"), "{over:?}");
    }
}

#[tokio::test]
async fn a_call_longer_than_the_deadline_is_cancelled_and_recorded() {
    let home = Home::new();
    home.write(
        "gate.yaml",
        "mode: native\nlimits: {shutdown_ms: 50}\nupstreams: {demo: {type: demo}}\n",
    );
    let mut peer = Peer::start_in(home, Over::Http, &["--config", "gate.yaml"]).await;
    peer.initialize(REVISION).await;
    let slow = json!({"name": "reports_build_annual", "_meta": {"progressToken": 1},
        "arguments": {"year": 2026, "steps": 100, "step_ms": 500}});
    peer.begin("tools/call", slow).await;
    assert_eq!(peer.next().await["method"], "notifications/progress");
    peer.gate.interrupt();
    let (home, gate) = peer.leave();
    assert_eq!(gate.end().await.code(), Some(0), "{}", home.stderr());
    assert_ne!(home.last_status().as_deref(), Some("completed"));
    assert_ne!(home.last_status().as_deref(), Some("open"), "every record is closed");
}

#[tokio::test]
async fn a_second_gate_on_the_same_data_names_the_first() {
    let home = Home::new();
    let (_gate, said) = home.listen(&["up", "--port", "0"]).await;
    let url = said["url"].as_str().unwrap();
    for second in [&["up", "--port", "0"][..], &["serve"], &["call", "reports_list_reports"]] {
        let Ran { code, stdout, stderr } = home.run(second);
        assert_eq!((code, stdout.as_str()), (5, ""), "{second:?}: {stderr}");
        assert!(stderr.contains(url) && stderr.contains("--data"), "{stderr}");
    }
    assert_eq!(home.run(&["records", "list"]).code, 0, "reading is allowed");
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let Ran { code, stdout, stderr } = home.run(&["up", "--port", &port]);
    assert_eq!((code, stdout.as_str()), (5, ""), "{stderr}");
    assert!(stderr.contains(&format!("port {port} on 127.0.0.1 is in use")), "{stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
}

/// Only JSON-RPC comes back on stdout; `Peer` ends the test at any other line.
#[tokio::test]
async fn garbage_on_a_pipe_gets_errors_and_the_gate_lives_on() {
    let mut peer = Peer::start(Over::Stdio, &["--log", "trace"]).await;
    let long = format!("\"{}\"", "x".repeat(17 * 1024 * 1024));
    let rows = [
        ("garbage", -32700),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\":", -32700),
        ("[]", -32600),
        ("7", -32600),
        ("{\"id\": 5, \"method\": \"ping\"}", -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"ping\"}", -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"tools/call\", \"params\": {}}", -32602),
        (long.as_str(), -32600),
    ];
    for (line, code) in rows {
        peer.raw(line).await;
        let answer = peer.next().await;
        assert_eq!(answer["error"]["code"], code, "{} {answer}", &line[..line.len().min(60)]);
    }
    for blank in ["", "   ", "\u{feff}"] {
        peer.raw(blank).await;
    }
    peer.initialize(REVISION).await;
    assert_eq!(peer.ask("ping", json!({})).await["result"], json!({}));
}

/// The same over HTTP, where the status tells before the body does.
#[tokio::test]
async fn garbage_over_http_gets_a_status_and_an_error() {
    let home = Home::new();
    let (_gate, said) = home.listen(&["up", "--port", "0"]).await;
    let url = said["url"].as_str().unwrap();
    let json_type = [("content-type", "application/json")];
    for (body, code) in [("garbage", -32700), ("[]", -32600), ("7", -32600), ("", -32700)] {
        let sent = web::send(http::Method::POST, url, &json_type, body.to_owned()).await;
        let page = web::read(sent).await;
        assert_eq!(page.status, 400, "{body}");
        let answer: serde_json::Value = serde_json::from_str(&page.body).unwrap();
        assert_eq!(answer["error"]["code"], code, "{body}");
    }
    let sent = web::send(http::Method::POST, url, &[("content-type", "text/plain")], "{}".into());
    assert_eq!(web::read(sent.await).await.status, 415);
    let sent = web::send(http::Method::GET, url, &[], String::new()).await;
    assert_eq!(web::read(sent).await.status, 405);
    let base = url.strip_suffix("/mcp").unwrap();
    let sent = web::send(http::Method::GET, &format!("{base}/healthz"), &[], String::new()).await;
    assert_eq!(web::read(sent).await.body, "ok\n");
}

/// CO-158 (the wire): standard output carries the protocol and nothing else, however talkative the
/// gate, its upstreams and its client are; what is logged goes to standard error.
#[tokio::test]
async fn every_byte_on_standard_output_is_json_rpc() {
    let home = Home::new();
    let noisy = r#"echo "banner on stdout"; echo "noise on stderr" >&2; while read -r l; do echo '{"log": true}'; done"#;
    let noisy = json!({"command": "sh", "args": ["-c", noisy]});
    let yaml =
        format!("log: trace\nmode: native\nupstreams: {{demo: {{type: demo}}, noisy: {noisy}}}\n");
    home.write("gate.yaml", &yaml);
    let mut gate = home.start(&["serve", "--config", "gate.yaml"]);
    let (mut stdin, mut stdout) = (gate.stdin(), gate.stdout());
    let hello = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let slow = json!({"name": "reports_build_annual", "_meta": {"progressToken": 1},
        "arguments": {"year": 2026, "steps": 3, "step_ms": 1}});
    let said = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string(),
        "garbage".to_owned(),
        "\u{0}".to_owned(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "no/such"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": slow}).to_string(),
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "none"}})
            .to_string(),
    ];
    stdin.write_all(said.map(|line| line + "\n").concat().as_bytes()).await.unwrap();
    drop(stdin);
    let mut heard = Vec::new();
    let reading = tokio::time::timeout(PATIENCE, stdout.read_to_end(&mut heard));
    reading.await.unwrap().unwrap();
    assert!(gate.end().await.success(), "{}", home.stderr());
    assert_eq!(heard.last(), Some(&b'\n'));
    let text = String::from_utf8(heard).unwrap();
    let mut answered = Vec::new();
    for line in text.trim_end_matches('\n').split('\n') {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        answered.extend(message["id"].as_u64());
    }
    answered.sort_unstable();
    assert_eq!(answered, [1, 2, 3, 4, 5], "{text}");
    assert!(!home.stderr().is_empty(), "the log is elsewhere");
}

/// A client that closes its pipe ends the gate, once its calls are through.
#[tokio::test]
async fn a_client_that_goes_away_takes_the_gate_with_it() {
    let mut peer = Peer::start(Over::Stdio, &["--mode", "native"]).await;
    peer.initialize(REVISION).await;
    let slow = json!({"name": "reports_build_annual", "_meta": {"progressToken": 1},
        "arguments": {"year": 2026, "steps": 5, "step_ms": 50}});
    peer.begin("tools/call", slow).await;
    assert_eq!(peer.next().await["method"], "notifications/progress");
    let (home, gate) = peer.leave();
    assert_eq!(gate.end().await.code(), Some(0), "{}", home.stderr());
    assert_eq!(home.last_status().as_deref(), Some("completed"));
}

/// A gate that was killed leaves no half-written file, and its data opens again.
#[tokio::test]
async fn a_killed_gate_leaves_data_that_opens_again() {
    let mut peer = Peer::start(Over::Http, &["--mode", "native"]).await;
    peer.initialize(REVISION).await;
    let slow = json!({"name": "reports_build_annual", "_meta": {"progressToken": 1},
        "arguments": {"year": 2026, "steps": 100, "step_ms": 500}});
    peer.begin("tools/call", slow).await;
    assert_eq!(peer.next().await["method"], "notifications/progress");
    let (home, gate) = peer.leave();
    gate.kill().await;
    assert_eq!(home.last_status().as_deref(), Some("open"), "the opening was durable");
    let mut peer = Peer::start_in(home, Over::Http, &["--mode", "native"]).await;
    peer.initialize(REVISION).await;
    let listed = peer.call("reports_list_reports", json!({})).await;
    assert_eq!(listed["result"]["structuredContent"]["total"], 0);
    let open = peer.home.json(&["records", "list", "--status", "open"]);
    assert_eq!(open[0]["tool"], "demo/reports_build_annual", "what was cut off can be found");
}
