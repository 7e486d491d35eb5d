//! Definitions, manifest and answers agree with each other.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;

use super::*;

/// Good arguments for every tool, in an order in which all of them succeed.
fn samples() -> Vec<(&'static str, Value)> {
    vec![
        ("files_list_folder", json!({"folder": "/handbook"})),
        (
            "files_read_document",
            json!({"path": "/handbook/refunds.md", "first_line": 1, "line_count": 3}),
        ),
        ("files_describe_document", json!({"path": "/readme.md"})),
        ("files_search_text", json!({"query": "refund", "limit": 3})),
        ("files_write_document", json!({"path": "/notes/today.md", "text": "hello\n"})),
        (
            "files_replace_document",
            json!({"path": "/notes/today.md", "text": "bye\n", "expected_version": 1}),
        ),
        ("files_move_document", json!({"from": "/notes/today.md", "to": "/notes/old.md"})),
        ("files_delete_document", json!({"path": "/notes/old.md"})),
        ("tickets_list_tickets", json!({"status": "open", "limit": 2})),
        ("tickets_search_tickets", json!({"query": "checkout"})),
        ("tickets_get_ticket", json!({"ticket_id": "tkt_1005"})),
        (
            "tickets_create_ticket",
            json!({"title": "T", "body": "B", "requester": "a@example.com", "idempotency_key": "key-00001"}),
        ),
        (
            "tickets_add_comment",
            json!({"ticket_id": "tkt_1001", "author": "a@example.com", "text": "seen"}),
        ),
        ("tickets_assign_ticket", json!({"ticket_id": "tkt_1001", "assignee": "lena@example.com"})),
        ("tickets_close_ticket", json!({"ticket_id": "tkt_1001", "resolution": "wont_fix"})),
        ("tickets_delete_ticket", json!({"ticket_id": "tkt_1002"})),
        ("payments_lookup_transaction", json!({"transaction_id": "txn_8f3k2a"})),
        ("payments_issue_refund", refund_args()),
        ("payments_list_transactions", json!({"status": "pending"})),
        ("payments_list_refunds", json!({"transaction_id": "txn_8f3k2a"})),
        ("payments_list_ledger", json!({"limit": 4})),
        ("payments_check_balance", json!({})),
        ("calendar_list_events", json!({"from": "2026-11-16T00:00:00Z"})),
        ("calendar_get_event", json!({"event_id": "evt_2001"})),
        ("calendar_find_slot", json!({"date": "2026-11-16", "duration_minutes": 30})),
        (
            "calendar_create_event",
            json!({"title": "T", "starts_at": "2026-11-16T09:30:00Z", "ends_at": "2026-11-16T10:30:00Z"}),
        ),
        (
            "calendar_reschedule_event",
            json!({"event_id": "evt_2002", "starts_at": "2026-11-16T09:30:00Z", "ends_at": "2026-11-16T10:30:00Z"}),
        ),
        ("calendar_add_attendee", json!({"event_id": "evt_2002", "attendee": "sam@example.com"})),
        ("calendar_cancel_event", json!({"event_id": "evt_2002"})),
        ("weather_list_cities", json!({})),
        ("weather_get_current", json!({"city": "Mumbai"})),
        ("weather_get_forecast", json!({"city": "Berlin", "days": 14, "from": "2026-01-01"})),
        (
            "weather_compare_cities",
            json!({"cities": ["Reykjavik", "Sydney"], "date": "2026-12-24"}),
        ),
        ("weather_get_alerts", json!({})),
        ("weather_render_map", json!({"city": "Tokyo", "layer": "rain"})),
        ("reports_export_ledger", json!({"rows": 30, "format": "json"})),
        ("reports_build_annual", json!({"year": 2026, "steps": 1, "step_ms": 0})),
        ("reports_compare_warehouse", json!({"dataset": "ledger"})),
        ("reports_summarize_revenue", json!({})),
        ("reports_summarize_tickets", json!({})),
        ("reports_list_reports", json!({})),
        ("reports_get_report", json!({"report_id": "rpt_2026"})),
        ("reports_delete_report", json!({"report_id": "rpt_2026"})),
    ]
}

fn names() -> BTreeSet<String> {
    let names = Demo::definitions().into_iter();
    names.map(|definition| definition["name"].as_str().unwrap().to_owned()).collect()
}

/// CO-100: names say the business operation, and a namespace can be read off them.
#[test]
fn every_name_is_unique_legal_and_has_three_parts() {
    assert_eq!(names().len(), Demo::definitions().len());
    let namespaces: BTreeSet<&str> =
        ["files", "tickets", "payments", "calendar", "weather", "reports"].into();
    for name in names() {
        let parts: Vec<&str> = name.split('_').collect();
        assert!(parts.len() >= 3 && namespaces.contains(parts[0]), "{name}");
        assert!(name.len() <= 64 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
    }
}

/// CO-102, CO-103, CO-107: closed 2020-12 schemas, and output schemas nearly everywhere.
#[test]
fn every_schema_is_valid_and_closed() {
    for definition in Demo::definitions() {
        let name = &definition["name"];
        assert!(definition["title"].is_string(), "{name}");
        assert!(definition["description"].as_str().unwrap().ends_with('.'), "{name}");
        for key in ["inputSchema", "outputSchema"] {
            let Some(schema) = definition.get(key) else {
                assert_eq!(name, "weather_render_map");
                continue;
            };
            assert!(jsonschema::meta::is_valid(schema), "{name} {key}");
            assert_eq!(schema["type"], "object", "{name} {key}");
            assert_eq!(schema["additionalProperties"], false, "{name} {key}");
        }
    }
}

#[test]
fn every_input_property_is_described() {
    for definition in Demo::definitions() {
        if definition["name"] == "payments_issue_refund" {
            continue; // Its words are fixed elsewhere.
        }
        for (property, schema) in definition["inputSchema"]["properties"].as_object().unwrap() {
            let text = schema["description"].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{} {property}", definition["name"]);
        }
    }
}

/// What a tool claims of itself and what the manifest declares is the same.
#[test]
fn annotations_agree_with_the_manifest() {
    let capabilities = capabilities();
    for definition in Demo::definitions() {
        let name = definition["name"].as_str().unwrap();
        let Some(annotations) = definition.get("annotations") else {
            assert_eq!(name, "payments_issue_refund");
            continue;
        };
        let hints = (&annotations["readOnlyHint"], &annotations["destructiveHint"]);
        let expected = match hints {
            (Value::Bool(true), Value::Bool(false)) => ("observe", "read_only"),
            (Value::Bool(false), Value::Bool(false)) => ("act", "local_write"),
            (Value::Bool(false), Value::Bool(true)) => ("act", "destructive"),
            other => panic!("{name}: {other:?}"),
        };
        let capability = &capabilities[name];
        assert_eq!(capability["capability_class"], expected.0, "{name}");
        assert_eq!(capability["approval_mode"], expected.1, "{name}");
        assert!(capability.get("requires_approval_gate").is_none(), "{name}");
    }
}

/// CO-75..77, CO-82: a capability for each tool and none for anything else.
#[test]
fn the_manifest_declares_every_tool() {
    let manifest: Value = serde_json::from_str(Demo::manifest()).unwrap();
    assert_eq!(manifest["adapter_id"], "demo");
    assert_eq!(manifest["version"], "1.0.0");
    assert_eq!(manifest["protocol"], "function");
    let capabilities = capabilities();
    assert_eq!(capabilities.keys().cloned().collect::<BTreeSet<_>>(), names());
    for (tool, capability) in &capabilities {
        assert_eq!(capability["capability_id"], tool.replacen('_', ".", 1));
        for key in capability["evidence_keys"].as_array().unwrap_or(&Vec::new()) {
            let output = &definition(tool)["outputSchema"]["properties"];
            assert!(output.get(key.as_str().unwrap()).is_some(), "{tool} {key}");
        }
    }
}

fn capabilities() -> BTreeMap<String, Value> {
    let manifest: Value = serde_json::from_str(Demo::manifest()).unwrap();
    let capabilities = manifest["capabilities"].as_array().unwrap().iter();
    let named =
        capabilities.map(|one| (one["mcp_tool_name"].as_str().unwrap().to_owned(), one.clone()));
    let all: BTreeMap<String, Value> = named.collect();
    assert_eq!(all.len(), manifest["capabilities"].as_array().unwrap().len());
    all
}

#[test]
fn there_is_a_sample_for_every_tool() {
    let sampled: BTreeSet<String> = samples().iter().map(|(tool, _)| (*tool).to_owned()).collect();
    assert_eq!(sampled, names());
}

/// CO-201: valid in, valid out.
#[tokio::test(start_paused = true)]
async fn every_tool_answers_as_its_output_schema_says() {
    let world = World::new();
    for (tool, args) in samples() {
        let definition = definition(tool);
        assert!(accepts(&definition["inputSchema"], &args), "{tool} sample");
        let answer = world.ask(tool, args).await.unwrap();
        assert_eq!(answer.is_error, tool == "reports_compare_warehouse", "{tool}");
        let Some(output) = definition.get("outputSchema").filter(|_| !answer.is_error) else {
            continue;
        };
        let structured = answer.structured.unwrap();
        let errors: Vec<String> = jsonschema::draft202012::new(output)
            .unwrap()
            .iter_errors(&structured)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{tool}: {errors:?}");
    }
}

/// CO-201: what the schema forbids, the tool refuses too when it is called past the gate.
#[tokio::test]
async fn arguments_that_do_not_fit_are_a_fault_of_the_caller() {
    let world = World::new();
    let check = async |tool: &str, args: Value| {
        assert!(!accepts(&definition(tool)["inputSchema"], &args), "{tool}");
        let fault = world.ask(tool, args).await.unwrap_err();
        assert_eq!((fault.code, fault.path.as_str()), (model::Code::ArgsInvalid, tool));
    };
    check("tickets_get_ticket", json!({})).await;
    check("tickets_get_ticket", json!({"ticket_id": "tkt_1001", "extra": 1})).await;
    check("tickets_close_ticket", json!({"ticket_id": "tkt_1001", "resolution": "maybe"})).await;
    check("tickets_delete_ticket", json!({"ticket_id": "tkt_1001", "idempotency_key": 7})).await;
    check("payments_issue_refund", with(refund_args(), "currency", json!("EUR"))).await;
    check("files_list_folder", json!([])).await;
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_fault() {
    let fault = World::new().ask("files_format_disk", json!({})).await.unwrap_err();
    assert_eq!(fault.code, model::Code::ToolNotFound);
    assert_eq!(fault.path, "files_format_disk");
}

#[tokio::test]
async fn the_map_is_a_png_image() {
    let world = World::new();
    let ask = async |args| world.ask("weather_render_map", args).await.unwrap();
    let answer = ask(json!({"city": "Mumbai"})).await;
    let image = answer.content.iter().find(|block| block["type"] == "image").unwrap();
    assert_eq!(image["mimeType"], "image/png");
    let data = image["data"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(answer, ask(json!({"city": "mumbai"})).await);
    assert_ne!(answer, ask(json!({"city": "Mumbai", "layer": "rain"})).await);
}
