//! What the lists of a client show: prepared once, then handed out as text.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use catalog::menu::Mode;
use catalog::{Catalogue, Entry, menu};
use context::{Cleared, Redactor};
use model::limits::{LISTS_MAX, PAGE_ITEMS, SIGHT_FRESH};
use model::{Caller, Code, Fault, Generation, Listed, Timestamp, canonical};
use policy::Rules;
use serde_json::{Map, Value, json};

use crate::gateway::Gateway;
use crate::sights::Viewer;

/// As much of a list's hash as stands in its cursors.
const CURSOR_WORD: std::ops::RangeTo<usize> = ..16;

/// One page of a list, each item one line of JSON.
#[derive(Clone, Debug)]
pub struct Page {
    lines: Arc<Lines>,
    from: usize,
    pub next_cursor: Option<String>,
    /// Some of it is what an upstream listed before; it has not answered since.
    pub stale: bool,
}

/// Who reads a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A client of 2026-07-28.
    Newest,
    /// Any from before.
    Older,
}

impl Page {
    pub fn items(&self, reader: Reader) -> impl Iterator<Item = &str> {
        let lines = self.lines.items.get().iter().enumerate();
        let other = Some(&self.lines.older).filter(|_| reader == Reader::Older);
        let told = move |(at, line)| other.and_then(|other| other.line(at)).unwrap_or(line);
        lines.skip(self.from).take(PAGE_ITEMS).map(told).map(String::as_str)
    }
}

/// Lists that were asked for lately.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    lists: RwLock<HashMap<(Listed, Viewer), List>>,
}

#[derive(Clone, Debug)]
struct List {
    generation: Generation,
    rules: Arc<Rules>,
    at: Timestamp,
    lines: Arc<Lines>,
}

/// A whole list, and the word by which its cursors know it again: on another gate, too, that shows
/// the same.
#[derive(Debug)]
struct Lines {
    items: Cleared<Vec<String>>,
    older: Older,
    /// Nothing where there is one page alone.
    word: String,
}

/// What is told to readers of older revisions in another way, and in which places; mostly nothing.
#[derive(Debug)]
struct Older {
    places: Vec<usize>,
    lines: Cleared<Vec<String>>,
}

impl Older {
    fn line(&self, at: usize) -> Option<&String> {
        self.lines.get().get(self.places.binary_search(&at).ok()?)
    }
}

impl Lines {
    fn new(values: Vec<Value>, what: Listed, redactor: &Redactor) -> Self {
        let tools = values.iter().filter(|_| what == Listed::Tools).enumerate();
        let older = tools.filter_map(|(at, tool)| Some((at, menu::for_older(tool)?)));
        let (places, told) = older.unzip();
        let older = Older { places, lines: context::lines(told, redactor) };
        let items = context::lines(values, redactor);
        let lines = items.get();
        let paged = lines.len() > PAGE_ITEMS;
        let hash = paged.then(|| canonical::hash_bytes(lines.join("\n").as_bytes()));
        let word = hash.as_deref().and_then(|hash| hash.get(CURSOR_WORD)).unwrap_or_default();
        Self { word: word.to_owned(), items, older }
    }

    fn cursor(&self, from: usize) -> Option<String> {
        (from < self.items.get().len()).then(|| format!("{}.{from:x}", self.word))
    }

    /// Where the page of a cursor begins.
    fn offset(&self, cursor: &str) -> Result<usize, Fault> {
        let is_word = |word: &str| {
            word.len() == CURSOR_WORD.end && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let read = cursor.split_once('.').filter(|(word, _)| is_word(word));
        match read.and_then(|(word, from)| Some((word, usize::from_str_radix(from, 16).ok()?))) {
            Some((word, from)) if word == self.word => Ok(from),
            Some(_) => Err(bad_cursor("is of another list; list again from the start")),
            None => Err(bad_cursor("is none of ours")),
        }
    }
}

/// How 2026-07-28 calls tasks.
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

impl Gateway {
    /// One page of what this caller may see. A cursor holds for the list it is of.
    pub fn list(&self, caller: &Caller, what: Listed, cursor: Option<&str>) -> Result<Page, Fault> {
        let lines = self.lines(&self.catalogue(), caller, what);
        let from = cursor.map_or(Ok(0), |cursor| lines.offset(cursor))?;
        let next_cursor = lines.cursor(from.saturating_add(PAGE_ITEMS));
        Ok(Page { lines, from, next_cursor, stale: self.offers.is_stale() })
    }

    /// Everything `tools/list` shows this caller, as values.
    pub fn menu(&self, caller: &Caller) -> Cleared<Vec<Value>> {
        let catalogue = self.catalogue();
        context::menu(self.raw_items(&catalogue, caller, Listed::Tools), &self.settings.redactor)
    }

    /// What clients may do here, in the words of MCP.
    pub fn capabilities(&self, modern: bool) -> Map<String, Value> {
        let mut all = Map::new();
        if self.mode() == Mode::Native {
            for stand in self.catalogue().shelf().upstreams().values() {
                merge(&mut all, &stand.capabilities);
            }
        }
        // Tasks of 2025-11-25 and of 2026-07-28 share a name and nothing else; connectors translate.
        if modern {
            if all.shift_remove("tasks").is_some() {
                let extensions = all.entry("extensions").or_insert_with(|| json!({}));
                if let Some(extensions) = extensions.as_object_mut() {
                    extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
                }
            }
        } else {
            all.shift_remove("extensions");
        }
        let tools = all.entry("tools").or_insert_with(|| json!({}));
        if let Some(tools) = tools.as_object_mut().filter(|_| self.may_list_others()) {
            tools.insert("listChanged".to_owned(), true.into());
        }
        all
    }

    /// Whether the list of tools can become another one, whatever upstreams say of theirs: with the
    /// mode, with the catalogue it is made of, with an upstream that has not answered yet.
    fn may_list_others(&self) -> bool {
        let awaited =
            || self.catalogue().shelf().upstreams().len() < self.upstreams.names().count();
        match self.mode() {
            Mode::Transparent => true,
            Mode::Native => self.settings.native_up_to_tokens.is_some() || awaited(),
            Mode::Gateway => self.settings.native_up_to_tokens.is_some(),
        }
    }

    /// How tools are to be used here, for models: by the gate's own where it has any, else as an
    /// only upstream says.
    ///
    /// Nothing of the latter to a caller that sees nothing of it.
    pub fn instructions(&self, caller: &Caller) -> Option<String> {
        let shown = self.shown();
        if shown.mode != Mode::Native {
            return Some(menu::instructions(shown));
        }
        let catalogue = self.catalogue();
        let mut stands = catalogue.shelf().upstreams().values();
        match (stands.next(), stands.next()) {
            (Some(only), None) => {
                only.instructions.clone().filter(|_| !self.seen_upstreams(caller).is_empty())
            }
            _ => None,
        }
    }

    fn lines(&self, catalogue: &Catalogue, caller: &Caller, what: Listed) -> Arc<Lines> {
        let (now, generation, rules) = (self.clock.now(), catalogue.generation(), self.rules());
        let key = (what, Viewer::from(caller));
        let known = self.prepared.lists.read().unwrap_or_else(PoisonError::into_inner);
        let fresh = known
            .get(&key)
            .filter(|list| list.generation == generation && now.since(list.at) < SIGHT_FRESH)
            .filter(|list| Arc::ptr_eq(&list.rules, &rules));
        if let Some(list) = fresh {
            return Arc::clone(&list.lines);
        }
        drop(known);
        let values = self.raw_items(catalogue, caller, what);
        let lines = Arc::new(Lines::new(values, what, &self.settings.redactor));
        // From when it was ready: a long list must not be stale before it is first used.
        let at = self.clock.now();
        let list = List { generation, rules, at, lines: Arc::clone(&lines) };
        let mut known = self.prepared.lists.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= LISTS_MAX {
            known.clear();
        }
        known.insert(key, list);
        lines
    }

    fn raw_items(&self, catalogue: &Catalogue, caller: &Caller, what: Listed) -> Vec<Value> {
        let rules = self.rules();
        let allowed = self.viewing(&rules, caller);
        let shelf = catalogue.shelf();
        let entries = match what {
            Listed::Tools => return menu(self.shown(), catalogue, &allowed),
            Listed::Prompts => shelf.prompts(),
            Listed::Resources => shelf.resources(),
            Listed::Templates => shelf.templates(),
            Listed::Tasks => &[],
        };
        if !self.passes_all() {
            return Vec::new();
        }
        let seen = entries.iter().filter(|entry| entry.quarantined().is_none() && allowed(entry));
        seen.map(|entry| shown(entry, what)).collect()
    }
}

fn shown(entry: &Entry, what: Listed) -> Value {
    let mut definition = entry.definition();
    if what == Listed::Prompts
        && let Some(name) = definition.get_mut("name")
    {
        *name = entry.shown_name.clone().into();
    }
    definition
}

fn bad_cursor(why: &str) -> Fault {
    Fault::new(Code::ArgsInvalid, format!("the cursor {why}"))
}

/// Two upstreams together can do what either can.
fn merge(all: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (all.get_mut(key), value) {
            (Some(Value::Object(all)), Value::Object(more)) => merge(all, more),
            (Some(Value::Bool(all)), Value::Bool(more)) => *all |= more,
            (Some(_), _) => {}
            (None, value) => drop(all.insert(key.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn together_upstreams_can_do_what_either_can() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let mut all = object(json!({"tools": {"listChanged": false}, "logging": {}}));
        merge(&mut all, &object(json!({"tools": {"listChanged": true}, "prompts": {}})));
        let wanted = json!({"tools": {"listChanged": true}, "logging": {}, "prompts": {}});
        assert_eq!(Value::Object(all), wanted);
    }

    /// Two gates that show the same take each other's cursors, and no others.
    #[test]
    fn a_cursor_holds_for_the_list_it_is_of() {
        let list = |name: &str| {
            let items = (0..=PAGE_ITEMS).map(|number| json!(format!("{name}{number}"))).collect();
            Lines::new(items, Listed::Tools, &Redactor::default())
        };
        let (own, same, other) = (list("a"), list("a"), list("b"));
        let cursor = own.cursor(PAGE_ITEMS).unwrap();
        assert_eq!(own.cursor(PAGE_ITEMS + 1), None);
        assert_eq!(same.offset(&cursor).unwrap(), PAGE_ITEMS);
        let check = |lines: &Lines, cursor: &str, why: &str| {
            assert!(lines.offset(cursor).unwrap_err().message.contains(why), "{cursor}");
        };
        check(&other, &cursor, "another list");
        check(&own, "", "none of ours");
        check(&own, "a.7d0", "none of ours");
        check(&own, &cursor.replace('.', ".-"), "none of ours");
    }
}
