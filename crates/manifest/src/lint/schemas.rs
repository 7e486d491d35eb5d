//! References to schemas, held against the files they lead to and the schemas tools list.

use model::{Severity, canonical};
use serde_json::Value;

use super::Remark;
use crate::adapter::AdapterManifest;
use crate::schemas::SchemaUse;

/// What came of following a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaLook {
    Found {
        file: String,
        hash: String,
    },
    Missing {
        file: String,
    },
    /// There is no place to look at, for this reason.
    Nowhere(String),
}

/// What is wrong with the references of a manifest (CO-80, CO-81).
pub fn lint_schemas(
    manifest: &AdapterManifest,
    tools: &[Value],
    look: &dyn Fn(&SchemaUse<'_>) -> SchemaLook,
) -> Vec<Remark> {
    manifest.schema_refs().filter_map(|used| judge(&used, tools, look(&used))).collect()
}

fn judge(used: &SchemaUse<'_>, tools: &[Value], looked: SchemaLook) -> Option<Remark> {
    let (at, reference) = (used.at(), used.reference);
    let (file, hash) = match looked {
        SchemaLook::Found { file, hash } => (file, hash),
        SchemaLook::Missing { file } => {
            let message = format!(
                "`{reference}` leads to `{file}`, which is not there; write it or correct the \
                 reference"
            );
            return Some(Remark::new(Severity::Error, "schema-missing", &at, message));
        }
        SchemaLook::Nowhere(why) => {
            let message = format!("`{reference}` could not be looked up: {why}");
            return Some(Remark::new(Severity::Warning, "schema-unseen", &at, message));
        }
    };
    let (tool, side) = (&used.capability.tool, used.side.as_str());
    let listed = tools.iter().find(|listed| listed["name"] == tool.as_str())?;
    let same = used.side.listed(listed).map(canonical::hash).as_deref() == Some(hash.as_str());
    (!same).then(|| {
        let message = format!(
            "the {side} schema of `{tool}` is not that of `{file}`; mend the tool, or review what \
             it lists and write that into the file"
        );
        Remark::new(Severity::Error, "schema-differs", &at, message)
    })
}
