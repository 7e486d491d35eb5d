//! Finding a tool: by words or by walking namespaces. What the caller may not see does not exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Card, Code, Fault};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cards::{self, make_cards};
use crate::entry::Entry;
use crate::find::Look;
use crate::generation::Catalogue;
use crate::path::{Path, path_of};
use crate::{limits, tokens};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    Words(String),
    Path(String),
}

impl Query {
    /// Exactly one of the two must be given.
    pub fn from_args(query: Option<String>, path: Option<String>) -> Result<Self, Fault> {
        match (query, path) {
            (Some(words), None) => Ok(Self::Words(words)),
            (None, Some(path)) => Ok(Self::Path(path)),
            (Some(_), Some(_)) => Err(one_of("not both")),
            (None, None) => Err(one_of("neither is there")),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Browse {
    pub cards: Vec<Card>,
    /// Namespaces and how many visible tools each has.
    pub folders: Vec<(String, usize)>,
    /// Words of the query that match nothing.
    pub unmatched: Vec<String>,
    /// Cards that are nearly the same, and how they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<String>,
    /// Upstreams that do not answer, of tools shown as they were listed before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// What the reader should know about how this was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Names that read like the query, where nothing matches it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<String>,
    /// The best of this query, best first, where the cards stand in another order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranked: Vec<String>,
    /// What the reader can do next.
    pub hint: String,
}

impl Browse {
    /// What a model reads: a line a card, then what it should know beside them. Never empty.
    pub fn to_text(&self) -> String {
        let folders = self.folders.iter().map(|(name, tools)| match tools {
            1 => format!("/{name} (1 tool)"),
            tools => format!("/{name} ({tools} tools)"),
        });
        let list = |label: &str, words: &[String]| match words {
            [] => String::new(),
            words => format!("{label}: {}", words.join(", ")),
        };
        let paragraphs = [
            cards::render_text(&self.cards),
            folders.collect::<Vec<_>>().join("\n"),
            list("no tool knows", &self.unmatched),
            list("near", &self.near),
            self.alike.join("\n"),
            list("not answering now, tools as last listed", &self.stale),
            self.note.clone().unwrap_or_default(),
            list("best of these for this query, best first", &self.ranked),
            self.hint.clone(),
        ];
        let paragraphs = paragraphs.into_iter().filter(|paragraph| !paragraph.is_empty());
        paragraphs.collect::<Vec<_>>().join("\n\n")
    }

    /// What all of it costs a model.
    pub(crate) fn tokens(&self) -> usize {
        tokens::count(&self.to_text())
    }

    /// The same for programs, without what says nothing.
    pub fn to_json(&self) -> Value {
        let mut fields = json!({
            "cards": self.cards.iter().map(cards::structured).collect::<Vec<_>>(),
            "folders": self.folders.iter().map(|(name, tools)| json!({"path": format!("/{name}"), "tools": tools})).collect::<Vec<_>>(),
            "unmatched": self.unmatched,
            "near": self.near,
            "alike": self.alike,
            "stale": self.stale,
            "note": self.note,
            "ranked": self.ranked,
            "hint": self.hint,
        });
        if let Some(fields) = fields.as_object_mut() {
            fields.retain(|key, value| {
                let says = value.as_array().map_or(!value.is_null(), |list| !list.is_empty());
                key == "cards" || says
            });
        }
        fields
    }
}

impl Catalogue {
    /// Answers a query with at most `top_k` cards (1 to 50). Quarantined tools are never shown.
    pub fn browse(
        &self,
        query: &Query,
        top_k: usize,
        allowed: &dyn Fn(&Entry) -> bool,
    ) -> Result<Browse, Fault> {
        self.browse_as(query, &Look::new(top_k, allowed))
    }

    /// The same for a caller of whom more is known.
    pub fn browse_as(&self, query: &Query, look: &Look<'_>) -> Result<Browse, Fault> {
        let top_k = look.top_k.clamp(1, limits::TOP_K_MAX);
        match query {
            Query::Words(words) => Ok(self.find(words, look)),
            Query::Path(path) => self.walk(path, top_k, look),
        }
    }

    fn walk(&self, text: &str, top_k: usize, look: &Look<'_>) -> Result<Browse, Fault> {
        let path = Path::parse(text)?;
        let seen = self.seen(look);
        let note = look.note.map(str::to_owned);
        if path.is_root() {
            let (folders, more) = bounded(folders(&seen), limits::FOLDERS_MAX);
            let hint = format!("{more}open a namespace by its path, or search with words");
            let stale = look.stale_among(seen.iter().copied());
            return Ok(Browse { folders, stale, note, hint, ..Browse::default() });
        }
        let found = seen.iter().filter(|entry| path.matches(entry));
        let mut found: Vec<_> = found.map(|entry| (Arc::clone(entry), None)).collect();
        if found.is_empty() {
            return Err(nowhere(text, &seen));
        }
        let stale = look.stale_among(found.iter().map(|(entry, _)| entry));
        let mut groups: BTreeMap<String, usize> = BTreeMap::new();
        if found.len() > top_k {
            for group in found.iter().filter_map(|(entry, _)| path.group_of(entry)) {
                *groups.entry(group).or_default() += 1;
            }
            found.retain(|(entry, _)| path.group_of(entry).is_none());
        }
        let (folders, more) = bounded(groups.into_iter().collect(), limits::FOLDERS_MAX);
        let hint = match (found.len().saturating_sub(top_k), folders.is_empty()) {
            (0, true) => "call one by its name, with these arguments".to_owned(),
            (0, false) => format!("{more}open a group by its path, or search with words"),
            (tools, _) if top_k < limits::TOP_K_MAX => {
                format!("{tools} more here; raise `top_k` or search with words")
            }
            (tools, _) => format!("{tools} more here; search for them with words"),
        };
        let browse = Browse { folders, stale, note, hint, ..Browse::default() };
        let cards = make_cards(&found, top_k, browse.tokens(), self.generation());
        Ok(Browse { cards, ..browse })
    }
}

/// Tools by namespace, in order of name.
pub(crate) fn folders(seen: &[&Arc<Entry>]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in seen {
        *counts.entry(&entry.item.namespace).or_default() += 1;
    }
    counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// The first so many, and words for how many are left out.
pub(crate) fn bounded(
    mut folders: Vec<(String, usize)>,
    most: usize,
) -> (Vec<(String, usize)>, String) {
    let more = folders.len().saturating_sub(most);
    folders.truncate(most);
    (folders, if more > 0 { format!("{more} more are not listed; ") } else { String::new() })
}

/// Names of tools that read like one of the words, best first.
pub(crate) fn near_names(words: &str, seen: &[&Arc<Entry>]) -> Vec<String> {
    const ALIKE: f64 = 0.8;
    let words = words.to_lowercase();
    let words: Vec<&str> =
        words.split_whitespace().take(limits::NEAR_WORDS_MAX).chain([words.as_str()]).collect();
    let initials: String = words.iter().filter_map(|word| word.chars().next()).collect();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        // Slips seldom fall on a first letter, and a large catalogue has no time for more.
        let mut parts = name.split(|c: char| !c.is_alphanumeric());
        if !parts.any(|part| part.starts_with(|c| initials.contains(c))) {
            return 0.0;
        }
        let whole = words.iter().map(|word| strsim::jaro_winkler(word, &name));
        let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 2);
        let parts = parts
            .flat_map(|part| words.iter().map(move |word| strsim::jaro_winkler(word, part) * 0.98));
        whole.chain(parts).fold(0.0, f64::max)
    };
    let mut near: Vec<(f64, &str)> = seen
        .iter()
        .map(|entry| (likeness(&entry.item.name), entry.shown_name.as_str()))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    near.into_iter().take(limits::NEAR_MAX).map(|(_, name)| name.to_owned()).collect()
}

fn nowhere(text: &str, seen: &[&Arc<Entry>]) -> Fault {
    let near = Some(of_upstream(text, seen)).filter(|own| !own.is_empty());
    let near = near.unwrap_or_else(|| near_paths(text, seen));
    let hint = if near.is_empty() {
        "`/` lists what there is".to_owned()
    } else {
        format!("near: {}", near.join(", "))
    };
    let fault = Fault::new(Code::PathNotFound, format!("nothing at `{text}`; {hint}"));
    fault.at(text).with("near", near)
}

/// Where the tools of an upstream lie whose name was taken for a namespace.
fn of_upstream(text: &str, seen: &[&Arc<Entry>]) -> Vec<String> {
    let first = text.split('/').nth(1).unwrap_or_default();
    let is_own = |entry: &&&Arc<Entry>| entry.item.key.upstream.as_str() == first;
    let own: Vec<&Arc<Entry>> = seen.iter().filter(is_own).copied().collect();
    let (own, _) = bounded(folders(&own), limits::NEAR_MAX);
    own.into_iter().map(|(name, _)| format!("/{name}")).collect()
}

/// Paths of namespaces and tools that read alike, best first.
fn near_paths(text: &str, seen: &[&Arc<Entry>]) -> Vec<String> {
    const ALIKE: f64 = 0.7;
    let folders = folders(seen).into_iter().map(|(name, _)| format!("/{name}"));
    let tools = seen.iter().map(|entry| path_of(entry));
    let mut near: Vec<(f64, String)> = folders
        .chain(tools)
        .map(|path| (strsim::jaro_winkler(text, &path), path))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.dedup();
    near.into_iter().take(limits::NEAR_MAX).map(|(_, path)| path).collect()
}

fn one_of(why: &str) -> Fault {
    Fault::new(Code::ArgsInvalid, format!("give `query` or `path`, {why}")).at("tool_browse")
}

#[cfg(test)]
mod tests;
