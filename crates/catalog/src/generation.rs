//! One immutable state of the catalogue: built whole from what the upstreams list, then only read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use manifest::AdapterManifest;
use model::{EffectClaim, Finding, Generation, Severity, UpstreamName, canonical};
use serde_json::Value;

use crate::aliases::Aliases;
use crate::departure::Held;
use crate::entry::Entry;
use crate::indexed::Indexed;
use crate::ingest::{Definition, item, name_and_fields, namespace_of, pack};
use crate::shelf::{Extras, Lists, Shelf};
use crate::shown::{self, Style};
use crate::spread::spread;
use crate::{features, limits, names};

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
    /// Which of the entries are not held back.
    usable: Vec<bool>,
    aliases: Arc<Aliases>,
    findings: Vec<Finding>,
    shelf: Shelf,
    indexed: Indexed,
}

impl Catalogue {
    /// The same sources, in any order, give the same entries, names and hash.
    pub fn build<'s>(
        generation: Generation,
        sources: Vec<Source>,
        style: impl Into<Style<'s>>,
    ) -> Self {
        Self::build_after(None, generation, sources, style.into(), Held::default())
    }

    /// What `build` gives, with less work: an upstream that did not change keeps its part of the
    /// index. The former catalogue goes on answering meanwhile.
    #[must_use]
    pub fn rebuild<'s>(
        &self,
        generation: Generation,
        sources: Vec<Source>,
        style: impl Into<Style<'s>>,
    ) -> Self {
        self.rebuild_holding(generation, sources, style, Held::default())
    }

    /// The same, with these held back for their reasons.
    #[must_use]
    pub fn rebuild_holding<'s>(
        &self,
        generation: Generation,
        sources: Vec<Source>,
        style: impl Into<Style<'s>>,
        held: impl Into<Held>,
    ) -> Self {
        Self::build_after(Some(self), generation, sources, style.into(), held.into())
    }

    fn build_after(
        former: Option<&Self>,
        generation: Generation,
        mut sources: Vec<Source>,
        style: Style<'_>,
        held: Held,
    ) -> Self {
        let Held { items: mut held, told } = held;
        let upstreams: BTreeSet<UpstreamName> =
            sources.iter().map(|source| source.upstream.clone()).collect();
        let mut findings = Vec::new();
        for source in &sources {
            let Some(manifest) = source.manifest.as_deref() else { continue };
            let said = &source.extras.capabilities;
            findings.extend(features::compare(&source.upstream, manifest, said));
            findings.extend(features::unpinned(manifest));
        }
        let lists = sources.iter_mut().map(|source| Lists {
            upstream: source.upstream.clone(),
            protocol: source.protocol,
            manifest: source.manifest.clone(),
            extras: std::mem::take(&mut source.extras),
        });
        let shelf = Shelf::build(lists.collect(), style, &mut held, &mut findings);
        let mut offered = gather(former, sources, &mut findings);
        for Offered { entry, .. } in &mut offered {
            let finding = held.remove(&entry.item.key);
            if entry.held() != finding.as_ref() {
                Arc::make_mut(entry).hold(finding);
            }
        }
        name(&mut offered, style, upstreams.len(), &mut findings);
        let own = offered.iter().map(|one| &one.entry);
        let own = own.flat_map(|entry| entry.item.findings.iter().chain(entry.quarantined()));
        // What holds back many things is said once.
        findings.extend(own.cloned());
        findings.retain(|finding| !told.contains(finding));
        findings.extend(told);
        let indexed = Indexed::new(former, &offered);
        let entries: Vec<Arc<Entry>> = offered.into_iter().map(|one| one.entry).collect();
        let same = former.filter(|former| former.has_the_very(&entries));
        let aliases =
            same.map_or_else(|| Arc::new(aliases(&entries)), |former| Arc::clone(&former.aliases));
        let hash = hash(&entries, &shelf);
        let usable = entries.iter().map(|entry| entry.quarantined().is_none()).collect();
        Self { generation, hash, entries, usable, aliases, findings, shelf, indexed }
    }

    fn has_the_very(&self, entries: &[Arc<Entry>]) -> bool {
        self.entries.len() == entries.len()
            && self.entries.iter().zip(entries).all(|(one, other)| Arc::ptr_eq(one, other))
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
        let entry = self.aliases.resolve(name).and_then(|number| self.entries.get(number))?;
        names_of(entry).any(|own| own == name).then_some(entry)
    }

    /// A tool by what its upstream calls it.
    fn known(&self, upstream: &UpstreamName, name: &str) -> Option<&Arc<Entry>> {
        let at = self.entries.binary_search_by(|entry| {
            let key = &entry.item.key;
            (&key.upstream, key.name.as_str()).cmp(&(upstream, name))
        });
        at.ok().and_then(|at| self.entries.get(at))
    }

    /// Which of the entries are not held back.
    pub fn usable(&self) -> &[bool] {
        &self.usable
    }

    pub(crate) fn is_usable(&self, number: usize) -> bool {
        self.usable.get(number).copied().unwrap_or(false)
    }

    /// Resources, templates and prompts.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Everything that is held back, with the reason.
    pub fn held(&self) -> impl Iterator<Item = &Finding> {
        let shelf = &self.shelf;
        let lists = [&self.entries, shelf.prompts(), shelf.resources(), shelf.templates()];
        lists.into_iter().flatten().filter_map(|entry| entry.quarantined())
    }

    /// Everything remarked while building; each message names its tool.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// An entry beside the definition it was made of, which only building needs as a value.
pub(crate) struct Offered {
    pub(crate) entry: Arc<Entry>,
    definition: Value,
}

impl Offered {
    pub(crate) fn input_schema(&self) -> &Value {
        self.definition.get("inputSchema").unwrap_or(&Value::Null)
    }
}

/// Reads all definitions, in order of their keys. What `former` read letter for letter is not read
/// again.
fn gather(
    former: Option<&Catalogue>,
    sources: Vec<Source>,
    findings: &mut Vec<Finding>,
) -> Vec<Offered> {
    let mut read = Vec::new();
    for (source, own) in read_all(former, sources) {
        let first = read.len();
        for one in own {
            match one {
                Ok(one) => read.push(one),
                Err(finding) => findings.push(finding),
            }
        }
        if let Some(manifest) = source.manifest.as_deref() {
            let offered = read.iter().skip(first).map(|one| one.entry.item.name.as_str()).collect();
            findings.extend(absent(manifest, &offered));
        }
    }
    sort(&mut read, findings);
    findings.sort_by(|a, b| (&a.rule, &a.message).cmp(&(&b.rule, &b.message)));
    read
}

/// Each source, and what its definitions say in their order. Many are read by several threads.
fn read_all(
    former: Option<&Catalogue>,
    mut sources: Vec<Source>,
) -> Vec<(Source, Vec<Result<Offered, Finding>>)> {
    let mut sheets = Vec::new();
    for (number, source) in sources.iter_mut().enumerate() {
        let mut left = std::mem::take(&mut source.definitions);
        while !left.is_empty() {
            let rest = left.split_off(left.len().min(limits::SHEET_TOOLS));
            sheets.push((number, std::mem::replace(&mut left, rest)));
        }
    }
    let read = spread(
        sheets,
        || (),
        |(), (number, sheet)| {
            let source = sources.get(number);
            let read = source.map(|source| sheet.into_iter().map(|one| offer(former, source, one)));
            (number, read.into_iter().flatten().collect::<Vec<_>>())
        },
    );
    let mut all: Vec<_> = sources.into_iter().map(|source| (source, Vec::new())).collect();
    for (number, sheet) in read {
        if let Some((_, own)) = all.get_mut(number) {
            own.extend(sheet);
        }
    }
    all
}

fn offer(
    former: Option<&Catalogue>,
    source: &Source,
    definition: Value,
) -> Result<Offered, Finding> {
    Ok(Offered { entry: entry(former, source, &definition)?, definition })
}

fn entry(
    former: Option<&Catalogue>,
    source: &Source,
    definition: &Value,
) -> Result<Arc<Entry>, Finding> {
    let (name, fields) = name_and_fields(&source.upstream, definition)?;
    let manifest = source.manifest.as_deref();
    let namespace = manifest.and_then(|manifest| manifest.domain.as_deref());
    let namespace = namespace_of(name, namespace.or(source.namespace.as_deref()));
    let (packed, schemas) = pack(fields);
    let capability = manifest.and_then(|manifest| manifest.capability_for_tool(name));
    let stands = |known: &&Arc<Entry>| {
        (known.is_defined_by(&packed) && known.protocol == source.protocol)
            && (known.item.namespace == namespace && known.capability.as_ref() == capability)
            && known.manifest == manifest.map(AdapterManifest::label)
    };
    let known = former.and_then(|former| former.known(&source.upstream, name)).filter(stands);
    if let Some(known) = known {
        return Ok(Arc::clone(known));
    }
    let read = Definition { name, fields, whole: definition, schemas };
    let item = item(&source.upstream, &namespace, read);
    let mut entry = Entry::new(item, definition, packed, source.protocol);
    entry.manifest = manifest.map(AdapterManifest::label);
    if let Some(capability) = capability {
        // What a reviewed manifest says stands in place of what is assumed.
        entry.item.effect = EffectClaim::declared(capability.effect());
        entry.item.ids.capability = Some(capability.capability_id.clone());
        entry.capability = Some(capability.clone());
    }
    Ok(Arc::new(entry))
}

/// Sorts by key. Of two with one key, the one with the smaller hash stays.
fn sort(read: &mut Vec<Offered>, findings: &mut Vec<Finding>) {
    read.sort_by(|a, b| {
        let (a, b) = (&a.entry.item, &b.entry.item);
        a.key.cmp(&b.key).then_with(|| a.full_hash.cmp(&b.full_hash))
    });
    read.dedup_by(|later, kept| {
        let key = &kept.entry.item.key;
        let is_repeat = later.entry.item.key == *key;
        if is_repeat {
            let message = format!("`{key}` is listed more than once; one definition is kept");
            findings.push(Finding::new(Severity::Warning, "tool_repeated", message));
        }
        is_repeat
    });
}

fn absent<'a>(
    manifest: &'a AdapterManifest,
    offered: &'a BTreeSet<&'a str>,
) -> impl Iterator<Item = Finding> + use<'a> {
    let missing = manifest
        .capabilities
        .iter()
        .filter(|capability| !offered.contains(capability.tool.as_str()));
    missing.map(|capability| {
        let (id, tool) = (&capability.capability_id, &capability.tool);
        let message = format!("`{id}` is bound to `{tool}`, which the upstream does not list");
        Finding::new(Severity::Warning, "capability_without_tool", message)
    })
}

fn name(offered: &mut [Offered], style: Style<'_>, upstreams: usize, findings: &mut Vec<Finding>) {
    let items = offered.iter().map(|one| &one.entry.item);
    let items: Vec<_> = items.map(|item| (&item.key, &item.ids)).collect();
    let assigned = shown::assign(&items, style, upstreams);
    findings.extend(assigned.findings);
    for ((one, wire), shown) in offered.iter_mut().zip(assigned.wire).zip(assigned.shown) {
        if one.entry.item.ids.wire != wire || one.entry.shown_name != shown {
            Arc::make_mut(&mut one.entry).christen(wire, shown);
        }
    }
    for (place, finding) in assigned.held {
        if let Some(one) = offered.get_mut(place).filter(|one| one.entry.held().is_none()) {
            Arc::make_mut(&mut one.entry).hold(Some(finding));
        }
    }
}

/// Every name of an entry, those that win over others first.
fn names_of(entry: &Entry) -> impl Iterator<Item = Cow<'_, str>> {
    let ids = &entry.item.ids;
    let capability = ids.capability.as_ref().map_or("", AsRef::as_ref);
    [
        (&entry.shown_name).into(),
        capability.into(),
        (&ids.wire).into(),
        names::provider_name(entry),
        (&ids.canonical).into(),
        (&ids.legacy).into(),
        (&entry.item.name).into(),
    ]
    .into_iter()
}

fn aliases(entries: &[Arc<Entry>]) -> Aliases {
    let names = entries.iter().enumerate().flat_map(|(number, entry)| {
        names_of(entry).enumerate().map(move |(tier, name)| (tier, name, number))
    });
    Aliases::new(names.filter(|(_, name, _)| !name.is_empty()))
}

fn hash(entries: &[Arc<Entry>], shelf: &Shelf) -> String {
    let shelved = shelf.prompts().iter().chain(shelf.resources()).chain(shelf.templates());
    canonical::hash_rows(entries.iter().chain(shelved).map(|entry| {
        let item = &entry.item;
        (&item.key, &entry.shown_name, &item.full_hash, &entry.manifest, &item.ids.capability)
    }))
}

#[cfg(test)]
mod tests;
