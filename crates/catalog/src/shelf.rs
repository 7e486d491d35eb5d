//! What upstreams offer beside tools: resources, templates of resources, and prompts.
//!
//! A resource is known by its URI, which is never changed; a prompt has a shown name as tools have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    EffectClaim, Finding, Hints, Item, ItemKey, ItemKind, Listed, Severity, UpstreamName, canonical,
};
use serde_json::{Map, Value, json};

use crate::entry::Entry;
use crate::shown::{self, Style};
use crate::{names, namespace, template};

/// The lists of one upstream, in its own words.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    pub resources: Vec<Value>,
    pub templates: Vec<Value>,
    pub prompts: Vec<Value>,
    /// What it says it can do.
    pub capabilities: Map<String, Value>,
    pub instructions: Option<String>,
    /// Lists it did not give this time: what is missing from them has not gone.
    pub unheard: BTreeSet<Listed>,
}

#[derive(Debug, Default)]
pub struct Shelf {
    prompts: Vec<Arc<Entry>>,
    resources: Vec<Arc<Entry>>,
    templates: Vec<Arc<Entry>>,
    prompt_names: BTreeMap<String, usize>,
    uris: BTreeMap<String, usize>,
    upstreams: BTreeMap<UpstreamName, Stand>,
}

/// One upstream as a whole.
#[derive(Clone, Debug, Default)]
pub struct Stand {
    pub capabilities: Map<String, Value>,
    pub instructions: Option<String>,
}

impl Shelf {
    pub(crate) fn build(
        extras: Vec<(UpstreamName, &'static str, Extras)>,
        style: Style<'_>,
        held: &mut BTreeMap<ItemKey, Finding>,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let mut shelf = Self::default();
        let count = extras.len();
        let mut prompts = BTreeMap::new();
        for (upstream, protocol, extras) in extras {
            let mut read = |kind, list| {
                let mut entries = read_all(&upstream, kind, protocol, list);
                hold(&mut entries, held, findings);
                entries
            };
            prompts.extend(read("name", extras.prompts));
            let (resources, templates) =
                (read("uri", extras.resources), read("uriTemplate", extras.templates));
            shelf.resources.extend(resources.into_values().map(Arc::new));
            shelf.templates.extend(templates.into_values().map(Arc::new));
            let stand =
                Stand { capabilities: extras.capabilities, instructions: extras.instructions };
            shelf.upstreams.insert(upstream, stand);
        }
        shelf.prompts = name(prompts, style, count, findings);
        shelf.index(findings);
        shelf
    }

    pub fn prompts(&self) -> &[Arc<Entry>] {
        &self.prompts
    }

    pub fn resources(&self) -> &[Arc<Entry>] {
        &self.resources
    }

    pub fn templates(&self) -> &[Arc<Entry>] {
        &self.templates
    }

    /// What each upstream says of itself, by name.
    pub fn upstreams(&self) -> &BTreeMap<UpstreamName, Stand> {
        &self.upstreams
    }

    pub fn prompt(&self, name: &str) -> Option<Arc<Entry>> {
        self.prompt_names.get(name).and_then(|at| self.prompts.get(*at)).map(Arc::clone)
    }

    /// The entry that answers for a URI: a resource, else the template that says most about it,
    /// else the only upstream that has resources at all, since servers need not list what they have.
    /// Another spelling of what is listed is nobody's: it would be judged by another name.
    pub fn resource(&self, uri: &str) -> Option<Arc<Entry>> {
        if let Some(listed) = self.uris.get(uri).and_then(|at| self.resources.get(*at)) {
            return Some(Arc::clone(listed));
        }
        if !template::is_plain(uri) {
            return None;
        }
        let fitting = self.templates.iter().filter_map(|entry| {
            let literal = template::fits(&entry.item.name, uri)?;
            Some((literal, std::cmp::Reverse(&entry.item.key), entry))
        });
        if let Some((_, _, entry)) = fitting.max_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1))) {
            return Some(Arc::clone(entry));
        }
        let mut able = self
            .upstreams
            .iter()
            .filter(|(_, stand)| stand.capabilities.get("resources").is_some_and(Value::is_object));
        match (able.next(), able.next()) {
            (Some((upstream, _)), None) => {
                Some(Arc::new(unlisted(upstream, ItemKind::Resource, uri)))
            }
            _ => None,
        }
    }

    /// The entry a completion is asked of, by the text of its template or its URI.
    pub fn template(&self, uri: &str) -> Option<Arc<Entry>> {
        let listed = self.templates.iter().find(|entry| entry.item.name == uri);
        listed.map(Arc::clone).or_else(|| self.resource(uri))
    }

    /// A method of an extension, which only one upstream alone can be meant by.
    pub fn extension(&self, method: &str) -> Option<Arc<Entry>> {
        let mut upstreams = self.upstreams.keys();
        match (upstreams.next(), upstreams.next()) {
            (Some(only), None) => Some(Arc::new(unlisted(only, ItemKind::Internal, method))),
            _ => None,
        }
    }

    fn index(&mut self, findings: &mut Vec<Finding>) {
        for (at, entry) in self.prompts.iter().enumerate() {
            self.prompt_names.insert(entry.shown_name.clone(), at);
        }
        let mut repeated = BTreeSet::new();
        for (at, entry) in self.resources.iter().enumerate() {
            if self.uris.contains_key(&entry.item.name) {
                repeated.insert(at);
                let message =
                    format!("`{}` is listed by another upstream too and left out", entry.item.key);
                findings.push(Finding::new(Severity::Warning, "resource_repeated", message));
            } else {
                self.uris.insert(entry.item.name.clone(), at);
            }
        }
        if !repeated.is_empty() {
            let kept = std::mem::take(&mut self.resources).into_iter().enumerate();
            self.resources =
                kept.filter(|(at, _)| !repeated.contains(at)).map(|(_, entry)| entry).collect();
            self.uris = self
                .resources
                .iter()
                .enumerate()
                .map(|(at, entry)| (entry.item.name.clone(), at))
                .collect();
        }
    }
}

/// Holds back what must be, and says so.
fn hold(
    entries: &mut BTreeMap<ItemKey, Entry>,
    held: &mut BTreeMap<ItemKey, Finding>,
    findings: &mut Vec<Finding>,
) {
    for (key, entry) in entries {
        if let Some(finding) = held.remove(key) {
            findings.push(finding.clone());
            entry.hold(Some(finding));
        }
    }
}

fn read_all(
    upstream: &UpstreamName,
    id: &str,
    protocol: &'static str,
    list: Vec<Value>,
) -> BTreeMap<ItemKey, Entry> {
    let kind = if id == "name" { ItemKind::Prompt } else { ItemKind::Resource };
    let mut entries = BTreeMap::new();
    for definition in list {
        let Some(name) = definition.get(id).and_then(Value::as_str) else { continue };
        let item = item(upstream, kind, name, &definition);
        let entry = |item| Entry::new(item, &definition, (&definition).into(), protocol);
        entries.entry(item.key.clone()).or_insert_with(|| entry(item));
    }
    entries
}

fn item(upstream: &UpstreamName, kind: ItemKind, name: &str, definition: &Value) -> Item {
    let text = |key: &str| definition.get(key).and_then(Value::as_str).map(str::to_owned);
    let key = ItemKey { upstream: upstream.clone(), name: name.to_owned(), kind };
    let space = namespace::normalise(upstream.as_str());
    let input_schema = json!({"type": "object"});
    let shape_hash = names::shape_hash(name, &input_schema);
    Item {
        kind,
        ids: names::render(&key, &space, None, &shape_hash),
        key,
        namespace: space,
        name: name.to_owned(),
        title: text("title"),
        description: text("description").unwrap_or_default(),
        input_schema: (&input_schema).into(),
        output_schema: None,
        version: "1".to_owned(),
        hints: Hints::default(),
        effect: EffectClaim::UNLISTED,
        tags: Vec::new(),
        icons: Vec::new(),
        shape_hash,
        full_hash: canonical::hash(definition),
        findings: Vec::new(),
    }
}

/// Something an upstream may have without listing it.
fn unlisted(upstream: &UpstreamName, kind: ItemKind, name: &str) -> Entry {
    let nothing = &Value::Null;
    Entry::new(item(upstream, kind, name, nothing), nothing, nothing.into(), "mcp")
}

fn name(
    prompts: BTreeMap<ItemKey, Entry>,
    style: Style<'_>,
    upstreams: usize,
    findings: &mut Vec<Finding>,
) -> Vec<Arc<Entry>> {
    let mut entries: Vec<Entry> = prompts.into_values().collect();
    let items: Vec<_> = entries.iter().map(|one| (&one.item.key, &one.item.ids)).collect();
    let names = shown::assign(&items, style, upstreams);
    findings.extend(names.findings);
    for (entry, shown) in entries.iter_mut().zip(names.shown) {
        entry.shown_name = shown;
    }
    entries.into_iter().map(Arc::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::Naming;

    fn shelf(extras: Vec<(&str, Value)>) -> (Shelf, Vec<Finding>) {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let extras = extras.into_iter().map(|(name, offer)| {
            let extras = Extras {
                resources: list(&offer["resources"]),
                templates: list(&offer["templates"]),
                prompts: list(&offer["prompts"]),
                capabilities: offer["capabilities"].as_object().cloned().unwrap_or_default(),
                ..Extras::default()
            };
            (UpstreamName::from_string(name), "mcp", extras)
        });
        let mut findings = Vec::new();
        (
            Shelf::build(
                extras.collect(),
                Naming::Auto.into(),
                &mut BTreeMap::new(),
                &mut findings,
            ),
            findings,
        )
    }

    #[test]
    fn a_uri_is_answered_for_by_the_closest_entry() {
        let (shelf, _) = shelf(vec![(
            "a",
            json!({
                "resources": [{"uri": "test://static", "name": "s"}],
                "templates": [{"uriTemplate": "test://{any}"}, {"uriTemplate": "test://t/{id}/data"}],
                "capabilities": {"resources": {}},
            }),
        )]);
        let check = |uri: &str, wanted: &str| {
            assert_eq!(shelf.resource(uri).unwrap().item.name, wanted, "{uri}");
        };
        check("test://static", "test://static");
        check("test://t/7/data", "test://t/{id}/data");
        check("test://else", "test://{any}");
        check("file:///unlisted", "file:///unlisted");
    }

    #[test]
    fn what_nobody_offers_is_not_found() {
        let two = json!({"capabilities": {"resources": {}}});
        let (shelf, _) = shelf(vec![("a", two.clone()), ("b", two)]);
        assert!(shelf.resource("file:///x").is_none());
        assert!(shelf.prompt("x").is_none());
        assert!(shelf.extension("vendor/x").is_none());
    }

    #[test]
    fn one_name_or_uri_never_means_two_things() {
        let offer = json!({"prompts": [{"name": "p"}], "resources": [{"uri": "a:b"}]});
        let (shelf, findings) = shelf(vec![("a", offer.clone()), ("b", offer)]);
        let names: Vec<&str> = shelf.prompts().iter().map(|p| p.shown_name.as_str()).collect();
        assert_eq!(names, ["mcp__a__p", "mcp__b__p"]);
        assert_eq!(shelf.resources().len(), 1);
        assert_eq!(shelf.resource("a:b").unwrap().item.key.upstream.as_str(), "a");
        assert!(findings.iter().any(|finding| finding.rule == "resource_repeated"));
    }
}
