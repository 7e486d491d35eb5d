//! What a manifest says an upstream can do, held against what the upstream said when it was greeted.

use manifest::{AdapterManifest, SchemaUse};
use model::fault::one_line;
use model::{Finding, Severity, UpstreamName};
use serde_json::{Map, Value};

/// One finding for each flag in which the two differ. What a manifest does not speak of is not
/// compared; what an upstream does not speak of, it cannot do.
pub(crate) fn compare(
    upstream: &UpstreamName,
    manifest: &AdapterManifest,
    handshake: &Map<String, Value>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (feature, declared) in &manifest.server_features {
        let said = handshake.get(feature);
        match declared {
            Value::Object(flags) => {
                for (flag, declared) in flags {
                    let said = said.and_then(|said| said.get(flag));
                    let name = format!("{feature}.{flag}");
                    findings.extend(differs(upstream, &name, declared, said));
                }
            }
            declared => findings.extend(differs(upstream, feature, declared, said)),
        }
    }
    findings
}

/// One finding for each reference to a schema that led to no file, so that nothing holds the tool to
/// it.
pub(crate) fn unpinned(manifest: &AdapterManifest) -> impl Iterator<Item = Finding> {
    let open = |used: &SchemaUse<'_>| used.capability.schema_pins.of(used.side).is_none();
    manifest.schema_refs().filter(open).map(|used| {
        let (id, reference) = (&used.capability.capability_id, one_line(used.reference, 100));
        let message = format!("`{id}` refers to `{reference}`, which leads to no file here");
        Finding::new(Severity::Info, "schema_unpinned", message)
    })
}

fn differs(
    upstream: &UpstreamName,
    name: &str,
    declared: &Value,
    said: Option<&Value>,
) -> Option<Finding> {
    let declared = declared.as_bool()?;
    // An object stands for a feature that is there.
    let said = said.is_some_and(|said| said.as_bool().unwrap_or(!said.is_null()));
    let name = one_line(name, 100);
    (declared != said).then(|| {
        let message = format!(
            "the manifest of `{upstream}` says `{name}: {declared}`, and its handshake `{said}`"
        );
        Finding::new(Severity::Warning, "feature_differs", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// CO-65, CO-66, CO-67: each flag is compared with the handshake.
    #[test]
    fn declared_features_are_compared_with_the_handshake() {
        let check = |declared: Value, said: Value, expected: &[&str]| {
            let shown = declared.to_string();
            let manifest = manifest::from_value(json!({
                "adapter_id": "a", "name": "a", "owner_role": "ops", "protocol": "mcp",
                "capabilities": [], "server_capabilities": declared,
            }));
            let said = said.as_object().cloned().unwrap();
            let upstream = UpstreamName::from_string("u");
            let found = compare(&upstream, &manifest.unwrap(), &said);
            let found: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
            assert_eq!(found, expected, "{shown}");
        };
        let yes = json!({"tools": {"listChanged": true}});
        let no = json!({"tools": {"listChanged": false}});
        let declared_yes =
            "the manifest of `u` says `tools.listChanged: true`, and its handshake `false`";
        let declared_no =
            "the manifest of `u` says `tools.listChanged: false`, and its handshake `true`";
        check(yes.clone(), yes.clone(), &[]);
        check(no.clone(), json!({"tools": {}}), &[]);
        check(no.clone(), json!({}), &[]);
        check(yes.clone(), no.clone(), &[declared_yes]);
        check(yes.clone(), json!({}), &[declared_yes]);
        check(no, yes, &[declared_no]);
        check(
            json!({"resources": {"subscribe": true, "listChanged": true}, "prompts": {"listChanged": false}}),
            json!({"resources": {"subscribe": true}, "prompts": {"listChanged": true}}),
            &[
                "the manifest of `u` says `resources.listChanged: true`, and its handshake `false`",
                "the manifest of `u` says `prompts.listChanged: false`, and its handshake `true`",
            ],
        );
    }
}
