//! Definitions in: the seed's tools, and everything a server may get wrong.

use super::*;

const SEARCH: &str = include_str!("../../fixtures/search_database.json");
const REFUND: &str = include_str!("../../fixtures/payments_issue_refund.json");

fn ingest(definition: &Value) -> Item {
    item_from_mcp_tool(&UpstreamName::from_string("demo"), None, definition).unwrap()
}

fn rules(item: &Item) -> Vec<&str> {
    item.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

/// CW-1 (definitions in), CW-2, CW-3, CW-4, CW-5: the whole item, as it is written down.
#[test]
fn the_seed_tool_becomes_this_item() {
    let item = ingest(&serde_json::from_str(SEARCH).unwrap());
    insta::assert_json_snapshot!("search_database", item);
    assert_eq!(item.ids.legacy, "mcp:search_database");
    assert_eq!(item.ids.canonical, "mcp:search_database#547048ac");
    assert_eq!((item.kind, item.name.as_str()), (ItemKind::Tool, "search_database"));
}

/// CW-6: the output schema stays as it was; CW-7: absent is null, never `{}`.
#[test]
fn an_output_schema_is_kept_verbatim_or_null() {
    let mut definition: Value = serde_json::from_str(SEARCH).unwrap();
    assert_eq!(ingest(&definition).output_schema, definition.get("outputSchema").map(Packed::from));
    definition.as_object_mut().unwrap().remove("outputSchema");
    let item = ingest(&definition);
    assert_eq!(item.output_schema, None);
    assert_eq!(serde_json::to_value(&item).unwrap().get("output_schema"), Some(&Value::Null));
}

/// CW-8.
#[test]
fn an_input_schema_keeps_defaults_and_types() {
    let definition: Value = serde_json::from_str(SEARCH).unwrap();
    let item = ingest(&definition);
    let schema = item.input_schema.value();
    assert_eq!(schema, definition["inputSchema"]);
    assert_eq!(schema["properties"]["limit"], json!({"type": "integer", "default": 10}));
}

/// CO-108.
#[test]
fn the_refund_tool_has_name_title_and_description() {
    let item = ingest(&serde_json::from_str(REFUND).unwrap());
    assert_eq!(item.name, "payments_issue_refund");
    assert_eq!(item.title.as_deref(), Some("Issue Refund"));
    assert_eq!(item.description, "Issue a refund against an existing settled transaction.");
    assert_eq!(item.ids.canonical, "payments:payments_issue_refund#ffe601cf");
}

/// CO-31, CO-120: kept as the server wrote them. Nothing in this crate can open an address.
#[test]
fn icons_are_read_and_never_fetched() {
    let item = ingest(&serde_json::from_str(REFUND).unwrap());
    let icon = json!({
        "src": "https://payments.example.com/icons/refund.png",
        "mimeType": "image/png",
        "sizes": ["48x48"],
    });
    assert_eq!(item.icons, [icon]);
    assert_eq!(ingest(&json!({"name": "x", "icons": "http://127.0.0.1/"})).icons, [Value::Null; 0]);
}

/// C34: a display line is made up, and the lack is remarked on.
#[test]
fn a_missing_description_is_filled_in_and_reported() {
    let item = ingest(&json!({"name": "ping", "inputSchema": {"type": "object"}}));
    assert_eq!(item.description, "MCP tool: ping");
    assert_eq!(rules(&item), ["description_missing"]);
}

/// C6, SG-12, SG-13: what a server claims changes hints and tags, never the effect.
#[test]
fn a_claim_does_not_change_the_effect() {
    let item = ingest(&json!({"name": "rm", "annotations": {"readOnlyHint": true}}));
    assert_eq!(item.effect, EffectClaim::UNLISTED);
    assert_eq!(item.tags, ["mcp", "read-only"]);
    assert_eq!(item.version, "1");
}

#[test]
fn a_stated_version_is_used_when_it_is_one() {
    let with = |version: Value| ingest(&json!({"name": "a.b", "_meta": {"version": version}}));
    assert_eq!(with(json!("2.0")).ids.canonical, "a:b@2.0");
    let odd = with(json!("2 0"));
    assert_eq!(odd.version, "1");
    assert!(rules(&odd).contains(&"version_invalid"));
}

#[test]
fn a_configured_namespace_goes_before_the_inferred_one() {
    let upstream = UpstreamName::from_string("demo");
    let item = item_from_mcp_tool(&upstream, Some("My CRM"), &json!({"name": "git.push"})).unwrap();
    assert_eq!(item.namespace, "my_crm");
    assert_eq!(item.ids.legacy, "my_crm:git.push");
}

#[test]
fn a_definition_without_a_name_is_left_out_with_a_reason() {
    let check = |definition: Value, expected: &str| {
        let upstream = UpstreamName::from_string("demo");
        let finding = item_from_mcp_tool(&upstream, None, &definition).unwrap_err();
        assert_eq!(finding.rule, "definition_invalid");
        assert_eq!(finding.message, format!("a tool of `demo` was left out: {expected}"));
    };
    check(json!("search"), "its definition is not an object");
    check(json!({}), "it has no name");
    check(json!({"name": 5}), "it has no name");
    check(json!({"name": "  "}), "it has no name");
}
