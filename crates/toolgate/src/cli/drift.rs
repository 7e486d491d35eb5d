//! `toolgate tools diff` and `accept`: what upstreams list now against what was accepted.

mod chosen;
mod told;

use std::collections::BTreeMap;

use catalog::drift::{Drift, Name, items, pins_of, review, seen};
use model::{Pin, UpstreamName};
use serde_json::json;
use store::Store;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::assemble::listed::{self, Listed, Seen};
use crate::config::Config;

/// What each upstream lists now, with its drifts.
type Drifts = BTreeMap<UpstreamName, (Listed, BTreeMap<Name, Drift>)>;

pub(super) async fn diff(context: &Context, config: &Config) -> Result<(), CliError> {
    let store = context.existing_store(config).await?;
    let seen = look(context, config).await?;
    let drifts = drifts(&store, seen.listed).await?;
    store.close().await;
    if context.out.is_json() {
        return context.out.json(&told::as_json(&drifts));
    }
    let lines: Vec<String> = drifts
        .iter()
        .flat_map(|(upstream, (_, drifts))| told::lines(upstream, drifts.iter()))
        .collect();
    match (lines.is_empty(), seen.failures.is_empty()) {
        (true, true) => context.out.line("everything is as it was accepted"),
        (true, false) => context.out.line("everything that is listed is as it was accepted"),
        _ => {
            lines.iter().try_for_each(|line| context.out.line(line))?;
            let hash = told::hash(&drifts);
            let how =
                format!("`toolgate tools accept --all --hash {hash}` accepts this and no more");
            context.out.note(&how);
            Ok(())
        }
    }
}

/// What somebody accepts.
#[derive(Debug)]
pub(super) struct Acceptance<'a> {
    pub(super) tools: &'a [String],
    pub(super) all: bool,
    /// What `diff` called all that it showed.
    pub(super) hash: Option<&'a str>,
}

/// Takes what is listed now as accepted, for these names or for all, and shows what that is. A name
/// that means nothing, or several things, is refused, and nothing is changed then; nor is anything
/// if something else differs now than was shown.
pub(super) async fn accept(
    context: &Context,
    config: &Config,
    Acceptance { tools, all, hash }: Acceptance<'_>,
) -> Result<(), CliError> {
    if all != tools.is_empty() {
        return Err(CliError::usage("name the tools to accept, or pass --all")
            .hint("`toolgate tools diff` shows what differs"));
    }
    let store = context.existing_store(config).await?;
    let Seen { listed, catalogue, .. } = look(context, config).await?;
    let drifts = drifts(&store, listed).await?;
    let now = told::hash(&drifts);
    // A server is started anew for each command, and may show something else each time.
    if hash.is_some_and(|shown| shown != now) {
        let message = "what differs now is not what was shown; nothing is accepted";
        return Err(CliError::new(Exit::Failure, message)
            .hint("`toolgate tools diff` shows what differs, and the hash of that"));
    }
    let chosen =
        if all { chosen::all(&drifts) } else { chosen::named(&drifts, &catalogue, tools)? };
    let mut accepted = Vec::new();
    for (upstream, names) in chosen {
        take(&store, &upstream, &names, &drifts).await?;
        if let Some((_, drifts)) = drifts.get(&upstream).filter(|_| !context.out.is_json()) {
            let taken = drifts.iter().filter(|(name, _)| names.contains(name));
            for line in told::lines(&upstream, taken) {
                context.out.note(&line);
            }
        }
        accepted.extend(names.iter().map(|name| told::label(&upstream, name)));
    }
    store.close().await;
    if context.out.is_json() {
        return context.out.json(&json!({"accepted": accepted, "hash": now}));
    }
    accepted
        .iter()
        .try_for_each(|tool| context.out.line(&format!("accepted {}", told::escaped(tool))))?;
    context.out.note("a running gate takes this up within seconds");
    Ok(())
}

/// Asks every upstream. One that does not answer keeps nobody from looking at the others.
async fn look(context: &Context, config: &Config) -> Result<Seen, CliError> {
    let seen = listed::look(config).await?;
    let said = |(name, fault): &(UpstreamName, model::Fault)| {
        told::escaped(&format!("upstream `{name}`: {}", fault.message))
    };
    let failures: Vec<String> = seen.failures.iter().map(said).collect();
    if seen.listed.is_empty() && !failures.is_empty() {
        return Err(CliError::new(Exit::Unavailable, failures.join("; "))
            .hint("`toolgate doctor` shows what each upstream says"));
    }
    for why in &failures {
        context.out.note(&format!("{why}; it was not compared"));
    }
    Ok(seen)
}

async fn drifts(store: &Store, listed: BTreeMap<UpstreamName, Listed>) -> Result<Drifts, CliError> {
    let pins = store.pins().await.map_err(CliError::from)?;
    let mut drifts = BTreeMap::new();
    for (upstream, listed) in listed {
        let own: Vec<Pin> = pins.iter().filter(|pin| pin.upstream == upstream).cloned().collect();
        let review = review(&upstream, &own, &items(&listed.0, &listed.1));
        let review = review.without_word_of(&listed.1.unheard);
        drifts.insert(upstream, (listed, review.drifts));
    }
    Ok(drifts)
}

/// Pins these as they are listed, and forgets those that are gone.
async fn take(
    store: &Store,
    upstream: &UpstreamName,
    names: &[Name],
    drifts: &Drifts,
) -> Result<(), CliError> {
    let Some(((definitions, extras), drifts)) = drifts.get(upstream) else { return Ok(()) };
    let mut listed = pins_of(upstream, &items(definitions, extras));
    let is_gone = |name: &&Name| drifts.get(*name) == Some(&Drift::Removed);
    let gone: Vec<Name> = names.iter().filter(is_gone).cloned().collect();
    let mut keep: Vec<Pin> = names.iter().filter_map(|name| listed.remove(name)).collect();
    // Without any pin it would count as never seen, and what it lists next as accepted.
    keep.push(seen(upstream));
    store.keep_pins(keep).await?;
    store.drop_pins(upstream, gone).await?;
    Ok(())
}
