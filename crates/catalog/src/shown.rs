//! Which name a client sees for each tool: never the same for two, never one of ours.

use std::collections::{BTreeMap, BTreeSet};

use model::{Finding, ItemIds, ItemKey, Severity};
use serde::{Deserialize, Serialize};

use crate::spread::spread;
use crate::{limits, menu, names, tokens};

/// How tools are named towards clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// The upstream's own names while there is one upstream, wire names with several.
    #[default]
    Auto,
    /// The upstream's own names, qualified only where two would meet.
    None,
    /// The same, but of several the one of the first upstream in order keeps the name.
    FirstWins,
    /// The same, but tools whose names meet are held back until somebody tells them apart.
    Distinct,
    /// Always wire names.
    Wire,
    /// Wire names, cut to what the strictest clients take: 64 letters, digits and `_`.
    Short,
    /// `namespace:name`; wire names where two would meet.
    Legacy,
    /// `namespace:name` with a version or a hash; wire names where two would meet.
    Canonical,
    /// The capability id of a manifest; wire names for what none declares.
    Capability,
}

/// How tools are named, and what wire names begin with.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    pub naming: Naming,
    pub prefix: &'a str,
}

impl From<Naming> for Style<'_> {
    fn from(naming: Naming) -> Self {
        Self { naming, prefix: names::WIRE_PREFIX }
    }
}

/// What is to be named: its key, and how that is rendered.
pub(crate) type Named<'a> = (&'a ItemKey, &'a ItemIds);

impl Naming {
    /// Settled by how many upstreams there are to be, whether or not they answer: a tool is called
    /// the same whoever else is up.
    #[must_use]
    pub fn among(self, upstreams: usize) -> Self {
        match self {
            Self::Auto if upstreams > 1 => Self::Wire,
            Self::Auto => Self::None,
            settled => settled,
        }
    }
}

/// Final names for the keys, in their order.
pub(crate) struct Names {
    pub(crate) wire: Vec<String>,
    pub(crate) shown: Vec<String>,
    /// Keys that must not be used under any name, by their place, and why.
    pub(crate) held: BTreeMap<usize, Finding>,
    pub(crate) findings: Vec<Finding>,
}

/// INVARIANT: keys are unique. Both lists are then free of repeats, and adding a tool never hands
/// one tool's name to another: where two wire names meet, both are set apart.
pub(crate) fn assign(items: &[Named<'_>], style: Style<'_>, upstreams: usize) -> Names {
    let naming = style.naming.among(upstreams);
    let keys: Vec<&ItemKey> = items.iter().map(|(key, _)| *key).collect();
    let keys = keys.as_slice();
    let mut findings = Vec::new();
    let wire = wire_names(keys, style.prefix, &mut findings);
    let mut shown = match naming {
        Naming::Wire | Naming::Short => wire.clone(),
        _ => wished_names(items, &wire, naming, &mut findings),
    };
    let held = if naming == Naming::Distinct { clashes(keys) } else { BTreeMap::new() };
    if naming == Naming::Short {
        shorten(keys, &mut shown);
    }
    cut_dear_names(keys, &wire, &mut shown, &mut findings);
    Names { wire, shown, held, findings }
}

/// A name that alone would fill a card gives way to a shorter one; the long one still resolves.
fn cut_dear_names(
    keys: &[&ItemKey],
    wire: &[String],
    shown: &mut [String],
    findings: &mut Vec<Finding>,
) {
    let is_dear = |name: &String| !tokens::fits(name, limits::NAME_TOKENS_MAX);
    let sheets = shown.chunks(limits::SHEET_TOOLS).collect();
    let dear =
        spread(sheets, || (), |(), sheet: &[String]| sheet.iter().map(is_dear).collect::<Vec<_>>());
    let dear = dear.concat();
    if !dear.contains(&true) {
        return;
    }
    let mut taken: BTreeSet<String> = shown.iter().chain(wire).cloned().collect();
    let rows = keys.iter().zip(wire).zip(shown).zip(dear);
    for ((key, wire), name) in rows.filter_map(|(row, dear)| dear.then_some(row)) {
        let short = names::cut(wire, key, limits::CUT_NAME_CHARS_MAX, 8);
        if taken.insert(short.clone()) {
            findings.push(remark(
                "name_cut",
                &format!("`{key}` is called `{short}`: its name is long"),
            ));
            *name = short;
        }
    }
}

/// INVARIANT: two keys share no full hash, so the longest mark ends every search.
fn shorten(keys: &[&ItemKey], shown: &mut [String]) {
    let mut taken: BTreeSet<String> = shown.iter().cloned().collect();
    for (key, name) in keys.iter().zip(shown) {
        if name.len() <= limits::PROVIDER_NAME_CHARS_MAX {
            continue;
        }
        let cut = |hash_chars| names::cut(name, key, limits::PROVIDER_NAME_CHARS_MAX, hash_chars);
        let short = [8, 16, 32].map(cut).into_iter().find(|short| !taken.contains(short));
        *name = short.unwrap_or_else(|| cut(62));
        taken.insert(name.clone());
    }
}

/// What something would be called if nothing else were; none means its wire name.
fn wish((key, ids): Named<'_>, naming: Naming) -> Option<&str> {
    match naming {
        Naming::Auto | Naming::None | Naming::FirstWins | Naming::Distinct => Some(&key.name),
        Naming::Wire | Naming::Short => None,
        Naming::Legacy => Some(&ids.legacy),
        Naming::Canonical => Some(&ids.canonical),
        Naming::Capability => ids.capability.as_ref().map(AsRef::as_ref),
    }
}

fn wire_names(keys: &[&ItemKey], prefix: &str, findings: &mut Vec<Finding>) -> Vec<String> {
    let plain: Vec<String> = keys.iter().map(|key| names::wire_name(prefix, key)).collect();
    let times = count(plain.iter().map(String::as_str));
    let mut taken: BTreeSet<String> = plain.iter().cloned().collect();
    let mut wire = Vec::new();
    for (key, name) in keys.iter().zip(&plain) {
        if times.get(name.as_str()) == Some(&1) {
            wire.push(name.clone());
            continue;
        }
        let apart = set_apart(name, key, &mut taken);
        findings.push(remark(
            "name_collision",
            &format!("`{key}` shares the name `{name}` with another tool and is called `{apart}`"),
        ));
        wire.push(apart);
    }
    wire
}

fn set_apart(name: &str, key: &ItemKey, taken: &mut BTreeSet<String>) -> String {
    let tries = [8, 16, 32].map(|chars| names::marked(name, key, chars));
    let free = tries.into_iter().find(|name| !taken.contains(name));
    // INVARIANT: keys differ, so their full hashes do.
    let apart = free.unwrap_or_else(|| names::marked(name, key, 64));
    taken.insert(apart.clone());
    apart
}

/// Tools of the same name, none of which an operator wants to be taken for another.
fn clashes(keys: &[&ItemKey]) -> BTreeMap<usize, Finding> {
    let times = count(keys.iter().map(|key| key.name.as_str()));
    let meets = |(_, key): &(usize, &&ItemKey)| times.get(key.name.as_str()) != Some(&1);
    let held = |(place, key): (usize, &&ItemKey)| {
        let message = format!(
            "`{key}` is held back: another upstream offers the same name; `exclude` one of them, \
             or set `duplicates`"
        );
        let message = model::fault::one_line(&message, 400);
        (place, Finding::new(Severity::Error, "name_repeated", message))
    };
    keys.iter().enumerate().filter(meets).map(held).collect()
}

fn wished_names(
    items: &[Named<'_>],
    wire: &[String],
    naming: Naming,
    findings: &mut Vec<Finding>,
) -> Vec<String> {
    let times = count(items.iter().filter_map(|item| wish(*item, naming)));
    let wires: BTreeSet<&str> = wire.iter().map(String::as_str).collect();
    let (mut shown, mut given) = (Vec::new(), BTreeSet::new());
    for (item, wire) in items.iter().zip(wire) {
        let Some(own) = wish(*item, naming) else {
            shown.push(wire.clone());
            continue;
        };
        let key = item.0;
        let keeps = given.insert(own) && naming == Naming::FirstWins;
        let why = if times.get(own) != Some(&1) && !keeps {
            Some("another tool would have the same name")
        } else if wires.contains(own) && own != wire {
            Some("another tool is called that already")
        } else if menu::RESERVED.contains(&own) {
            Some("the gate's own tools are called that")
        } else if !presentable(own) {
            Some("its own name is too long or not plain text")
        } else {
            None
        };
        if let Some(why) = why {
            findings.push(remark("name_qualified", &format!("`{key}` is called `{wire}`: {why}")));
        }
        shown.push(if why.is_some() { wire.clone() } else { own.to_owned() });
    }
    shown
}

fn presentable(name: &str) -> bool {
    name.len() <= limits::WIRE_NAME_CHARS_MAX && name.chars().all(|c| c.is_ascii_graphic())
}

fn count<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut times = BTreeMap::new();
    for name in names {
        *times.entry(name).or_default() += 1;
    }
    times
}

fn remark(rule: &str, message: &str) -> Finding {
    Finding::new(Severity::Warning, rule, model::fault::one_line(message, 400))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ItemKind, UpstreamName};
    use proptest::prelude::*;

    const NAMINGS: [Naming; 9] = [
        Naming::Auto,
        Naming::None,
        Naming::FirstWins,
        Naming::Distinct,
        Naming::Wire,
        Naming::Short,
        Naming::Legacy,
        Naming::Canonical,
        Naming::Capability,
    ];

    fn shown(naming: Naming, upstreams: usize, tools: &[(&str, &str)]) -> Vec<String> {
        let keys: Vec<ItemKey> = tools.iter().map(|(upstream, name)| key(upstream, name)).collect();
        named(&keys, naming, upstreams).shown
    }

    /// Of every third one a manifest says something, which is the same for some of them.
    fn named<'a>(keys: &[ItemKey], style: impl Into<Style<'a>>, upstreams: usize) -> Names {
        let render = |(place, key): (usize, &ItemKey)| {
            let namespace = crate::namespace::infer_namespace(&key.name);
            let mut ids = names::render(key, &namespace, None, "01234567");
            let id = format!("a.b{}", place % 9);
            ids.capability = (place % 3 == 2).then(|| model::CapabilityId::from_string(id));
            ids
        };
        let ids: Vec<ItemIds> = keys.iter().enumerate().map(render).collect();
        assign(&keys.iter().zip(&ids).collect::<Vec<_>>(), style.into(), upstreams)
    }

    fn key(upstream: &str, name: &str) -> ItemKey {
        let upstream = UpstreamName::from_string(upstream);
        ItemKey { upstream, name: name.to_owned(), kind: ItemKind::Tool }
    }

    #[test]
    fn one_upstream_keeps_its_names_and_several_are_told_apart() {
        assert_eq!(shown(Naming::Auto, 1, &[("a", "x.y")]), ["x.y"]);
        assert_eq!(shown(Naming::Auto, 2, &[("a", "x")]), ["mcp__a__x"]);
        assert_eq!(shown(Naming::Wire, 1, &[("a", "x")]), ["mcp__a__x"]);
    }

    #[test]
    fn names_are_settled_by_the_upstreams_there_are_to_be() {
        let check = |naming: Naming, upstreams, expected| {
            assert_eq!(naming.among(upstreams), expected);
        };
        check(Naming::Auto, 0, Naming::None);
        check(Naming::Auto, 1, Naming::None);
        check(Naming::Auto, 2, Naming::Wire);
        check(Naming::None, 2, Naming::None);
        check(Naming::Short, 1, Naming::Short);
    }

    #[test]
    fn strict_clients_get_names_of_64_characters() {
        let long = "a".repeat(100);
        let names =
            shown(Naming::Short, 1, &[("s", "x"), ("s", &long), ("s", &format!("{long}b"))]);
        assert_eq!(names[0], "mcp__s__x");
        assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
        assert_ne!(names[1], names[2]);
    }

    /// C1: any rendering can be the one that is shown; where it says too little the wire name is.
    #[test]
    fn any_rendering_can_be_shown() {
        let tools = [("a", "git.log"), ("b", "git.log"), ("a", "mail.send")];
        let check = |naming: Naming, expected: [&str; 3]| {
            assert_eq!(shown(naming, 2, &tools), expected, "{naming:?}");
        };
        let (a, b) = ("mcp__a__git_log", "mcp__b__git_log");
        check(Naming::Legacy, [a, b, "mail:send"]);
        check(Naming::Canonical, [a, b, "mail:send#01234567"]);
        check(Naming::Capability, [a, b, "a.b2"]);
    }

    /// OR-11.
    #[test]
    fn wire_names_begin_as_the_operator_says() {
        let keys = [key("a", "x"), key("b", "x")];
        let style = Style { naming: Naming::Wire, prefix: "tools" };
        let names = named(&keys, style, 2);
        assert_eq!(names.shown, ["tools__a__x", "tools__b__x"]);
        assert_eq!(names.wire, names.shown);
    }

    /// C20: the same raw name at two upstreams is qualified, not lost.
    #[test]
    fn own_names_are_qualified_only_where_they_meet() {
        let names = shown(Naming::None, 2, &[("a", "x"), ("a", "y"), ("b", "x")]);
        assert_eq!(names, ["mcp__a__x", "y", "mcp__b__x"]);
    }

    /// C20: or the first keeps it, or neither is used; always reported.
    #[test]
    fn of_tools_with_one_name_the_first_wins_or_none() {
        let tools = [("a", "x"), ("b", "x"), ("b", "y")];
        let keys: Vec<ItemKey> = tools.iter().map(|(upstream, name)| key(upstream, name)).collect();
        let check = |naming: Naming, shown: &[&str], held: &[usize], told: usize| {
            let names = named(&keys, naming, 2);
            assert_eq!(names.shown, shown, "{naming:?}");
            assert_eq!(names.held.keys().copied().collect::<Vec<_>>(), held, "{naming:?}");
            assert_eq!(names.findings.len(), told, "{:?}", names.findings);
        };
        check(Naming::None, &["mcp__a__x", "mcp__b__x", "y"], &[], 2);
        check(Naming::FirstWins, &["x", "mcp__b__x", "y"], &[], 1);
        check(Naming::Distinct, &["mcp__a__x", "mcp__b__x", "y"], &[0, 1], 2);
    }

    /// C3.
    #[test]
    fn colliding_wire_names_get_a_hash_each() {
        let names = shown(Naming::Wire, 1, &[("s", "a-b"), ("s", "a.b"), ("s", "c")]);
        assert!(names[0].starts_with("mcp__s__a_b_") && names[1].starts_with("mcp__s__a_b_"));
        assert_ne!(names[0], names[1]);
        assert_eq!(names[2], "mcp__s__c");
        let keys = ["a-b", "a.b", "c"].map(|name| key("s", name));
        let reported = named(&keys, Naming::Wire, 1).findings;
        let rules: Vec<&str> = reported.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(rules, ["name_collision", "name_collision"]);
    }

    #[test]
    fn an_upstream_cannot_take_the_name_of_our_own_tools_or_of_another() {
        assert_eq!(shown(Naming::Auto, 1, &[("a", "tool_execute")]), ["mcp__a__tool_execute"]);
        let names = shown(Naming::None, 2, &[("a", "x y"), ("b", "mcp__a__x_y")]);
        assert_eq!(names, ["mcp__a__x_y", "mcp__b__mcp__a__x_y"]);
    }

    proptest! {
        #[test]
        fn names_are_injective(
            tools in prop::collection::btree_set(("[ab_.-]{1,2}", "[ab_.é -]{0,3}|mcp__[ab]__[ab]|a{120,140}"), 0..30),
            naming in prop::sample::select(NAMINGS.to_vec()),
            upstreams in 1_usize..3,
        ) {
            let keys: Vec<ItemKey> = tools.iter().map(|(u, n)| key(u, n)).collect();
            let names = named(&keys, naming, upstreams);
            let strict = |name: &String| {
                name.len() <= limits::PROVIDER_NAME_CHARS_MAX
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            };
            prop_assert!(naming != Naming::Short || names.shown.iter().all(strict));
            for list in [names.wire, names.shown] {
                let unique: BTreeSet<&String> = list.iter().collect();
                prop_assert_eq!(unique.len(), keys.len());
                prop_assert!(list.iter().all(|name| name.len() <= limits::WIRE_NAME_CHARS_MAX));
            }
        }
    }
}
