//! From the lists of one upstream to entries of the shelf. Nothing is left out without a reason.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;

use model::{
    EffectClaim, Finding, Hints, Item, ItemKey, ItemKind, Severity, UpstreamName, canonical,
};
use serde_json::{Value, json};

use super::PROMPT_ID;
use crate::entry::Entry;
use crate::{names, namespace};

/// Reads one list, whose entries are known by what stands under `id`. Of two with one name, the one
/// with the smaller hash stays, as among the pins: what is shown is what was compared.
pub(super) fn all(
    upstream: &UpstreamName,
    id: &str,
    protocol: &'static str,
    list: Vec<Value>,
    findings: &mut Vec<Finding>,
) -> BTreeMap<ItemKey, Entry> {
    let kind = if id == PROMPT_ID { ItemKind::Prompt } else { ItemKind::Resource };
    let mut entries: BTreeMap<ItemKey, Entry> = BTreeMap::new();
    for definition in list {
        let Some(name) = definition.get(id).and_then(Value::as_str) else {
            let message =
                format!("a {} of `{upstream}` was left out: it has no `{id}`", kind.as_str());
            findings.push(Finding::new(Severity::Error, "definition_invalid", message));
            continue;
        };
        let item = item(upstream, kind, name, &definition);
        let read = |item| Entry::new(item, &definition, (&definition).into(), protocol);
        match entries.entry(item.key.clone()) {
            Place::Vacant(place) => drop(place.insert(read(item))),
            Place::Occupied(mut place) => {
                findings.push(repeated(kind, place.key()));
                if item.full_hash < place.get().item.full_hash {
                    place.insert(read(item));
                }
            }
        }
    }
    entries
}

fn repeated(kind: ItemKind, key: &ItemKey) -> Finding {
    let message = format!("`{key}` is listed more than once; one definition is kept");
    let rule = if kind == ItemKind::Prompt { "prompt_repeated" } else { "resource_repeated" };
    Finding::new(Severity::Warning, rule, message)
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
pub(super) fn unlisted(upstream: &UpstreamName, kind: ItemKind, name: &str) -> Entry {
    let nothing = &Value::Null;
    Entry::new(item(upstream, kind, name, nothing), nothing, nothing.into(), "mcp")
}
