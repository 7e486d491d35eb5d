//! What records point to by hash, kept in the store so that a replay can find it.

use catalog::Entry as Tool;
use manifest::Capability;
use model::{Fault, Item, Lineage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Ancestor, Store};

use crate::gateway::Gateway;

pub(crate) const POLICY: &str = "policy";
pub(crate) const DEFINITION: &str = "definition";

/// A tool as it was known when it was called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownTool {
    pub item: Item,
    pub definition: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<Capability>,
}

impl Gateway {
    /// Keeps the policy and every definition in force. Call it after each refresh.
    pub async fn keep_lineage(&self) -> Result<(), Fault> {
        let rules = self.rules();
        let (hash, body) = (rules.hash().to_owned(), rules.text().to_owned());
        let policy = Ancestor { kind: POLICY, hash, body };
        let catalogue = self.catalogue();
        let known = catalogue.entries().iter().map(|tool| ancestor(tool));
        self.store.keep_lineage(std::iter::once(policy).chain(known).collect()).await
    }
}

/// The tool a record speaks of, if it was kept.
pub async fn known_tool(store: &Store, lineage: &Lineage) -> Result<Option<KnownTool>, Fault> {
    let Some(name) = name(lineage.definition_hash.as_deref(), lineage.manifest.as_deref()) else {
        return Ok(None);
    };
    let body = store.ancestor(DEFINITION, &name).await?;
    body.map(|body| serde_json::from_str(&body))
        .transpose()
        .map_err(|error| Fault::internal(format!("definition {name}: {error}")))
}

/// The text of the policy with this hash, if it was kept.
pub async fn known_policy(store: &Store, hash: &str) -> Result<Option<String>, Fault> {
    store.ancestor(POLICY, hash).await
}

fn ancestor(tool: &Tool) -> Ancestor {
    let known = KnownTool {
        item: tool.item.clone(),
        definition: tool.definition(),
        capability: tool.capability.clone(),
    };
    Ancestor {
        kind: DEFINITION,
        hash: name(Some(&tool.item.full_hash), tool.manifest.as_deref()).unwrap_or_default(),
        body: serde_json::to_string(&known).unwrap_or_default(),
    }
}

/// A definition means another thing under another manifest.
fn name(definition_hash: Option<&str>, manifest: Option<&str>) -> Option<String> {
    Some(format!("{} {}", definition_hash?, manifest.unwrap_or_default()).trim_end().to_owned())
}
