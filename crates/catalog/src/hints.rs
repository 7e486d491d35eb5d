//! What a server claims about its own tool, kept apart from everything that decides.

use model::{Finding, Hints, Severity};
use serde_json::{Map, Value};

/// Reads `annotations`; what is unknown or of the wrong type is carried along and remarked on.
pub fn read(tool: &str, annotations: Option<&Value>) -> (Hints, Vec<Finding>) {
    let mut hints = Hints::default();
    let mut findings = Vec::new();
    let Some(annotations) = annotations.and_then(Value::as_object) else {
        return (hints, findings);
    };
    for (key, value) in annotations {
        if !take(&mut hints, key, value) {
            findings.push(remark(tool, key));
            hints.extra.insert(key.clone(), value.clone());
        }
    }
    (hints, findings)
}

/// The tags a card shows for these hints, beside the protocol's own.
pub fn tags(protocol: &str, hints: &Hints) -> Vec<String> {
    let read_only = (hints.read_only == Some(true)).then_some("read-only");
    let destructive = (hints.destructive == Some(true)).then_some("destructive");
    let mut tags: Vec<String> =
        [Some(protocol), read_only, destructive].into_iter().flatten().map(str::to_owned).collect();
    tags.sort();
    tags
}

/// A title given as a hint, for tools that have none of their own.
pub(crate) fn title(definition: &Map<String, Value>) -> Option<&str> {
    definition.get("annotations")?.get("title")?.as_str()
}

fn take(hints: &mut Hints, key: &str, value: &Value) -> bool {
    let slot = match key {
        "readOnlyHint" => &mut hints.read_only,
        "destructiveHint" => &mut hints.destructive,
        "idempotentHint" => &mut hints.idempotent,
        "openWorldHint" => &mut hints.open_world,
        "costHint" => {
            hints.cost = value.as_f64();
            return hints.cost.is_some();
        }
        "title" => return value.is_string(),
        _ => return false,
    };
    *slot = value.as_bool();
    slot.is_some() || value.is_null()
}

fn remark(tool: &str, key: &str) -> Finding {
    let key = model::fault::one_line(key, 64);
    Finding::new(
        Severity::Info,
        "hint_unknown",
        format!(
            "`{tool}` carries the hint `{key}`, which is unknown or of the wrong type; it is kept and not used"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// CW-58, CW-60, CW-61, CW-62: hints are read, tagged and nothing more.
    #[test]
    fn claims_become_hints_and_tags() {
        let annotations =
            json!({"readOnlyHint": true, "destructiveHint": true, "costHint": 3, "title": "T"});
        let (hints, findings) = read("t", Some(&annotations));
        assert_eq!(
            (hints.read_only, hints.destructive, hints.cost),
            (Some(true), Some(true), Some(3.0))
        );
        assert_eq!(tags("mcp", &hints), ["destructive", "mcp", "read-only"]);
        assert_eq!(findings, []);
    }

    /// C26 and CW-62: unknown or ill-typed claims are carried verbatim and reported.
    #[test]
    fn odd_claims_are_kept_and_reported() {
        let annotations =
            json!({"costHint": "cheap", "audience": ["human"], "readOnlyHint": "yes"});
        let (hints, findings) = read("t", Some(&annotations));
        assert_eq!((hints.cost, hints.read_only), (None, None));
        assert_eq!(Value::from(hints.extra), annotations);
        assert_eq!(findings.len(), 3);
        assert_eq!(tags("mcp", &read("t", Some(&json!("junk"))).0), ["mcp"]);
    }
}
