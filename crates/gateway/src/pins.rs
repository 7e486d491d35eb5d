//! Definitions held against what was accepted and what manifests pin, whenever upstreams are asked for
//! their tools.

use std::collections::BTreeSet;

use catalog::Source;
use catalog::departure::{self, departures};
use catalog::drift::{Drift, items, review};
use model::{Fault, ItemKey, Pin, UpstreamName};

use crate::gateway::Gateway;
use crate::settings::DriftRule;

/// What came of looking: what to hold back, and upstreams that could not be looked at.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) back: departure::Held,
    pub(crate) failures: Vec<(UpstreamName, Fault)>,
}

/// Looks at every source; those that must be held and cannot be checked are taken out. Pins are made
/// only of what those in `new` list, and only they are told of: others were, or are shown from a copy.
pub(crate) async fn hold(
    gateway: &Gateway,
    sources: &mut Vec<Source>,
    new: &BTreeSet<UpstreamName>,
) -> Held {
    let mut held = Held::default();
    let rules = &gateway.settings.drift;
    if sources.iter().all(|source| rules.of(&source.upstream) == DriftRule::Ignore) {
        return held;
    }
    let pins = match gateway.store.pins().await {
        Ok(pins) => pins,
        Err(fault) => {
            unchecked(gateway, sources, &fault, &mut held);
            return held;
        }
    };
    let mut keep: Vec<Pin> = Vec::new();
    for source in sources.iter() {
        let rule = rules.of(&source.upstream);
        if rule == DriftRule::Ignore {
            continue;
        }
        let own: Vec<Pin> =
            pins.iter().filter(|pin| pin.upstream == source.upstream).cloned().collect();
        let listed = items(&source.definitions, &source.extras);
        let review = review(&source.upstream, &own, &listed);
        let review = review.without_word_of(&source.extras.unheard);
        if new.contains(&source.upstream) {
            keep.extend(review.keep);
            gateway.told.drift(&source.upstream, &review.drifts, rule);
        }
        for ((kind, name), drift) in review.drifts {
            if rule == DriftRule::Hold && drift != Drift::Removed {
                let finding = drift.finding(&name);
                let key = ItemKey { upstream: source.upstream.clone(), name, kind };
                held.back.items.insert(key, finding);
            }
        }
        for departure in departures(source) {
            match rule {
                DriftRule::Hold => held.back.hold(departure),
                DriftRule::Warn => held.back.tell(departure),
                DriftRule::Ignore => {}
            }
        }
    }
    if let Err(fault) = gateway.store.keep_pins(keep).await {
        unchecked(gateway, sources, &fault, &mut held);
    }
    held
}

/// Without pins nobody can say what changed: what must be held is left out whole.
fn unchecked(gateway: &Gateway, sources: &mut Vec<Source>, fault: &Fault, held: &mut Held) {
    let must = |source: &Source| gateway.settings.drift.of(&source.upstream) == DriftRule::Hold;
    tracing::error!(%fault, "accepted definitions cannot be compared");
    let failed = sources.iter().filter(|source| must(source));
    held.failures.extend(failed.map(|source| (source.upstream.clone(), fault.clone())));
    sources.retain(|source| !must(source));
}
