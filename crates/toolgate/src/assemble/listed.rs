//! What upstreams list, looked at without a gate: for people who ask about tools on a terminal.
//! Nothing is served, recorded or accepted here.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::departure::{Held, departures};
use catalog::drift::{Drift, items, review};
use catalog::{Catalogue, Extras, Source, Style};
use gateway::{DriftRule, Refreshed};
use model::{Fault, Generation, ItemKey, Pin, UpstreamName};
use serde_json::Value;
use upstream::Offer;

use super::{Sources, check_refreshed, drift, naming, open_store, patience, sources};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::config::{Config, Transport};

/// The tools of an upstream, and what it offers beside them.
pub(crate) type Listed = (Vec<Value>, Extras);

/// What every upstream lists now, untouched, and the catalogue of its tools.
pub(crate) struct Seen {
    pub listed: BTreeMap<UpstreamName, Listed>,
    pub failures: Vec<(UpstreamName, Fault)>,
    pub catalogue: Catalogue,
}

/// Asks every upstream, also those that list nothing at all.
pub(crate) async fn look(config: &Config) -> Result<Seen, CliError> {
    let sources = sources(config, None, config.profile(served(config)))?;
    let lists = sources.upstreams.list_bare().await;
    sources.upstreams.close().await;
    let (listed, failures) = sorted_out(lists);
    let each = listed.iter().map(|(name, listed)| source(&sources, name, listed.clone()));
    let style = style(config, sources.upstreams.names().count());
    let catalogue = Catalogue::build(Generation(1), each.collect(), style);
    Ok(Seen { listed, failures, catalogue })
}

/// The catalogue alone, as a gate would have it: what a gate would hold back for drift is held back.
pub(crate) async fn catalogue(config: &Config) -> Result<Catalogue, CliError> {
    let sources = sources(config, None, config.profile(served(config)))?;
    let lists = sources.upstreams.list_within(patience(config)).await;
    sources.upstreams.close().await;
    let pins = pins(config).await?;
    let (listed, failures) = sorted_out(lists);
    let offered = listed.into_iter().map(|(name, listed)| source(&sources, &name, listed));
    let offered: Vec<Source> = offered.collect();
    let mut held = Held::default();
    for source in &offered {
        hold(config, source, &pins, &mut held);
    }
    let style = style(config, sources.upstreams.names().count());
    let none = Catalogue::build(Generation(0), Vec::new(), style);
    let catalogue = none.rebuild_holding(Generation(1), offered, style, held);
    let tools = catalogue.entries().len();
    check_refreshed(&Refreshed { generation: Generation(1), tools, failures })?;
    Ok(catalogue)
}

/// The catalogue of one upstream's tools alone, with what a gate would hold back.
pub(super) fn own_catalogue(
    config: &Config,
    sources: &Sources,
    name: &UpstreamName,
    offer: &Offer,
    pins: &[Pin],
) -> Catalogue {
    let source = source(sources, name, listed_of(offer.clone()));
    let mut held = Held::default();
    hold(config, &source, pins, &mut held);
    let style = style(config, 1);
    let none = Catalogue::build(Generation(0), Vec::new(), style);
    none.rebuild_holding(Generation(1), vec![source], style, held)
}

/// How the tools of so many upstreams are named.
fn style(config: &Config, upstreams: usize) -> Style<'_> {
    Style { naming: naming(config).among(upstreams), prefix: config.naming_prefix.as_str() }
}

/// How a gate of this configuration is reached, so that what is said of tools holds for that gate:
/// one that others can reach holds back more.
fn served(config: &Config) -> Transport {
    config.transport.unwrap_or(Transport::Http)
}

type Failures = Vec<(UpstreamName, Fault)>;

fn sorted_out(
    lists: BTreeMap<UpstreamName, Result<Offer, Fault>>,
) -> (BTreeMap<UpstreamName, Listed>, Failures) {
    let (mut listed, mut failures) = (BTreeMap::new(), Vec::new());
    for (name, list) in lists {
        match list {
            Ok(offer) => drop(listed.insert(name, listed_of(offer))),
            Err(fault) => failures.push((name, fault)),
        }
    }
    (listed, failures)
}

fn listed_of(offer: Offer) -> Listed {
    let Offer { tools, resources, templates, prompts, capabilities, speaks, unheard, .. } = offer;
    let instructions = None;
    (tools, Extras { resources, templates, prompts, capabilities, instructions, speaks, unheard })
}

fn source(sources: &Sources, name: &UpstreamName, (definitions, extras): Listed) -> Source {
    let member = sources.upstreams.member(name);
    Source {
        protocol: member.map_or("custom", |member| member.connector.protocol()),
        namespace: sources.namespaces.get(name).cloned(),
        manifest: sources.manifests.get(name).map(Arc::clone),
        upstream: name.clone(),
        definitions,
        extras,
    }
}

/// What was accepted, if a gate has ever run here.
pub(super) async fn pins(config: &Config) -> Result<Vec<Pin>, CliError> {
    let data = Context::data_folder(config)?;
    if config.store.is_none() && !data.join("toolgate.db").exists() {
        return Ok(Vec::new());
    }
    let store = open_store(config, &data).await?;
    let pins = store.pins().await;
    store.close().await;
    Ok(pins?)
}

/// Holds back what a gate would, and tells of what it would tell of.
fn hold(config: &Config, source: &Source, pins: &[Pin], held: &mut Held) {
    let name = &source.upstream;
    let rule = drift(config, config.profile(served(config))).of(name);
    if rule == DriftRule::Hold {
        let own: Vec<Pin> = pins.iter().filter(|pin| pin.upstream == *name).cloned().collect();
        let drifts = review(name, &own, &items(&source.definitions, &source.extras)).drifts;
        let changed = drifts.into_iter().filter(|(_, drift)| *drift != Drift::Removed);
        held.items.extend(changed.map(|((kind, tool), drift)| {
            let finding = drift.finding(&tool);
            (ItemKey { upstream: name.clone(), name: tool, kind }, finding)
        }));
    }
    for departure in departures(source) {
        match rule {
            DriftRule::Hold => held.hold(departure),
            DriftRule::Warn => held.tell(departure),
            DriftRule::Ignore => {}
        }
    }
}
