//! What showing the catalogue costs in each mode, and which mode follows from it.
//!
//! Counted on the entries of `tools/list` as they are sent, the gate's own included. What a client
//! adds around them is the same in every mode and not counted.

use std::collections::BTreeMap;

use model::UpstreamName;
use serde::Serialize;
use serde_json::Value;

use crate::cards::{self, Form};
use crate::entry::Entry;
use crate::generation::Catalogue;
use crate::menu::{Menu, Mode, menu};
use crate::{limits, tokens};

/// Turns a list into the list that is sent.
pub type Clean<'a> = &'a dyn Fn(Vec<Value>) -> Vec<Value>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    pub vocabulary: &'static str,
    pub tools: usize,
    /// Tokens of the whole `tools/list`.
    pub native: usize,
    pub transparent: usize,
    pub gateway: usize,
    /// Tokens of the cards of a browse at the most, if it asks for no more than `browse_cards`.
    pub browse_max: usize,
    /// The cards of a browse that asks for no other number.
    pub browse_cards: usize,
    pub servers: Vec<ServerCost>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerCost {
    pub upstream: UpstreamName,
    pub native: usize,
    pub transparent: usize,
    /// The cards of all of them, as browses show them one by one in mode `gateway`.
    pub cards: usize,
    pub tools: Vec<ToolCost>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolCost {
    pub name: String,
    pub native: usize,
    pub transparent: usize,
    /// The line a browse shows.
    pub card: usize,
}

/// Counts everything. For people who ask; too slow for the road of a call.
pub fn cost(catalogue: &Catalogue, shown: Menu, clean: Clean<'_>) -> Cost {
    let whole = |mode| {
        let list = clean(menu(Menu { mode, ..shown }, catalogue, &|_| true));
        tokens::count_json(&Value::Array(list))
    };
    let mut servers: BTreeMap<&UpstreamName, Vec<ToolCost>> = BTreeMap::new();
    for entry in catalogue.entries().iter().filter(|entry| entry.quarantined().is_none()) {
        let tools = servers.entry(&entry.item.key.upstream).or_default();
        tools.push(tool_cost(entry, clean));
    }
    let servers: Vec<ServerCost> = servers.into_iter().map(server_cost).collect();
    let browse_cards = limits::TOP_K_DEFAULT.min(shown.max_cards);
    Cost {
        vocabulary: tokens::VOCABULARY,
        tools: servers.iter().map(|server| server.tools.len()).sum(),
        native: whole(Mode::Native),
        transparent: whole(Mode::Transparent),
        gateway: whole(Mode::Gateway),
        browse_max: browse_max(&servers, browse_cards),
        browse_cards,
        servers,
    }
}

/// Which mode `auto` means for a catalogue, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub mode: Mode,
    /// In words for the operator.
    pub why: String,
}

/// Native while the whole list costs fewer tokens than this, gateway from there on.
///
/// Counts only as far as it must: a large catalogue is as quick as a small one.
pub fn choose(catalogue: &Catalogue, tokens_max: usize, clean: Clean<'_>) -> Choice {
    let tools = catalogue.usable().iter().filter(|usable| **usable).count();
    let tools = if tools == 1 { "the only tool".to_owned() } else { format!("all {tools} tools") };
    if let Some(total) = native_below(catalogue, tokens_max, clean) {
        let why = format!("the list of {tools} costs {total} tokens, fewer than {tokens_max}");
        return Choice { mode: Mode::Native, why };
    }
    let why = format!("the list of {tools} costs {tokens_max} tokens or more");
    Choice { mode: Mode::Gateway, why }
}

/// What the whole list costs, if that is below the bound.
fn native_below(catalogue: &Catalogue, bound: usize, clean: Clean<'_>) -> Option<usize> {
    let mut least = 0_usize;
    for entry in catalogue.entries().iter().filter(|entry| entry.quarantined().is_none()) {
        // What stands between two entries can save a few tokens of either, no more.
        least += sent(entry, Mode::Native, clean).saturating_sub(SEAM_TOKENS_MAX);
        if least >= bound {
            return None;
        }
    }
    let list = clean(menu(Mode::Native, catalogue, &|_| true));
    Some(tokens::count_json(&Value::Array(list))).filter(|total| *total < bound)
}

const SEAM_TOKENS_MAX: usize = 4;

fn tool_cost(entry: &Entry, clean: Clean<'_>) -> ToolCost {
    ToolCost {
        name: entry.shown_name.clone(),
        native: sent(entry, Mode::Native, clean),
        transparent: sent(entry, Mode::Transparent, clean),
        card: tokens::count(&cards::line(&entry.card(Form::Full))),
    }
}

fn server_cost((upstream, tools): (&UpstreamName, Vec<ToolCost>)) -> ServerCost {
    ServerCost {
        upstream: upstream.clone(),
        native: tools.iter().map(|tool| tool.native).sum(),
        transparent: tools.iter().map(|tool| tool.transparent).sum(),
        cards: tools.iter().map(|tool| tool.card).sum(),
        tools,
    }
}

fn sent(entry: &Entry, mode: Mode, clean: Clean<'_>) -> usize {
    let entry = match mode {
        Mode::Transparent => crate::menu::stripped(entry),
        Mode::Native | Mode::Gateway => crate::menu::native(entry),
    };
    clean(vec![entry]).iter().map(tokens::count_json).sum()
}

fn browse_max(servers: &[ServerCost], cards_max: usize) -> usize {
    let mut cards: Vec<usize> =
        servers.iter().flat_map(|server| &server.tools).map(|tool| tool.card).collect();
    cards.sort_unstable_by(|a, b| b.cmp(a));
    // One token for the line break after each.
    let most: usize = cards.iter().take(cards_max).map(|card| card + 1).sum();
    most.min(limits::ANSWER_TOKENS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generation::Source;
    use crate::shown::Naming;
    use model::Generation;
    use serde_json::json;

    fn catalogue(tools: usize) -> Catalogue {
        let definition = |i: usize| json!({"name": format!("tool_{i}"), "description": "Does a thing.", "inputSchema": {"type": "object", "properties": {"at": {"type": "string"}}}});
        let source = Source {
            upstream: UpstreamName::from_string("u"),
            protocol: "mcp",
            namespace: None,
            definitions: (0..tools).map(definition).collect(),
            manifest: None,
            extras: crate::Extras::default(),
        };
        Catalogue::build(Generation(1), vec![source], Naming::Auto)
    }

    fn as_it_is(list: Vec<Value>) -> Vec<Value> {
        list
    }

    #[test]
    fn auto_is_native_while_the_list_is_cheap() {
        let check = |tools: usize, tokens_max: usize, expected: Mode| {
            let choice = choose(&catalogue(tools), tokens_max, &as_it_is);
            assert_eq!(choice.mode, expected, "{tools} tools: {}", choice.why);
            assert!(choice.why.contains(&format!("all {tools} tools")), "{}", choice.why);
            assert!(choice.why.contains(&tokens_max.to_string()), "{}", choice.why);
        };
        check(3, 4_000, Mode::Native);
        check(3, 50, Mode::Gateway);
        check(200, 4_000, Mode::Gateway);
        check(0, 0, Mode::Gateway);
    }

    #[test]
    fn the_choice_agrees_with_the_exact_cost() {
        let catalogue = catalogue(20);
        let exact = cost(&catalogue, Menu::default(), &as_it_is).native;
        let choice = choose(&catalogue, exact + 1, &as_it_is);
        assert_eq!(choice.mode, Mode::Native);
        assert!(choice.why.contains(&format!("costs {exact} tokens")), "{}", choice.why);
        assert_eq!(choose(&catalogue, exact, &as_it_is).mode, Mode::Gateway);
    }

    #[test]
    fn cost_counts_the_bytes_that_are_sent() {
        let catalogue = catalogue(30);
        let cost = cost(&catalogue, Menu::default(), &as_it_is);
        let list = menu(Menu { mode: Mode::Native, ..Menu::default() }, &catalogue, &|_| true);
        assert_eq!(cost.native, tokens::count(&serde_json::to_string(&list).unwrap()));
        assert!(cost.gateway < cost.transparent && cost.transparent < cost.native + 1_000);
        assert_eq!((cost.tools, cost.servers.len(), cost.servers[0].tools.len()), (30, 1, 30));
        assert_eq!(cost.vocabulary, "o200k_base");
    }
}
