//! Manifests as files: checked without an upstream, drafted from one, and decisive in production;
//! and what else an operator does before others depend on a gate.

use std::path::Path;

use serde_json::Value;

use crate::{Ran, run, toolgate};

const TOOLS: &str = r#"[
    {"name": "find", "description": "Finds.", "inputSchema": {"type": "object"}},
    {"name": "purge", "description": "Purges.", "inputSchema": {"type": "object"}}
]"#;

const MANIFEST: &str = "\
adapter_id: crm
version: 1.2.0
name: Customers
owner_role: support_ops
protocol: mcp
capabilities:
  - capability_id: crm.find
    tool: find
    class: observe
    approval_mode: read_only
";

fn ran(folder: &Path, arguments: &[&str]) -> Ran {
    run(toolgate(folder).args(arguments))
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

fn gate(folder: &Path, profile: &str) {
    let config = format!(
        "profile: {profile}\ndata: data\nupstreams:\n  crm: {{type: stub, tools: tools.json, manifest: crm.yaml}}\n"
    );
    write(folder, "toolgate.yaml", &config);
    write(folder, "tools.json", TOOLS);
    write(folder, "crm.yaml", MANIFEST);
}

/// CO-2, CO-229: what is not declared is invisible and cannot be called in production; in dev it is
/// callable.
#[test]
fn only_what_is_declared_is_there_in_production() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    gate(folder, "production");
    assert_eq!(ran(folder, &["call", "find"]).code, 0, "{}", ran(folder, &["call", "find"]).stderr);
    let refused = ran(folder, &["call", "purge"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("TOOL_NOT_FOUND"), "{}", refused.stderr);
    gate(folder, "dev");
    assert_eq!(ran(folder, &["call", "purge"]).code, 0);
}

#[test]
fn a_mistake_in_a_manifest_names_file_line_and_fix() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let check = |manifest: &str, expected: &str| {
        write(folder, "crm.yaml", manifest);
        let wrong = ran(folder, &["manifest", "check", "crm.yaml"]);
        assert_eq!(wrong.code, 3, "{}", wrong.stderr);
        assert!(wrong.stderr.contains(expected), "{}", wrong.stderr);
    };
    let misspelt = MANIFEST.replace("approval_mode", "aproval_mode");
    check(&misspelt, "crm.yaml:7: unknown key `aproval_mode`");
    check(&misspelt, "did you mean `approval_mode`?");
    check(&MANIFEST.replace("version: 1.2.0", "version: soon"), "crm.yaml:2: ");
    check(&format!("{MANIFEST}name: Again\n"), "crm.yaml:11: ");
    gate(folder, "dev");
    write(folder, "crm.yaml", &misspelt);
    let started = ran(folder, &["tools", "list"]);
    assert_eq!(started.code, 3);
    assert!(started.stderr.contains("crm.yaml:7: "), "{}", started.stderr);
}

/// CO-9: the five answers come from files alone, with an exit code.
#[test]
fn a_check_answers_five_questions_and_points_at_lines() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "crm.yaml", MANIFEST);
    let told = ran(folder, &["manifest", "check", "crm.yaml"]);
    assert_eq!(told.code, 3);
    assert!(
        told.stdout.starts_with("crm.yaml: crm@1.2.0\n  no   P1 what can it do\n"),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("crm.yaml:7: error: `crm.find` has no schema"), "{}", told.stdout);
    let told = ran(folder, &["manifest", "check", "crm.yaml", "--json"]);
    let reports: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(reports[0]["answers"][1]["answered"], true);
    let complete = MANIFEST.replace(
        "    approval_mode: read_only\n",
        "    approval_mode: read_only\n    permissions: [crm.read]\n    input_schema_ref: schema://find\n\
         transport: {kind: streamable_http, endpoint_ref: 'secret://crm'}\nauth: {type: none}\n\
         observability: {trace_context: w3c}\n",
    );
    write(folder, "crm.yaml", &complete);
    let told = ran(folder, &["manifest", "check", "crm.yaml"]);
    assert_eq!(told.code, 0, "{}", told.stdout);
}

#[test]
fn a_draft_of_a_live_upstream_is_a_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    gate(folder, "dev");
    let drafted = ran(folder, &["manifest", "new", "crm"]);
    assert_eq!(drafted.code, 0, "{}", drafted.stderr);
    write(folder, "crm.yaml", &drafted.stdout);
    assert_eq!(ran(folder, &["tools", "list"]).code, 0);
    let unknown = ran(folder, &["manifest", "new", "crmm"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("upstreams are: crm"), "{}", unknown.stderr);
}

/// CW-57: the security model has all its parts, and the checklist is printed as it stands there.
#[test]
fn the_security_model_is_whole_and_its_checklist_can_be_ticked_off() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security-model.md");
    let page = std::fs::read_to_string(page).unwrap();
    let parts = [
        "## Who is trusted with what",
        "## How data flows",
        "## Where artifacts stand",
        "## What may be reached from here",
        "## Hardening checklist",
    ];
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let open = ran(folder, &["doctor", "--checklist"]).stdout;
    assert!(open.lines().all(|line| page.contains(line)), "{open}");
    gate(folder, "production");
    let config = std::fs::read_to_string(folder.join("toolgate.yaml")).unwrap();
    let hardened = format!(
        "{config}auth: {{tokens: [{{name: ann, token: 0123456789abcdef0123456789abcdef}}]}}\n\
         policy: rules.yaml\negress: {{allow: []}}\n"
    );
    write(folder, "toolgate.yaml", &hardened);
    let done = ran(folder, &["doctor", "--checklist"]);
    assert!(done.stdout.lines().count() > 4, "{}", done.stderr);
    assert!(done.stdout.lines().all(|line| line.starts_with("done  ")), "{}", done.stdout);
}
