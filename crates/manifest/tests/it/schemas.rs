//! References to schemas: looked up, and held against what tools list.

use model::{Severity, canonical};
use serde_json::{Value, json};
use toolgate_manifest::{SchemaLook, lint_schemas};

use crate::payments;

/// CO-80, CO-81: a reference resolves, and what it leads to is the schema the tool has.
#[test]
fn a_reference_is_followed_and_compared() {
    let manifest = payments();
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}});
    let tool = |input: Value, output: Option<Value>| {
        let name = "payments_lookup_transaction";
        vec![json!({"name": name, "inputSchema": input, "outputSchema": output})]
    };
    let check = |tools: Vec<Value>, look: SchemaLook, expected: &[(&str, Severity)]| {
        let remarks = lint_schemas(&manifest, &tools, &|_| look.clone());
        let found: Vec<_> = remarks.iter().map(|one| (one.rule, one.severity)).collect();
        assert_eq!(found, expected, "{look:?} {tools:?}");
    };
    let hash = canonical::hash(&schema);
    let found = SchemaLook::Found { file: "schemas/a.json".to_owned(), hash };
    let differs = ("schema-differs", Severity::Error);
    check(vec![], found.clone(), &[]);
    check(tool(schema.clone(), Some(schema.clone())), found.clone(), &[]);
    check(tool(json!({"type": "object"}), Some(schema.clone())), found.clone(), &[differs]);
    check(tool(schema, None), found, &[differs]);
    let missing = SchemaLook::Missing { file: "schemas/a.json".to_owned() };
    let error = ("schema-missing", Severity::Error);
    check(vec![], missing, &[error, error]);
    let warning = ("schema-unseen", Severity::Warning);
    check(vec![], SchemaLook::Nowhere("no folder".to_owned()), &[warning, warning]);
}

/// CO-80, CO-81: pins are kept with the capability, and a tool that departs from them is known.
#[test]
fn a_pinned_schema_is_known_again() {
    let mut capability = payments().capabilities.remove(0);
    let (pinned, other) = (json!({"type": "object"}), json!({"type": "object", "title": "t"}));
    let departing = |capability: &toolgate_manifest::Capability, schema: &Value| {
        let tool = json!({"name": "t", "inputSchema": schema});
        capability.departing(&tool).count()
    };
    assert_eq!(departing(&capability, &other), 0);
    capability.schema_pins.input = Some(canonical::hash(&pinned));
    assert_eq!(departing(&capability, &pinned), 0);
    assert_eq!(departing(&capability, &other), 1);
    capability.schema_pins.output = Some(canonical::hash(&pinned));
    assert_eq!(departing(&capability, &pinned), 1, "it lists no output schema");
}
