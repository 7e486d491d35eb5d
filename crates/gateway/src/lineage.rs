//! What records point to by hash, kept in the store so that a replay can find it.

use catalog::{Entry as Tool, Shelf};
use manifest::Capability;
use model::{Call, Fault, Item, ItemKey};
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
    /// A manifest declared it, though it is no tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared: bool,
}

impl Gateway {
    /// Keeps the policy and every definition in force. Call it after each refresh.
    pub async fn keep_lineage(&self) -> Result<(), Fault> {
        let rules = self.rules();
        let (hash, body) = (rules.hash().to_owned(), rules.text().to_owned());
        let policy = Ancestor { kind: POLICY, hash, body };
        let catalogue = self.catalogue();
        let shelf = catalogue.shelf();
        let shelved = [shelf.prompts(), shelf.resources(), shelf.templates()];
        let known = catalogue.entries().iter().chain(shelved.into_iter().flatten());
        let known = known.map(|item| ancestor(item));
        self.store.keep_lineage(std::iter::once(policy).chain(known).collect()).await
    }
}

/// The tool, prompt or resource a call was about, if it was kept.
pub async fn known_tool(store: &Store, call: &Call) -> Result<Option<KnownTool>, Fault> {
    let (Some(key), Some(hash)) = (&call.item_key, &call.lineage.definition_hash) else {
        return Ok(None);
    };
    let unlisted = Shelf::unlisted(key);
    if unlisted.item.full_hash == *hash {
        // Only what is declared is on record with a manifest.
        let declared = call.lineage.manifest.is_some();
        return Ok(Some(KnownTool { declared, ..known(&unlisted) }));
    }
    let manifest = call.lineage.manifest.as_deref();
    // A prompt is kept without the manifest that its record names. Earlier names had no upstream.
    let names = [name(key, hash, manifest), name(key, hash, None), old_name(hash, manifest)];
    for name in names {
        if let Some(body) = store.ancestor(DEFINITION, &name).await? {
            let known = serde_json::from_str(&body);
            return known.map_err(|error| Fault::internal(format!("definition {name}: {error}")));
        }
    }
    Ok(None)
}

/// The text of the policy with this hash, if it was kept.
pub async fn known_policy(store: &Store, hash: &str) -> Result<Option<String>, Fault> {
    store.ancestor(POLICY, hash).await
}

fn ancestor(tool: &Tool) -> Ancestor {
    Ancestor {
        kind: DEFINITION,
        hash: name(&tool.item.key, &tool.item.full_hash, tool.manifest.as_deref()),
        body: serde_json::to_string(&known(tool)).unwrap_or_default(),
    }
}

fn known(tool: &Tool) -> KnownTool {
    KnownTool {
        item: tool.item.clone(),
        definition: tool.definition(),
        capability: tool.capability.clone(),
        declared: tool.declared,
    }
}

/// A definition means another thing at another upstream and under another manifest.
fn name(key: &ItemKey, definition_hash: &str, manifest: Option<&str>) -> String {
    format!("{} @{}", old_name(definition_hash, manifest), key.upstream)
}

fn old_name(definition_hash: &str, manifest: Option<&str>) -> String {
    format!("{definition_hash} {}", manifest.unwrap_or_default()).trim_end().to_owned()
}
