//! What `tools/list` answers in each exposure mode. Who answers, and paging, lie elsewhere.

mod forms;
mod meta;
mod shelf;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cards::Form;
use crate::entry::Entry;
use crate::generation::Catalogue;
use crate::limits;

pub use forms::fit;
pub use meta::{
    TOOL_BROWSE, TOOL_DESTROY, TOOL_EXECUTE, TOOL_HYDRATE, TOOL_READ, TOOL_VIEW, TOOL_WRITE,
};

pub use shelf::{PROMPT_BROWSE, PROMPT_GET, RESOURCE_BROWSE, RESOURCE_READ};

use crate::deed::Deed;

/// Names that belong to the gate.
pub const RESERVED: &[&str] = &[
    PROMPT_BROWSE,
    PROMPT_GET,
    RESOURCE_BROWSE,
    RESOURCE_READ,
    TOOL_BROWSE,
    TOOL_DESTROY,
    TOOL_EXECUTE,
    TOOL_HYDRATE,
    TOOL_READ,
    TOOL_VIEW,
    TOOL_WRITE,
];

/// How much of the catalogue a client is shown at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Every tool with its full definition.
    #[default]
    Native,
    /// Every tool by name and description; schemas on demand.
    Transparent,
    /// Three tools through which all others are found and called.
    Gateway,
}

impl Mode {
    pub const ALL: &[Self] = &[Self::Native, Self::Transparent, Self::Gateway];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Transparent => "transparent",
            Self::Gateway => "gateway",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no exposure mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no mode; use `native`, `transparent` or `gateway`")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.iter().find(|mode| mode.as_str() == text);
        known.copied().ok_or_else(|| UnknownMode(model::fault::one_line(text, 40)))
    }
}

/// What a list is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Menu {
    pub mode: Mode,
    pub doors: Doors,
    pub also: Also,
    /// The most cards one browse may be asked for, at most [`limits::TOP_K_MAX`].
    pub max_cards: usize,
}

impl Default for Menu {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            doors: Doors::default(),
            also: Also::default(),
            max_cards: limits::TOP_K_MAX,
        }
    }
}

/// What is shown beside tools in mode `gateway`, where there is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Also {
    pub resources: bool,
    pub prompts: bool,
}

/// Through how many tools of ours others are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doors {
    /// `tool_execute` for everything.
    #[default]
    One,
    /// One each for calls that read, write and destroy, so that clients can ask their user about
    /// some and not about others.
    ByDeed,
}

impl Doors {
    /// The tools of ours that call others, in words.
    pub const fn named(self) -> &'static str {
        match self {
            Self::One => TOOL_EXECUTE,
            Self::ByDeed => "tool_read, tool_write or tool_destroy",
        }
    }
}

/// What models are told of the gate's own tools when a client introduces itself.
pub fn instructions(shown: Menu) -> String {
    let doors = shown.doors.named();
    match shown.mode {
        Mode::Native => String::new(),
        Mode::Transparent => format!(
            "The tools listed here have no parameters yet. Before the first call of one, see its \
             parameters with {TOOL_HYDRATE}; then call it by its name or with {doors}, and look \
             into large results with {TOOL_VIEW}."
        ),
        Mode::Gateway => format!(
            "Toolgate stands in front of many tools. Find one with {TOOL_BROWSE} (by words or by \
             path), run it with {doors}, and look into large results with {TOOL_VIEW}."
        ),
    }
}

impl From<Mode> for Menu {
    fn from(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }
}

/// The entries of `tools/list`, upstream tools in order of key, the gate's own behind them.
pub fn menu(
    shown: impl Into<Menu>,
    catalogue: &Catalogue,
    allowed: &dyn Fn(&Entry) -> bool,
) -> Vec<Value> {
    let Menu { mode, doors, also, max_cards } = shown.into();
    let visible = |entry: &Entry| entry.quarantined().is_none() && allowed(entry);
    let entries = || catalogue.entries().iter().filter(|entry| visible(entry));
    let own = |first: fn(&meta::Scope) -> Value| {
        let scope = meta::Scope::new(catalogue, &visible, doors, max_cards);
        let mut own = vec![first(&scope)];
        match doors {
            Doors::One => own.push(meta::execute(&scope, None)),
            Doors::ByDeed => {
                own.extend(Deed::ALL.iter().map(|deed| meta::execute(&scope, Some(*deed))));
            }
        }
        own.push(meta::view(&scope));
        own
    };
    match mode {
        Mode::Native => entries().map(|entry| native(entry)).collect(),
        Mode::Transparent => {
            entries().map(|entry| stripped(entry)).chain(own(meta::hydrate)).collect()
        }
        Mode::Gateway => {
            let mut own = own(meta::browse);
            own.extend(beside(also, catalogue, max_cards, allowed));
            own
        }
    }
}

fn beside(
    also: Also,
    catalogue: &Catalogue,
    max_cards: usize,
    allowed: &dyn Fn(&Entry) -> bool,
) -> Vec<Value> {
    let shelf = catalogue.shelf();
    let usable = |entry: &&Arc<Entry>| entry.quarantined().is_none() && allowed(entry);
    let stock = |lists: &[&[Arc<Entry>]]| {
        let seen: Vec<&Arc<Entry>> = lists.iter().copied().flatten().filter(usable).collect();
        let servers = meta::servers(seen.iter().copied());
        let servers = meta::enumerate(&servers, limits::SERVERS_NAMED_MAX);
        (!seen.is_empty()).then_some(shelf::Stock { count: seen.len(), servers })
    };
    let mut tools = Vec::new();
    if let Some(stock) = stock(&[shelf.resources(), shelf.templates()]).filter(|_| also.resources) {
        tools.extend(shelf::resources(&stock, max_cards));
    }
    if let Some(stock) = stock(&[shelf.prompts()]).filter(|_| also.prompts) {
        tools.extend(shelf::prompts(&stock, max_cards));
    }
    tools
}

pub(crate) fn native(entry: &Entry) -> Value {
    let mut definition = entry.definition();
    if let Some(name) = definition.get_mut("name") {
        *name = entry.shown_name.clone().into();
    }
    definition
}

/// The definition for readers of revisions before 2026-07-28, where it must be another one: to them
/// what a tool gives is an object, and one schema of anything else costs them the whole list.
pub fn for_older(definition: &Value) -> Option<Value> {
    let gives = definition.get(OUTPUT_SCHEMA)?;
    if gives.get("type").is_some_and(|kind| kind == "object") {
        return None;
    }
    let mut older = definition.as_object()?.clone();
    older.shift_remove(OUTPUT_SCHEMA);
    Some(older.into())
}

const OUTPUT_SCHEMA: &str = "outputSchema";

/// What a tool is called in the lists of a mode. Clients of stripped lists build calls from the name
/// alone, so it must be one that MCP allows; whoever is shown all is shown the upstream's own.
pub fn name_in(mode: Mode, entry: &Entry) -> &str {
    let (shown, wire) = (entry.shown_name.as_str(), entry.item.ids.wire.as_str());
    if mode != Mode::Transparent || is_legal(shown) || wire.is_empty() { shown } else { wire }
}

/// Whether MCP allows a tool to be called that.
fn is_legal(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=limits::WIRE_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(legal)
}

/// Name and a card's worth of words; the schema comes with `tool_hydrate` (CW-71).
pub(crate) fn stripped(entry: &Entry) -> Value {
    json!({
        "name": name_in(Mode::Transparent, entry),
        "description": entry.card(Form::Bare).description,
        "inputSchema": {"type": "object"},
    })
}

#[cfg(test)]
mod tests;
