//! What the lists of a client show: prepared once, then handed out as text.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use catalog::menu::Mode;
use catalog::{Catalogue, Entry, menu};
use context::Cleared;
use model::{Caller, Code, Fault, Generation, Listed, Timestamp};
use policy::Rules;
use serde_json::{Map, Value, json};

use crate::gateway::Gateway;
use crate::sights::Viewer;

/// Items of one page. Larger than most catalogues: not every client asks for a second page.
pub const PAGE_ITEMS: usize = 2_000;
/// How long a prepared list serves the same caller. Rules that look at the clock lag by this much
/// in lists, never in calls.
const FRESH: Duration = Duration::from_secs(1);
/// Lists kept prepared.
const LISTS_MAX: usize = 256;

/// One page of a list, each item one line of JSON.
#[derive(Clone, Debug)]
pub struct Page {
    items: Arc<Cleared<Vec<String>>>,
    from: usize,
    pub next_cursor: Option<String>,
    /// Some of it is what an upstream listed before; it has not answered since.
    pub stale: bool,
}

impl Page {
    pub fn items(&self) -> impl Iterator<Item = &str> {
        self.items.get().iter().skip(self.from).take(PAGE_ITEMS).map(String::as_str)
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
    items: Arc<Cleared<Vec<String>>>,
}

/// How 2026-07-28 calls tasks.
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

impl Gateway {
    /// One page of what this caller may see. Cursors hold for one generation of the catalogue.
    pub fn list(&self, caller: &Caller, what: Listed, cursor: Option<&str>) -> Result<Page, Fault> {
        let catalogue = self.catalogue();
        let from = match cursor {
            None => 0,
            Some(cursor) => offset(cursor, catalogue.generation())?,
        };
        let items = self.items(&catalogue, caller, what);
        let end = from + PAGE_ITEMS;
        let next_cursor =
            (end < items.get().len()).then(|| format!("{:x}.{end:x}", catalogue.generation().0));
        Ok(Page { items, from, next_cursor, stale: self.offers.is_stale() })
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

    fn items(
        &self,
        catalogue: &Catalogue,
        caller: &Caller,
        what: Listed,
    ) -> Arc<Cleared<Vec<String>>> {
        let (now, generation, rules) = (self.clock.now(), catalogue.generation(), self.rules());
        let key = (what, Viewer::from(caller));
        let known = self.prepared.lists.read().unwrap_or_else(PoisonError::into_inner);
        let fresh = known
            .get(&key)
            .filter(|list| list.generation == generation && now.since(list.at) < FRESH)
            .filter(|list| Arc::ptr_eq(&list.rules, &rules));
        if let Some(list) = fresh {
            return Arc::clone(&list.items);
        }
        drop(known);
        let values = self.raw_items(catalogue, caller, what);
        let items = Arc::new(context::lines(values, &self.settings.redactor));
        // From when it was ready: a long list must not be stale before it is first used.
        let at = self.clock.now();
        let list = List { generation, rules, at, items: Arc::clone(&items) };
        let mut known = self.prepared.lists.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= LISTS_MAX {
            known.clear();
        }
        known.insert(key, list);
        items
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

fn offset(cursor: &str, generation: Generation) -> Result<usize, Fault> {
    let parts = cursor.split_once('.');
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let read = parts.and_then(|(made, from)| Some((number(made)?, number(from)?)));
    match read {
        Some((made, from)) if made == generation.0 => {
            usize::try_from(from).map_err(|_too_large| bad_cursor("is out of range"))
        }
        Some(_) => Err(bad_cursor("is of an older list; list again from the start")),
        None => Err(bad_cursor("is none of ours")),
    }
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

    #[test]
    fn a_cursor_holds_for_one_generation() {
        let check = |cursor: &str, wanted: Result<usize, &str>| {
            let got = offset(cursor, Generation(10));
            match wanted {
                Ok(from) => assert_eq!(got.unwrap(), from),
                Err(why) => assert!(got.unwrap_err().message.contains(why), "{cursor}"),
            }
        };
        check("a.7d0", Ok(2_000));
        check("9.7d0", Err("older list"));
        check("", Err("none of ours"));
        check("a.-1", Err("none of ours"));
    }
}
