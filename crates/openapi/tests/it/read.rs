//! What a document offers, and what it is refused for.

use serde_json::{Value, json};
use toolgate_openapi::{Document, OpenApiError, Operation};

use crate::{one, shop};

fn definition(name: &str) -> Value {
    shop().operation(name).unwrap().definition()
}

fn rules(findings: &[model::Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.rule.as_str()).collect()
}

/// CO-1: an OpenAPI operation is offered in the same shape as an MCP tool.
#[test]
fn an_operation_becomes_a_tool() {
    let order = json!({"type": "object", "properties": {
        "id": {"type": "string"}, "replaces": {"type": "object"},
    }});
    let expected = json!({
        "name": "orders_get",
        "title": "Look up an order",
        "description": "Gives one order with its lines.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string", "description": "As printed on the invoice."},
                "fields": {"type": "array", "items": {"type": "string"}},
                "expand": {"type": "array", "items": {"type": "string"}},
                "X-Request-Id": {"type": "string", "description": "For tracing."},
            },
            "required": ["order_id"],
            "additionalProperties": false,
        },
        "outputSchema": order,
        "annotations": {"readOnlyHint": true, "idempotentHint": true},
    });
    assert_eq!(definition("orders_get"), expected);
}

#[test]
fn a_body_stands_under_its_own_argument() {
    let post = definition("orders_get_2");
    let expected = json!({
        "type": "object",
        "properties": {"body": {
            "type": "object",
            "required": ["sku"],
            "properties": {"sku": {"type": "string"}, "note": {"type": ["string", "null"]}},
        }},
        "required": ["body"],
        "additionalProperties": false,
    });
    assert_eq!(post["inputSchema"], expected);
    assert_eq!(post["description"], "Place an order");
}

#[test]
fn names_are_legal_and_differ() {
    let shop = shop();
    let names: Vec<&str> = shop.operations().iter().map(Operation::name).collect();
    assert_eq!(names, ["orders_get", "delete_orders_order_id", "orders_get_2", "search"]);
    assert!(shop.operation("labels_put").is_none());
}

#[test]
fn an_output_schema_is_promised_only_where_every_success_is_that_object() {
    assert!(definition("orders_get").get("outputSchema").is_some());
    assert!(definition("orders_get_2").get("outputSchema").is_none(), "202 gives something else");
    assert!(definition("search").get("outputSchema").is_none(), "a list");
    assert!(definition("delete_orders_order_id").get("outputSchema").is_none());
}

#[test]
fn what_is_left_out_is_told() {
    let shop = shop();
    assert_eq!(rules(shop.findings()), ["body_unsupported", "method_unsupported"]);
    let findings = |name: &str| rules(shop.operation(name).unwrap().findings()).join(" ");
    assert_eq!(findings("orders_get"), "cookie_skipped header_reserved schema_cut");
    assert_eq!(findings("search"), "deprecated");
}

#[test]
fn a_path_variable_nobody_declared_is_text() {
    let operation = one("/a/{id}", json!([]));
    assert_eq!(rules(operation.findings()), ["path_undeclared"]);
    let schema = &operation.definition()["inputSchema"];
    assert_eq!(schema["properties"]["id"], json!({"type": "string"}));
    assert_eq!(schema["required"], json!(["id"]));
}

#[test]
fn parameters_of_one_name_get_arguments_of_their_own() {
    let schema = json!({"type": "string"});
    let operation = one(
        "/a/{id}",
        json!([
            {"name": "id", "in": "path", "schema": schema},
            {"name": "id", "in": "query", "schema": schema},
            {"name": "filter[x]", "in": "query", "schema": schema},
        ]),
    );
    let definition = operation.definition();
    let properties = definition["inputSchema"]["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["id", "id_2", "filter_x"]);
}

#[test]
fn the_operation_overrides_the_path() {
    let parameter = |kind: &str| json!([{"name": "q", "in": "query", "schema": {"type": kind}}]);
    let document = json!({"openapi": "3.1.0", "paths": {"/a": {
        "parameters": parameter("string"), "get": {"parameters": parameter("integer")},
    }}});
    let document = Document::read(&document).unwrap();
    let definition = document.operation("get_a").unwrap().definition();
    assert_eq!(definition["inputSchema"]["properties"]["q"]["type"], "integer");
}

#[test]
fn the_base_is_the_first_server_unless_configured() {
    let shop = shop();
    assert_eq!(shop.base_url(None).unwrap(), "https://eu.shop.example/v2");
    assert_eq!(shop.base_url(Some("http://127.0.0.1:9/")).unwrap(), "http://127.0.0.1:9");
    assert!(matches!(shop.base_url(Some("ftp://x")), Err(OpenApiError::Base { .. })));
    let bare = Document::read(&json!({"openapi": "3.1.0"})).unwrap();
    assert_eq!(bare.base_url(None), Err(OpenApiError::NoServer));
}

#[test]
fn a_document_that_cannot_be_read_says_why() {
    let check = |document: Value, words: &str| {
        let error = Document::read(&document).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    check(json!({"swagger": "2.0"}), "Swagger 2.0 must be converted");
    check(json!({"openapi": "4.0.0"}), "version `4.0.0` is not supported");
    check(json!({"openapi": "3.10.0"}), "is not supported");
    let with = |schema: Value| {
        let parameter = json!({"name": "q", "in": "query", "schema": schema});
        json!({"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [parameter]}}}})
    };
    check(with(json!({"$ref": "other.yaml#/X"})), "`other.yaml#/X` points outside the document");
    check(with(json!({"items": {"$ref": "https://x.test/"}})), "points outside the document");
    check(with(json!({"$ref": "#/components/schemas/X"})), "points to nothing");
    let item = json!({"openapi": "3.1.0", "paths": {"/a": {"$ref": "file:///etc/passwd"}}});
    check(item, "points outside the document");
}

#[test]
fn a_document_may_not_be_endless() {
    let paths = (0..5_001).map(|n| (format!("/p{n}"), json!({"get": {}})));
    let paths: serde_json::Map<String, Value> = paths.collect();
    let error = Document::read(&json!({"openapi": "3.1.0", "paths": paths})).unwrap_err();
    assert_eq!(error, OpenApiError::TooManyOperations { max: 5_000 });
}
