//! What a person does with the history from the command line: settles keys in doubt, carries entries
//! out, plays them back, decides them again, lets old ones go.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::gate::Home;
use crate::modes::ringing;
use crate::peer::{Over, Peer};

/// A service that breaks on its first payment of each key, and takes every later one.
fn bank() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let paid = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&paid);
    std::thread::spawn(move || {
        let mut seen = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap();
            let line = String::from_utf8_lossy(&head[..length]).lines().next().unwrap().to_owned();
            count.fetch_add(1, Ordering::SeqCst);
            let (status, body) = if seen.contains(&line) {
                ("200 OK", r#"{"paid": true}"#)
            } else {
                ("500 Internal Server Error", "out of paper")
            };
            seen.push(line);
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, paid)
}

/// A gate before that bank, whose `pay` takes a key.
fn before_the_bank(address: SocketAddr) -> Home {
    let home = Home::new();
    let key = json!({"name": "key", "in": "query", "required": true, "schema": {"type": "string"}});
    let pay = json!({
        "operationId": "pay", "summary": "Pay.", "parameters": [key],
        "responses": {"200": {"description": "paid"}},
    });
    let spec = json!({
        "openapi": "3.1.0", "info": {"title": "Bank", "version": "1"},
        "servers": [{"url": format!("http://{address}")}], "paths": {"/pay": {"post": pay}},
    });
    let capability = json!({
        "capability_id": "bank.pay", "tool": "pay", "class": "act",
        "approval_mode": "network", "idempotency": {"required": true, "arg": "key"},
    });
    let manifest = json!({
        "manifest_version": "toolgate.adapter.v1", "adapter_id": "bank", "version": "1.0.0",
        "name": "Bank", "owner_role": "ops", "protocol": "openapi", "capabilities": [capability],
    });
    home.write("bank.json", &spec.to_string());
    home.write("manifest.json", &manifest.to_string());
    let bank = json!({"type": "openapi", "spec": "bank.json", "manifest": "manifest.json"});
    home.write("toolgate.yaml", &json!({"upstreams": {"bank": bank}}).to_string());
    home
}

/// The record of the one key in doubt.
fn in_doubt(home: &Home) -> String {
    let lines = home.json(&["claims", "list", "--state", "unknown"]);
    assert_eq!(lines.as_array().unwrap().len(), 1, "{lines}");
    lines[0]["record_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_key_in_doubt_waits_for_a_person() {
    let (address, paid) = bank();
    let home = before_the_bank(address);
    let pay = |key: &str| home.run(&["call", "pay", &json!({"key": key}).to_string()]);
    let broken = pay("k1");
    assert!(broken.stderr.contains("UPSTREAM_ERROR"), "{}", broken.stderr);
    let refused = pay("k1");
    assert!(refused.stderr.contains("IDEMPOTENCY_CONFLICT"), "{}", refused.stderr);
    let record = in_doubt(&home);
    let answer = r#"{"paid": "by hand"}"#;
    let confirmed = home.run(&["claims", "confirm", &record, "--answer", answer]);
    assert_eq!(confirmed.code, 0, "{}", confirmed.stderr);
    assert!(pay("k1").stdout.contains("by hand"));
    assert_eq!(paid.load(Ordering::SeqCst), 1);
    pay("k2");
    let released = home.run(&["claims", "release", &in_doubt(&home)]);
    assert_eq!(released.code, 0, "{}", released.stderr);
    assert!(pay("k2").stdout.contains("true"));
    assert_eq!(paid.load(Ordering::SeqCst), 3);
    let again = home.run(&["claims", "release", &record]);
    assert_ne!(again.code, 0, "what was settled is settled");
    assert_eq!(home.run(&["records", "verify"]).code, 0);
}

#[test]
fn entries_are_carried_out_in_full_and_as_columns() {
    let home = Home::new();
    for run in ["one", "two"] {
        assert_eq!(home.run(&["call", "payments_check_balance", "--run", run]).code, 0);
    }
    let all = home.run(&["records", "export"]).stdout;
    let lines: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 2, "{all}");
    assert!(lines.windows(2).all(|pair| pair[1]["prev_hash"] == pair[0]["hash"]), "{all}");
    let file = home.path().join("one.csv");
    let ran = home.run(&[
        "records",
        "export",
        "--format",
        "csv",
        "--run",
        "one",
        "-o",
        file.to_str().unwrap(),
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let csv = std::fs::read_to_string(file).unwrap();
    assert!(csv.starts_with("seq,record,at,status,tool,"), "{csv}");
    assert!(csv.contains("demo/payments_check_balance") && csv.contains(",one,"), "{csv}");
    assert!(!csv.contains(",two,"), "{csv}");
    let nowhere = home.run(&["records", "export", "-o", "no/such/folder"]);
    assert!(nowhere.stderr.contains("cannot be written"), "{}", nowhere.stderr);
}

#[test]
fn a_cassette_plays_what_was_recorded_and_nothing_else() {
    let home = Home::new();
    let heard = home.run(&["call", "payments_check_balance", "--run", "one"]).stdout;
    let tape = home.path().join("tape.json");
    let cassette = home.run(&["records", "cassette", "one", "-o", tape.to_str().unwrap()]);
    assert_eq!(cassette.code, 0, "{}", cassette.stderr);
    let player = Home::new();
    std::fs::copy(&tape, player.path().join("tape.json")).unwrap();
    player.write("toolgate.yaml", "upstreams: {demo: {type: cassette, file: tape.json}}");
    let played = player.run(&["call", "payments_check_balance"]);
    assert_eq!((played.code, played.stdout.as_str()), (0, heard.as_str()), "{}", played.stderr);
    let other = player.run(&["call", "payments_check_balance", r#"{"account": "another"}"#]);
    assert_ne!(other.code, 0, "{}", other.stdout);
}

/// What else a run did is nothing that a cassette plays, and what a key gave again was not called.
#[tokio::test]
async fn a_cassette_has_the_calls_that_tools_have_got() {
    let mut peer =
        Peer::start_in(ringing(1, ""), Over::Stdio, &["--yes", "--mode", "native"]).await;
    peer.initialize("2025-11-25").await;
    let meta = json!({"toolgate/run_id": "one", "toolgate/idempotency_key": "k1"});
    let call = json!({"name": "tool_0", "arguments": {}, "_meta": meta});
    for (method, params) in [
        ("tools/call", call.clone()),
        ("tools/call", call),
        ("resources/read", json!({"uri": "note://1", "_meta": meta})),
        ("prompts/get", json!({"name": "greet", "_meta": meta})),
    ] {
        let answer = peer.ask(method, params).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    let made = peer.home.run(&["records", "cassette", "one"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let tape: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(tape["exchanges"].as_array().unwrap().len(), 1, "{tape}");
    assert_eq!(tape["exchanges"][0]["tool"], "tool_0");
    let told = "3 records are no calls that a tool has got, and are left out";
    assert!(made.stderr.contains(told), "{}", made.stderr);
}

#[test]
fn a_time_is_decided_again_as_a_run_is() {
    let home = Home::new();
    for run in ["one", "two"] {
        home.run(&["call", "payments_check_balance", "--run", run]);
    }
    home.write("strict.cedar", r#"@id("nothing") forbid (principal, action, resource);"#);
    let equal = home.run(&["replay", "--since", "1h"]);
    assert_eq!((equal.code, equal.stdout.matches("equal").count()), (0, 2), "{}", equal.stderr);
    let strict = home.run(&["replay", "--since", "1h", "--policy", "strict.cedar"]);
    assert_eq!(strict.code, 1);
    assert!(strict.stderr.contains("2 of 2 calls came out differently"), "{}", strict.stderr);
    let one = home.run(&["replay", "--since", "1h", "--run", "two"]);
    assert_eq!(one.stdout.matches("equal").count(), 1, "{}", one.stdout);
    let before = home.run(&["replay", "--until", "1h"]);
    assert_eq!((before.code, before.stdout.contains("equal")), (0, false));
    for wrong in [&["replay"][..], &["replay", "one", "--since", "1h"]] {
        assert_eq!(home.run(wrong).code, 2, "{wrong:?}");
    }
}

/// Entries that take more than a megabyte together.
fn heavy() -> Home {
    let home = Home::new();
    home.write("long.json", &json!({"text": "word ".repeat(80_000)}).to_string());
    for _ in 0..3 {
        assert_ne!(home.run(&["call", "no_such_tool", "@long.json"]).code, 0);
    }
    home
}

fn sound(home: &Home) -> (u64, u64) {
    let report = home.json(&["records", "verify"]);
    (report["entries"].as_u64().unwrap(), report["purged"].as_u64().unwrap())
}

#[test]
fn what_is_pruned_lies_in_the_archive() {
    let home = heavy();
    let (entries, _) = sound(&home);
    let young = home.run(&["records", "prune", "--keep-days", "1"]).stdout;
    assert!(young.starts_with("0 entries removed"), "{young}");
    let removed = home.json(&["records", "prune", "--keep-mb", "1"])["removed"].as_u64().unwrap();
    assert!(removed > 0 && removed < entries, "{removed} of {entries}");
    assert_eq!(sound(&home), (entries - removed, removed));
    let archive = home.data().join("archive").join(format!("records-until-{removed:012}.jsonl"));
    let kept = std::fs::read_to_string(archive).unwrap();
    let seqs = kept.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].clone());
    assert_eq!(seqs.collect::<Vec<_>>(), (1..=removed).map(Value::from).collect::<Vec<_>>());
}

#[test]
fn an_archive_is_never_written_over() {
    let home = heavy();
    let (entries, _) = sound(&home);
    let folder = home.data().join("archive");
    let name = |seq: u64, again: &str| folder.join(format!("records-until-{seq:012}{again}.jsonl"));
    std::fs::create_dir(&folder).unwrap();
    for seq in 1..=entries {
        std::fs::write(name(seq, ""), "an archive of before").unwrap();
    }
    let removed = home.json(&["records", "prune", "--keep-mb", "1"])["removed"].as_u64().unwrap();
    for seq in 1..=entries {
        assert_eq!(std::fs::read_to_string(name(seq, "")).unwrap(), "an archive of before");
    }
    let kept = std::fs::read_to_string(name(removed, "-2")).unwrap();
    assert_eq!(kept.lines().count() as u64, removed);
}

#[test]
fn who_prunes_beside_another_is_told_to_wait() {
    let home = heavy();
    let before = sound(&home);
    let lock = std::fs::File::create(home.data().join("prune.lock")).unwrap();
    lock.lock().unwrap();
    let refused = home.run(&["records", "prune", "--keep-mb", "1"]);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(refused.stderr.contains("another process is removing"), "{}", refused.stderr);
    assert_eq!(sound(&home), before);
    drop(lock);
    assert_eq!(home.run(&["records", "prune", "--keep-mb", "1"]).code, 0);
}

/// Nothing leaves before its export is on disk.
#[test]
fn nothing_is_pruned_where_the_archive_cannot_be_written() {
    let home = heavy();
    let before = sound(&home);
    home.write("in-the-way", "a file");
    home.write("toolgate.yaml", "upstreams: {demo: {type: demo}}\nrecords: {archive: in-the-way}");
    let refused = home.run(&["records", "prune", "--keep-mb", "1"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("cannot be written"), "{}", refused.stderr);
    assert_eq!(sound(&home), before);
}
