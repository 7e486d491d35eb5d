//! A policy file as its operator meets it: looked over, tried, asked, and changed under a running
//! gate.

use serde_json::{Value, json};

use crate::Ran;
use crate::gate::{Home, PATIENCE};
use crate::peer::{Over, Peer};
use crate::web;

const ALL: &str = "@id(\"all\") permit (principal, action, resource);\n";
const CONFIG: &str = "mode: native\nupstreams: {demo: {type: demo}}\npolicy: gate.cedar\n";

fn home(policy: &str) -> Home {
    let home = Home::new();
    home.write("gate.yaml", CONFIG);
    home.write("gate.cedar", policy);
    home
}

/// Asks the health endpoint until it says what is wanted of it.
async fn until_healthy(url: &str, wanted: bool) -> String {
    let url = url.replace("/mcp", "/healthz");
    let asking = async {
        loop {
            let response = web::send(http::Method::GET, &url, &[], String::new()).await;
            let page = web::read(response).await;
            assert_eq!(page.status, 200);
            if (page.body != "ok\n") != wanted {
                return page.body;
            }
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("the gate looks at its policy")
}

async fn event(peer: &mut Peer) -> Value {
    peer.call("calendar_get_event", json!({"event_id": "evt_2001"})).await
}

/// The bad input of the issue: the last good set stays in force, and doctor and health say so.
#[tokio::test]
async fn a_changed_policy_comes_into_force_and_a_broken_one_does_not() {
    let flags = ["--config", "gate.yaml"];
    let mut peer = Peer::start_in(home(ALL), Over::Http, &flags).await;
    peer.initialize("2025-11-25").await;
    let url = peer.url().unwrap();
    assert_eq!(until_healthy(&url, true).await, "ok\n");
    assert!(event(&mut peer).await["result"]["isError"].is_null());

    let broken =
        format!("{ALL}forbid (principal, action, resource) when {{ resource.nme == \"x\" }};\n");
    peer.home.write("gate.cedar", &broken);
    let said = until_healthy(&url, false).await;
    assert!(
        said.starts_with("ok\n") && said.contains("the last good policy stays in force"),
        "{said}"
    );
    assert!(event(&mut peer).await["result"]["isError"].is_null());
    let Ran { code, stderr, .. } = peer.home.run(&["doctor", "--config", "gate.yaml"]);
    assert_eq!(code, 3, "{stderr}");
    assert!(
        stderr.contains("gate.cedar: line 2") && stderr.contains("did you mean `name`?"),
        "{stderr}"
    );
    assert!(stderr.contains("keeps the last good policy"), "{stderr}");

    let closed = format!("{ALL}forbid (principal, action, resource in Namespace::\"calendar\");\n");
    peer.home.write("gate.cedar", &closed);
    assert_eq!(until_healthy(&url, true).await, "ok\n");
    let refused = event(&mut peer).await;
    assert!(refused.to_string().contains("unknown tool"), "{refused}");
}

/// The bad input of the issue, of manifests: the last good set stays in force, and doctor and health
/// say so.
#[tokio::test]
async fn a_changed_manifest_comes_into_force_and_a_broken_one_does_not() {
    const DECLARED: &str = "{\"adapter_id\": \"it\", \"name\": \"It\", \"owner_role\": \"ops\", \
        \"protocol\": \"custom\", \"capabilities\": [{\"capability_id\": \"it.peek\", \"tool\": \"peek\", \
        \"class\": \"observe\", \"approval_mode\": \"read_only\"GATE}]}";
    let home = Home::new();
    let config =
        "mode: native\nupstreams: {it: {type: stub, tools: tools.json, manifest: it.json}}\n";
    home.write("gate.yaml", config);
    home.write("tools.json", "[{\"name\": \"peek\", \"inputSchema\": {\"type\": \"object\"}}]");
    home.write("it.json", &DECLARED.replace("GATE", ""));
    let mut peer = Peer::start_in(home, Over::Http, &["--config", "gate.yaml"]).await;
    peer.initialize("2025-11-25").await;
    let url = peer.url().unwrap();
    assert_eq!(until_healthy(&url, true).await, "ok\n");
    assert!(peer.call("peek", json!({})).await["result"]["isError"].is_null());

    peer.home.write("it.json", &DECLARED.replace("GATE", ", \"requires_gat\": \"OPS\""));
    let said = until_healthy(&url, false).await;
    assert!(said.starts_with("ok\nmanifests: ") && said.contains("last good ones"), "{said}");
    assert!(peer.call("peek", json!({})).await["result"]["isError"].is_null());
    let Ran { code, stderr, .. } = peer.home.run(&["doctor", "--config", "gate.yaml"]);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("it.json") && stderr.contains("requires_gate"), "{stderr}");
    assert!(stderr.contains("keeps the last good manifests"), "{stderr}");

    peer.home.write("it.json", &DECLARED.replace("GATE", ", \"requires_gate\": \"OPS\""));
    assert_eq!(until_healthy(&url, true).await, "ok\n");
    let refused = peer.call("peek", json!({})).await;
    assert!(refused.to_string().contains("APPROVAL_PENDING"), "{refused}");
}

#[test]
fn a_gate_does_not_start_with_a_mistake_in_its_policy() {
    let home = home("permit (principal == Usr::\"ann\", action, resource);\n");
    let Ran { code, stderr, .. } = home.run(&["up", "--port", "0", "--config", "gate.yaml"]);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("gate.cedar: line 1") && stderr.contains("Usr"), "{stderr}");
    std::fs::remove_file(home.path().join("gate.cedar")).unwrap();
    let Ran { code, stderr, .. } = home.run(&["up", "--port", "0", "--config", "gate.yaml"]);
    assert_eq!(code, 3, "a policy that is not there permits nothing: {stderr}");
}

#[test]
fn what_is_wrong_with_a_policy_is_told_with_an_exit_code() {
    let check = |policy: &str, cases: &str, command: &[&str], wanted: i32, part: &str| {
        let home = home(policy);
        home.write("cases.yaml", cases);
        let Ran { code, stdout, stderr } =
            home.run(&[command, &["--config", "gate.yaml"]].concat());
        assert_eq!(code, wanted, "{command:?}: {stdout}{stderr}");
        assert!(stdout.contains(part) || stderr.contains(part), "{command:?}: {stdout}{stderr}");
    };
    let case = |expect: &str| {
        format!("cases: [{{name: a, principal: ann, tool: {{name: t}}, expect: {expect}}}]\n")
    };
    check(ALL, "", &["policy", "check"], 0, "1 policies can be used");
    check("permit (", "", &["policy", "check"], 3, "line 1");
    check(ALL, &case("allow"), &["policy", "test", "cases.yaml"], 0, "1 cases");
    check(ALL, &case("deny"), &["policy", "test", "cases.yaml"], 1, "a: the answer is \"allow\"");
    check(ALL, &case("maybe"), &["policy", "test", "cases.yaml"], 2, "line 1");
    check(ALL, "cases: [", &["policy", "test", "cases.yaml"], 2, "cannot be read");
    check(ALL, "", &["policy", "explain", "weather_get_current"], 0, "rules  all");
    check(ALL, "", &["policy", "explain", "no_such_tool"], 1, "no tool");
    check(ALL, "", &["policy", "explain", "x", "--as", "robot:r"], 2, "no kind of caller");
    check(ALL, "", &["policy", "explain", "rec_none"], 6, "nothing is recorded");
    check(
        ALL,
        "",
        &["policy", "schema"],
        0,
        "entity Tool, Resource, Prompt in [Upstream, Namespace]",
    );
}

/// Which rule decided a call that was made, from its record.
#[test]
fn a_recorded_call_is_explained_by_the_rule_of_then() {
    let home = home(ALL);
    let args = ["call", "weather_get_current", "{\"city\": \"Berlin\"}", "--config", "gate.yaml"];
    let called = home.json(&args);
    let record = called["record_id"].as_str().unwrap();
    let explained = home.json(&["policy", "explain", record, "--config", "gate.yaml"]);
    assert_eq!(explained["decision"]["matched_rule_ids"], json!(["all"]));
}
