//! What a manifest declares of its upstream beyond calls, seen from outside: the revision it is
//! spoken to in, the pages that may use it, bindings and schemas kept in files of their own.

use std::path::Path;

use serde_json::{Value, json};

use crate::gate::{Home, PATIENCE};
use crate::peer::{Over, Peer};
use crate::{Ran, run, toolgate, web};

const MANIFEST: &str = r#"{
  "adapter_id": "crm", "name": "Customers", "owner_role": "ops", "protocol": "mcp",
  "capabilities": [{
    "capability_id": "crm.find", "tool": "find", "class": "observe", "approval_mode": "read_only",
    "input_schema_ref": "schema://find.v1"
  }]
}"#;
const BINDING: &str = r#"{
  "capability_id": "crm.find", "adapter_id": "crm", "protocol_tool": "find",
  "capability_class": "observe",
  "approval_mode": "read_only",
  "requires_approval_gate": "OPS"
}"#;
const SCHEMA: &str = r#"{"type": "object", "properties": {"q": {"type": "string"}}}"#;

fn tools(schema: &str) -> String {
    format!("[{{\"name\": \"find\", \"inputSchema\": {schema}}}]")
}

fn home(config: &str) -> Home {
    let home = Home::new();
    home.write("gate.yaml", config);
    home.write("crm.json", MANIFEST);
    home.write("refund.json", BINDING);
    home.write("tools.json", &tools(SCHEMA));
    std::fs::create_dir(home.path().join("schemas")).unwrap();
    home.write("schemas/find.v1.json", SCHEMA);
    home
}

fn check(home: &Path, arguments: &[&str]) -> Ran {
    run(toolgate(home).args(["manifest", "check", "crm.json"]).args(arguments))
}

/// CO-80, CO-81: a reference that leads nowhere, to another schema, or out of its folder is named with
/// the file.
#[test]
fn a_check_follows_references_to_schemas() {
    let home = home("");
    let told = |arguments: &[&str]| {
        let Ran { stdout, stderr, .. } = check(home.path(), arguments);
        format!("{stdout}{stderr}")
    };
    let said = told(&["--tools", "tools.json"]);
    assert!(!said.contains("schema-"), "{said}");
    home.write("tools.json", &tools(r#"{"type": "object"}"#));
    let said = told(&["--tools", "tools.json"]);
    assert!(
        said.contains(
            "crm.json:5: error: the input schema of `find` is not that of `schemas/find.v1.json`"
        ),
        "{said}"
    );
    let said = told(&["--schemas", "elsewhere"]);
    assert!(said.contains("leads to `elsewhere/find.v1.json`, which is not there"), "{said}");
    // One remark among the others, where a gate stops at it.
    assert!(said.contains("(schema-missing)") && said.contains("P5 "), "{said}");
    home.write("schemas/find.v1.json", "[]");
    let said = told(&[]);
    assert!(said.contains("crm.json:5: `schemas/find.v1.json` is no schema"), "{said}");
    std::fs::remove_dir_all(home.path().join("schemas")).unwrap();
    let said = told(&[]);
    assert!(said.contains("warning: `schema://find.v1` could not be looked up"), "{said}");
    home.write("crm.json", &MANIFEST.replace("schema://find.v1", "../find.json"));
    assert!(told(&[]).contains("crm.json:5: `../find.json` leads out of its folder"));
}

/// CO-122: where a binding repeats its manifest it must equal it; both files and values are named.
#[test]
fn a_check_holds_bindings_against_their_manifest() {
    let home = home("");
    let told = |change: [&str; 2]| {
        home.write("refund.json", &BINDING.replace(change[0], change[1]));
        let Ran { code, stdout, stderr } = check(home.path(), &["--binding", "refund.json"]);
        assert_eq!(code, 3, "the manifest itself is not complete");
        format!("{stdout}{stderr}")
    };
    let fine = told(["", ""]);
    assert!(fine.contains("refund.json: crm.find\n") && !fine.contains("binding-"), "{fine}");
    let differs = told(["read_only", "destructive"]);
    let expected = "refund.json:4: error: `approval_mode` is `destructive` here and `read_only` in \
                    the manifest; write the same in both (crm.json:4) (binding-differs)";
    assert!(differs.contains(expected), "{differs}");
    assert!(
        told(["\"crm\"", "\"erp\""]).contains("refund.json:2: error: it binds the adapter `erp`")
    );
    assert!(told(["crm.find", "crm.wipe"]).contains("declares no capability `crm.wipe`"));
    assert!(told(["approval_mode", "aproval_mode"]).contains("did you mean `approval_mode`?"));
}

/// CO-124, CO-125: what a binding adds is in force; one that differs from its manifest keeps the gate
/// from starting.
#[test]
fn a_gate_takes_bindings_in() {
    let home = home(
        "upstreams: {crm: {type: stub, tools: tools.json, manifest: crm.json, bindings: [refund.json]}}\n",
    );
    let call = || home.run(&["call", "find", "--config", "gate.yaml"]);
    let Ran { stderr, .. } = call();
    assert!(stderr.contains("APPROVAL_PENDING"), "{stderr}");
    home.write("refund.json", &BINDING.replace("observe", "act"));
    let Ran { code, stderr, .. } = call();
    assert_eq!(code, 3, "{stderr}");
    let expected = "refund.json:3: `class` is `act` here and `observe` in the manifest; write the \
                    same in both (crm.json:4)";
    assert!(stderr.contains(expected), "{stderr}");
    home.write(
        "gate.yaml",
        "upstreams: {crm: {type: stub, tools: tools.json, bindings: [refund.json]}}\n",
    );
    let Ran { code, stderr, .. } = call();
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("has `bindings` and no `manifest`"), "{stderr}");
}

async fn until(peer: &mut Peer, part: &str) {
    let asking =
        async { while !peer.call("find", json!({"q": "x"})).await.to_string().contains(part) {} };
    tokio::time::timeout(PATIENCE, asking).await.expect(part);
}

/// CO-80, CO-81: the hash of a schema is pinned when its manifest is read, and read anew when the file
/// changes; what is no schema leaves the last good one in force.
#[tokio::test]
async fn a_gate_pins_the_schemas_of_its_manifests() {
    let config = "mode: native\nupstreams: {crm: {type: stub, tools: tools.json, manifest: crm.json, drift: hold}}\n";
    let home = home(config);
    let mut peer = Peer::start_in(home, Over::Http, &["--config", "gate.yaml"]).await;
    peer.initialize("2025-11-25").await;
    until(&mut peer, "\\\"q\\\":\\\"x\\\"").await;
    peer.home.write("schemas/find.v1.json", r#"{"type": "object", "title": "another"}"#);
    until(&mut peer, "CATALOGUE_DRIFT").await;
    peer.home.write("schemas/find.v1.json", "[1]");
    let doctor = peer.home.run(&["doctor", "--config", "gate.yaml"]);
    assert_eq!(doctor.code, 3);
    assert!(doctor.stderr.contains("`schemas/find.v1.json` is no schema"), "{}", doctor.stderr);
    std::fs::remove_file(peer.home.path().join("schemas/find.v1.json")).unwrap();
    let doctor = peer.home.run(&["doctor", "--config", "gate.yaml"]);
    assert!(doctor.stderr.contains("`schemas/find.v1.json`, which is not"), "{}", doctor.stderr);
    peer.home.write("schemas/find.v1.json", SCHEMA);
    until(&mut peer, "\\\"q\\\":\\\"x\\\"").await;
}

/// CO-61: a server is spoken to in the revision its manifest states; where the configuration has it
/// otherwise, that is said.
#[test]
fn a_manifest_decides_the_revision_of_its_server() {
    let home = Home::new();
    let doctor = |pin: &str, protocol: &str| {
        let manifest = json!({
            "adapter_id": "inner", "name": "Inner", "owner_role": "ops", "protocol": "mcp",
            "protocol_version": pin, "protocol_version_reason": "for this test",
        });
        home.write("inner.json", &manifest.to_string());
        let command = env!("CARGO_BIN_EXE_toolgate");
        let entry = json!({
            "command": command, "args": ["serve", "--data", "inner"], "cwd": ".",
            "manifest": "inner.json", "drift": "hold", "protocol": protocol,
        });
        home.write("gate.yaml", &format!("upstreams: {{inner: {entry}}}\n"));
        home.run(&["doctor", "--config", "gate.yaml"]).stdout
    };
    let told = doctor("2025-06-18", "auto");
    assert!(told.contains("well  inner (stdio, MCP 2025-06-18)"), "{told}");
    assert!(!told.contains("pins MCP") && !told.contains("held back"), "{told}");
    let told = doctor("2025-06-18", "2025-11-25");
    assert!(told.contains("pins MCP 2025-06-18, and it is spoken to in 2025-11-25"), "{told}");
    assert!(told.contains("(0 usable"), "{told}");
}

/// CO-64: over HTTP, on both transports' one road: the page's origin decides.
#[tokio::test]
async fn a_page_that_the_manifest_does_not_name_cannot_call() {
    let home = home(
        "mode: native\nhttp: {allow_origins: ['https://app.example', 'https://other.example']}\n\
         upstreams: {crm: {type: stub, tools: tools.json, manifest: crm.json}}\n",
    );
    let mut manifest: Value = serde_json::from_str(MANIFEST).unwrap();
    let origins = json!(["https://App.example"]);
    manifest["transport"] = json!({"kind": "streamable_http", "origin_allowlist": origins});
    home.write("crm.json", &manifest.to_string());
    let (_gate, said) = home.listen(&["up", "--port", "0", "--config", "gate.yaml"]).await;
    let url = said["url"].as_str().unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "find", "arguments": {"q": "x"}}});
    let check = async |origin: Option<&str>, refused: bool| {
        let headers: Vec<(&str, &str)> =
            origin.map(|origin| ("origin", origin)).into_iter().collect();
        let page = web::post(url, &headers, &call).await;
        assert_eq!(page.body.contains("PERMISSION_DENIED"), refused, "{origin:?}: {}", page.body);
    };
    check(None, false).await;
    check(Some("https://app.example"), false).await;
    check(Some("HTTPS://APP.EXAMPLE"), false).await;
    check(Some("https://other.example"), true).await;
}
