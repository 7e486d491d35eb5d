//! What upstreams offer beside tools: resources, templates of resources, and prompts.
//!
//! A resource is known by its URI, which is never changed; a prompt has a shown name as tools have.

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use manifest::AdapterManifest;
use model::{Finding, ItemKey, ItemKind, Listed, Severity, UpstreamName};
use serde_json::{Map, Value};

use crate::entry::Entry;
use crate::shown::{self, Style};
use crate::template;
use read::unlisted;

/// The lists of one upstream, in its own words.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    pub resources: Vec<Value>,
    pub templates: Vec<Value>,
    pub prompts: Vec<Value>,
    /// What it says it can do.
    pub capabilities: Map<String, Value>,
    pub instructions: Option<String>,
    /// The MCP revision it is spoken to in, where one is.
    pub speaks: Option<String>,
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
    manifest: Option<Arc<AdapterManifest>>,
}

/// What the shelf is told of one upstream.
pub(crate) struct Lists {
    pub(crate) upstream: UpstreamName,
    pub(crate) protocol: &'static str,
    pub(crate) manifest: Option<Arc<AdapterManifest>>,
    pub(crate) extras: Extras,
}

impl Shelf {
    pub(crate) fn build(
        lists: Vec<Lists>,
        style: Style<'_>,
        held: &mut BTreeMap<ItemKey, Finding>,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let mut shelf = Self::default();
        let count = lists.len();
        let mut prompts = BTreeMap::new();
        for Lists { upstream, protocol, manifest, extras } in lists {
            let mut read = |list: Vec<Value>, id| {
                let mut entries = read::all(&upstream, id, protocol, list, findings);
                for (key, entry) in &mut entries {
                    entry.declare(manifest.as_deref(), &key.name);
                }
                hold(&mut entries, held, findings);
                entries
            };
            prompts.extend(read(extras.prompts, PROMPT_ID));
            let resources = read(extras.resources, RESOURCE_ID);
            let mut templates = read(extras.templates, TEMPLATE_ID);
            leave_out(&mut templates, &resources, findings);
            shelf.resources.extend(resources.into_values().map(Arc::new));
            shelf.templates.extend(templates.into_values().map(Arc::new));
            let Extras { capabilities, instructions, .. } = extras;
            let stand = Stand { capabilities, instructions, manifest };
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
            return Some(self.declared_at(entry, uri));
        }
        let mut able = self
            .upstreams
            .iter()
            .filter(|(_, stand)| stand.capabilities.get("resources").is_some_and(Value::is_object));
        match (able.next(), able.next()) {
            (Some((upstream, _)), None) => {
                let entry = unlisted(upstream, ItemKind::Resource, uri);
                Some(self.declared_at(&Arc::new(entry), uri))
            }
            _ => None,
        }
    }

    /// A template declares nothing about the single addresses that fit it: each is looked up itself.
    fn declared_at(&self, entry: &Arc<Entry>, uri: &str) -> Arc<Entry> {
        let stand = self.upstreams.get(&entry.item.key.upstream);
        let manifest = stand.and_then(|stand| stand.manifest.as_deref());
        let declared = manifest.is_some_and(|manifest| manifest.declares(entry.item.kind, uri));
        if declared == entry.declared {
            return Arc::clone(entry);
        }
        let mut entry = Entry::clone(entry);
        entry.declare(manifest, uri);
        Arc::new(entry)
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

    /// What an upstream may have without listing it, as it is known when somebody asks for it.
    pub fn unlisted(key: &ItemKey) -> Entry {
        unlisted(&key.upstream, key.kind, &key.name)
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

/// The key under which each list keeps what its entries are known by.
pub(crate) const PROMPT_ID: &str = "name";
pub(crate) const RESOURCE_ID: &str = "uri";
pub(crate) const TEMPLATE_ID: &str = "uriTemplate";

/// A template that reads like a resource is not needed to reach it, and would share its pin.
fn leave_out(
    templates: &mut BTreeMap<ItemKey, Entry>,
    resources: &BTreeMap<ItemKey, Entry>,
    findings: &mut Vec<Finding>,
) {
    templates.retain(|key, _| {
        let is_new = !resources.contains_key(key);
        if !is_new {
            let message = format!("the template `{key}` reads like a resource and is left out");
            findings.push(Finding::new(Severity::Warning, "resource_repeated", message));
        }
        is_new
    });
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
    use serde_json::json;

    /// What a template leads to is declared or not by its own address.
    #[test]
    fn an_address_is_declared_by_itself() {
        let manifest = manifest::from_value(json!({
            "adapter_id": "a", "name": "a", "owner_role": "ops", "protocol": "mcp",
            "resources": [{"uri_pattern": "docs://public/*"}, {"uri_pattern": "docs://{+path}"}],
            "prompts": [{"name": "greet", "version": "1"}],
        }));
        let extras = Extras {
            templates: vec![json!({"uriTemplate": "docs://{+path}"})],
            prompts: vec![json!({"name": "greet"}), json!({"name": "part"})],
            ..Extras::default()
        };
        let lists = Lists {
            upstream: UpstreamName::from_string("u"),
            protocol: "mcp",
            manifest: manifest.ok().map(Arc::new),
            extras,
        };
        let style = Naming::Auto.into();
        let shelf = Shelf::build(vec![lists], style, &mut BTreeMap::new(), &mut Vec::new());
        let check = |entry: Option<Arc<Entry>>, expected: bool| {
            let entry = entry.unwrap();
            assert_eq!(entry.declared, expected, "{}", entry.item.key);
            assert_eq!(entry.manifest.as_deref(), expected.then_some("a@0.0.0"));
        };
        check(shelf.prompt("greet"), true);
        check(shelf.prompt("part"), false);
        check(shelf.template("docs://{+path}"), true);
        check(shelf.resource("docs://public/1"), true);
        check(shelf.resource("docs://secret/1"), false);
    }

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
            let upstream = UpstreamName::from_string(name);
            Lists { upstream, protocol: "mcp", manifest: None, extras }
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
    /// Whatever the order, and never without a word.
    #[test]
    fn of_two_with_one_name_the_smaller_hash_stays() {
        let (one, other) = (json!({"name": "p", "title": "1"}), json!({"name": "p", "title": "2"}));
        let kept = |list: Value| {
            let (shelf, findings) = shelf(vec![("a", json!({"prompts": list}))]);
            assert!(findings.iter().any(|finding| finding.rule == "prompt_repeated"));
            shelf.prompt("p").unwrap().item.full_hash.clone()
        };
        assert_eq!(kept(json!([one, other])), kept(json!([other, one])));
    }

    #[test]
    fn what_has_no_name_or_reads_like_another_is_left_out_with_a_reason() {
        let check = |offer: Value, rule: &str| {
            let (shelf, findings) = shelf(vec![("a", offer)]);
            assert!(findings.iter().any(|finding| finding.rule == rule), "{findings:?}");
            assert_eq!((shelf.prompts().len(), shelf.templates().len()), (0, 0));
        };
        check(json!({"prompts": [{"title": "p"}]}), "definition_invalid");
        check(json!({"prompts": [7]}), "definition_invalid");
        check(json!({"templates": [{"uri": "a:b"}]}), "definition_invalid");
        let both = json!({"resources": [{"uri": "a:b"}], "templates": [{"uriTemplate": "a:b"}]});
        check(both, "resource_repeated");
    }
}
