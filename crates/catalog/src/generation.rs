//! One immutable state of the catalogue: built whole from what the upstreams list, then only read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use manifest::AdapterManifest;
use model::{EffectClaim, Finding, Generation, ItemKey, Severity, UpstreamName, canonical};
use serde_json::{Value, json};

use crate::aliases::Aliases;
use crate::entry::Entry;
use crate::indexed::Indexed;
use crate::ingest::item_from_mcp_tool;
use crate::names;
use crate::shelf::{Extras, Shelf};
use crate::shown::{self, Naming};

/// What one upstream offers.
#[derive(Clone, Debug)]
pub struct Source {
    pub upstream: UpstreamName,
    pub protocol: &'static str,
    /// Configured by the operator; a manifest's domain goes before it.
    pub namespace: Option<String>,
    pub definitions: Vec<Value>,
    pub manifest: Option<Arc<AdapterManifest>>,
    /// What it offers beside tools.
    pub extras: Extras,
}

#[derive(Debug)]
pub struct Catalogue {
    generation: Generation,
    hash: String,
    entries: Vec<Arc<Entry>>,
    aliases: Aliases,
    findings: Vec<Finding>,
    shelf: Shelf,
    indexed: Indexed,
}

impl Catalogue {
    /// The same sources, in any order, give the same entries, names and hash.
    pub fn build(generation: Generation, sources: Vec<Source>, naming: Naming) -> Self {
        Self::build_after(None, generation, sources, naming, BTreeMap::new())
    }

    /// What `build` gives, with less work: an upstream that did not change keeps its part of the
    /// index. The former catalogue goes on answering meanwhile.
    #[must_use]
    pub fn rebuild(&self, generation: Generation, sources: Vec<Source>, naming: Naming) -> Self {
        self.rebuild_holding(generation, sources, naming, BTreeMap::new())
    }

    /// The same, with these tools held back for these reasons.
    #[must_use]
    pub fn rebuild_holding(
        &self,
        generation: Generation,
        sources: Vec<Source>,
        naming: Naming,
        held: BTreeMap<ItemKey, Finding>,
    ) -> Self {
        Self::build_after(Some(self), generation, sources, naming, held)
    }

    fn build_after(
        former: Option<&Self>,
        generation: Generation,
        mut sources: Vec<Source>,
        naming: Naming,
        mut held: BTreeMap<ItemKey, Finding>,
    ) -> Self {
        let upstreams: BTreeSet<UpstreamName> =
            sources.iter().map(|source| source.upstream.clone()).collect();
        let mut findings = Vec::new();
        let extras = sources.iter_mut().map(|source| {
            (source.upstream.clone(), source.protocol, std::mem::take(&mut source.extras))
        });
        let shelf = Shelf::build(extras.collect(), naming, &mut findings);
        let mut entries = gather(sources, &mut findings);
        for entry in &mut entries {
            if let Some(finding) = held.remove(&entry.item.key) {
                entry.hold(finding);
            }
        }
        name(&mut entries, naming, upstreams.len(), &mut findings);
        let own = entries
            .iter()
            .flat_map(|entry| entry.item.findings.iter().chain(entry.quarantined()).cloned());
        findings.extend(own);
        let indexed = Indexed::new(former, &entries);
        let entries: Vec<Arc<Entry>> = entries.into_iter().map(Arc::new).collect();
        let (hash, aliases) = (hash(&entries, &shelf), aliases(&entries));
        Self { generation, hash, entries, aliases, findings, shelf, indexed }
    }

    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// SHA-256 over every definition, name and manifest in force.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub(crate) fn indexed(&self) -> &Indexed {
        &self.indexed
    }

    /// Sorted by key, quarantined tools included.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The one entry a name means, whichever rendering it is. A name that several tools share
    /// means none of them.
    pub fn resolve(&self, name: &str) -> Option<&Arc<Entry>> {
        self.aliases.resolve(name).and_then(|number| self.entries.get(number))
    }

    /// Resources, templates and prompts.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Everything remarked while building; each message names its tool.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// Reads all definitions; of two with one key, the one with the smaller hash stays.
fn gather(sources: Vec<Source>, findings: &mut Vec<Finding>) -> Vec<Entry> {
    let mut kept: BTreeMap<ItemKey, Entry> = BTreeMap::new();
    for source in sources {
        let manifest = source.manifest.as_deref();
        let namespace = manifest.and_then(|manifest| manifest.domain.as_deref());
        let namespace = namespace.or(source.namespace.as_deref());
        let mut offered = BTreeSet::new();
        for definition in source.definitions {
            let item = match item_from_mcp_tool(&source.upstream, namespace, &definition) {
                Ok(item) => item,
                Err(finding) => {
                    findings.push(finding);
                    continue;
                }
            };
            offered.insert(item.name.clone());
            let entry = declare(Entry::new(item, &definition, source.protocol), manifest);
            keep(&mut kept, entry, findings);
        }
        findings.extend(manifest.into_iter().flat_map(|manifest| absent(manifest, &offered)));
    }
    findings.sort_by(|a, b| (&a.rule, &a.message).cmp(&(&b.rule, &b.message)));
    kept.into_values().collect()
}

fn keep(kept: &mut BTreeMap<ItemKey, Entry>, entry: Entry, findings: &mut Vec<Finding>) {
    let Some(other) = kept.get(&entry.item.key) else {
        kept.insert(entry.item.key.clone(), entry);
        return;
    };
    let message = format!("`{}` is listed more than once; one definition is kept", entry.item.key);
    findings.push(Finding::new(Severity::Warning, "tool_repeated", message));
    if entry.item.full_hash < other.item.full_hash {
        kept.insert(entry.item.key.clone(), entry);
    }
}

/// Sets what a reviewed manifest says in place of what is assumed.
fn declare(mut entry: Entry, manifest: Option<&AdapterManifest>) -> Entry {
    let Some(manifest) = manifest else { return entry };
    entry.manifest = Some(manifest.label());
    if let Some(capability) = manifest.capability_for_tool(&entry.item.name) {
        entry.item.effect = EffectClaim::declared(capability.effect());
        entry.item.ids.capability = Some(capability.capability_id.clone());
        entry.capability = Some(capability.clone());
    }
    entry
}

fn absent<'a>(
    manifest: &'a AdapterManifest,
    offered: &'a BTreeSet<String>,
) -> impl Iterator<Item = Finding> + use<'a> {
    let missing =
        manifest.capabilities.iter().filter(|capability| !offered.contains(&capability.tool));
    missing.map(|capability| {
        let (id, tool) = (&capability.capability_id, &capability.tool);
        let message = format!("`{id}` is bound to `{tool}`, which the upstream does not list");
        Finding::new(Severity::Warning, "capability_without_tool", message)
    })
}

fn name(entries: &mut [Entry], naming: Naming, upstreams: usize, findings: &mut Vec<Finding>) {
    let keys: Vec<&ItemKey> = entries.iter().map(|entry| &entry.item.key).collect();
    let assigned = shown::assign(&keys, naming, upstreams);
    findings.extend(assigned.findings);
    for ((entry, wire), shown) in entries.iter_mut().zip(assigned.wire).zip(assigned.shown) {
        entry.christen(wire, shown);
    }
}

/// One kind of name.
type Tier = fn(&Entry) -> Option<Cow<'_, str>>;

fn aliases(entries: &[Arc<Entry>]) -> Aliases {
    let mut aliases = Aliases::default();
    let tiers: [Tier; 7] = [
        |entry| Some((&entry.shown_name).into()),
        |entry| Some(entry.item.ids.capability.as_ref()?.as_str().into()),
        |entry| Some((&entry.item.ids.wire).into()),
        |entry| Some(names::provider_name(entry)),
        |entry| Some((&entry.item.ids.canonical).into()),
        |entry| Some((&entry.item.ids.legacy).into()),
        |entry| Some((&entry.item.name).into()),
    ];
    for tier in tiers {
        let names = entries.iter().enumerate();
        aliases.add_tier(names.filter_map(|(number, entry)| Some((tier(entry)?, number))));
    }
    aliases
}

fn hash(entries: &[Arc<Entry>], shelf: &Shelf) -> String {
    let shelved = shelf.prompts().iter().chain(shelf.resources()).chain(shelf.templates());
    let rows = entries.iter().chain(shelved).map(|entry| {
        json!([
            entry.item.key,
            entry.shown_name,
            entry.item.full_hash,
            entry.manifest,
            entry.item.ids.capability
        ])
    });
    canonical::hash(&rows.collect())
}

#[cfg(test)]
mod tests;
