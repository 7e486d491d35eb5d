//! The search index of a catalogue: one part an upstream, taken over while the upstream does not
//! change.

use std::sync::Arc;

use model::UpstreamName;
use search::{Doc, Index, Lexicon, MeaningError, Part, Table};
use serde_json::Value;

use crate::cards;
use crate::entry::Entry;
use crate::generation::{Catalogue, Offered};
use crate::spread::spread;

/// An index and the parts it was made of, in the order of the entries.
#[derive(Debug)]
pub(crate) struct Indexed {
    pub(crate) index: Index,
    parts: Vec<(UpstreamName, Arc<Part>)>,
}

/// The same catalogue with meanings that others made, in place of the built-in table's.
#[derive(Clone, Debug)]
pub struct Meant {
    pub(crate) index: Index,
}

impl Catalogue {
    /// Each entry as one text to embed, in their order.
    pub fn texts(&self) -> Vec<String> {
        let entries = self.entries().iter();
        entries.map(|entry| doc(entry, &entry.item.input_schema.value()).text()).collect()
    }

    /// Takes one vector a text of [`Catalogue::texts`].
    pub fn meant(&self, vectors: &[impl AsRef<[f32]>]) -> Result<Meant, MeaningError> {
        Ok(Meant { index: self.indexed().index.with_meanings(vectors)? })
    }
}

impl Indexed {
    /// Of entries sorted by key. What `former` knows of an upstream that did not change is kept.
    pub(crate) fn new(former: Option<&Catalogue>, offered: &[Offered]) -> Self {
        let groups = offered.chunk_by(|one, next| upstream_of(one) == upstream_of(next));
        let lexicon = || Lexicon::new(Table::builtin());
        let parts = spread(groups.collect(), lexicon, |lexicon, group: &[Offered]| {
            let upstream = upstream_of(group.first()?);
            let kept = former.and_then(|former| former.indexed().kept(former, upstream, group));
            let part = kept.unwrap_or_else(|| {
                let docs = group.iter().map(|one| doc(&one.entry, one.input_schema()));
                Arc::new(Part::build_with(lexicon, &docs.collect::<Vec<_>>()))
            });
            Some((upstream.clone(), part))
        });
        let parts: Vec<(UpstreamName, Arc<Part>)> = parts.into_iter().flatten().collect();
        let same = former.map(Catalogue::indexed).filter(|former| former.has_the_very(&parts));
        let index = same.map_or_else(
            || Index::of(parts.iter().map(|(_, part)| Arc::clone(part)).collect()),
            |former| former.index.clone(),
        );
        Self { index, parts }
    }

    fn has_the_very(&self, parts: &[(UpstreamName, Arc<Part>)]) -> bool {
        let same =
            |((_, one), (_, other)): (&(_, Arc<Part>), &(_, Arc<Part>))| Arc::ptr_eq(one, other);
        self.parts.len() == parts.len() && self.parts.iter().zip(parts).all(same)
    }

    fn kept(
        &self,
        former: &Catalogue,
        upstream: &UpstreamName,
        group: &[Offered],
    ) -> Option<Arc<Part>> {
        let entries = former.entries();
        let start = entries.partition_point(|entry| entry.item.key.upstream < *upstream);
        let end = entries.partition_point(|entry| entry.item.key.upstream <= *upstream);
        let old = entries.get(start..end)?;
        let same =
            old.len() == group.len() && old.iter().zip(group).all(|(a, b)| reads_same(a, &b.entry));
        let part = self.parts.iter().find(|(name, _)| name == upstream).filter(|_| same);
        part.map(|(_, part)| Arc::clone(part))
    }
}

fn upstream_of(offered: &Offered) -> &UpstreamName {
    &offered.entry.item.key.upstream
}

/// Whether nothing that search reads differs.
fn reads_same(one: &Arc<Entry>, other: &Arc<Entry>) -> bool {
    if Arc::ptr_eq(one, other) {
        return true;
    }
    let (a, b) = (&one.item, &other.item);
    (a.full_hash == b.full_hash && a.name == b.name && a.namespace == b.namespace)
        && (a.title == b.title && a.description == b.description && a.tags == b.tags)
        && (a.ids == b.ids && one.shown_name == other.shown_name)
}

fn doc<'a>(entry: &'a Entry, schema: &'a Value) -> Doc<'a> {
    let item = &entry.item;
    let ids = [&entry.shown_name, &item.ids.wire, &item.ids.canonical, &item.ids.legacy];
    let capability = item.ids.capability.as_ref().map(AsRef::as_ref);
    let properties = schema.get("properties").and_then(Value::as_object);
    let texts = properties
        .into_iter()
        .flatten()
        .filter_map(|(_, schema)| schema.get("description").and_then(Value::as_str));
    Doc {
        name: &item.name,
        title: item.title.as_deref(),
        namespace: &item.namespace,
        upstream: item.key.upstream.as_str(),
        description: &item.description,
        params: cards::params(schema).map(|(name, _)| name).collect(),
        param_texts: texts.collect(),
        tags: item.tags.iter().map(String::as_str).collect(),
        aliases: ids.into_iter().map(String::as_str).chain(capability).collect(),
    }
}

#[cfg(test)]
mod tests;
