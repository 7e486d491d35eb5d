//! The catalogue made of what upstreams offer: swapped whole, while calls under way keep the one they
//! began with. What was heard of them is in `offers.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use catalog::drift::DRIFT_RULE;
use catalog::{Catalogue, Entry, Extras, Source, Style};
use model::{Code, Fault, Finding, Generation, Listed, UpstreamName};
use tokio::sync::MutexGuard;
use tokio::time::Instant;
use upstream::{Offer, limits};

use crate::changes::Change;
use crate::gateway::{Current, Gateway, choice};
use crate::in_force::Manifests;
use crate::offers::{Heard, Known, Remembered, as_before, differences};
use crate::{pins, remarks};

/// What a refresh found: how many tools there are, and which upstreams did not answer.
#[derive(Debug)]
pub struct Refreshed {
    pub generation: Generation,
    pub tools: usize,
    pub failures: Vec<(UpstreamName, Fault)>,
}

/// How it stands with one upstream.
#[derive(Clone, Debug)]
pub struct Health {
    pub name: UpstreamName,
    pub state: State,
    pub tools: usize,
    /// Why it could not be asked, the last time it was.
    pub fault: Option<Fault>,
    /// Calls in a row that found nobody.
    pub failures: u32,
    /// How long its lists hold, where it says so.
    pub ttl: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It listed what it has.
    Fresh,
    /// What is shown is what it listed before; it has not answered since.
    Stale,
    /// Nothing is known of it.
    Missing,
}

/// Which lists have changed, and how long they hold.
type Heeded = (Vec<Listed>, Option<Duration>);

impl Gateway {
    /// Asks every upstream for its tools and swaps the catalogue whole (CW-76).
    ///
    /// Calls under way keep the generation they began with.
    pub async fn refresh(&self) -> Refreshed {
        let raised = self.raised();
        let lists = self.upstreams.list().await;
        let mut known = self.offers.known.lock().await;
        let former = std::mem::take(&mut known.offers);
        known.faults.clear();
        for (name, list) in lists {
            let list = list.map(|offer| as_before(former.get(&name), offer));
            self.take(&mut known, name, list, &raised);
        }
        self.fill(known).await
    }

    /// Fills the catalogue at the start: with `last_good` copies, marked stale, of upstreams that
    /// need not be waited for, and with what all others list within `patience`. As long as there is
    /// no tool at all, there is more patience.
    ///
    /// [`Gateway::watch`] asks those that are stale or missing then.
    pub async fn begin(
        &self,
        last_good: BTreeMap<UpstreamName, Offer>,
        patience: Duration,
    ) -> Refreshed {
        let unknown: Vec<UpstreamName> =
            self.upstreams.names().filter(|name| !last_good.contains_key(*name)).cloned().collect();
        let mut known = self.offers.known.lock().await;
        for (name, offer) in last_good {
            if let (Some(member), Some(speaks)) = (self.upstreams.member(&name), &offer.speaks) {
                member.connector.recall(speaks);
            }
            self.doubts.raise(&name);
            self.doubts.shown_unasked(&name, true);
            known.offers.insert(name, Heard { offer: Remembered::new(offer), stale: true });
        }
        let (began, raised) = (Instant::now(), self.raised());
        let mut asking = self.upstreams.ask_each(unknown.iter());
        loop {
            let nothing = known.offers.values().all(|heard| heard.offer.count == 0);
            let until = if nothing { limits::START_TIMEOUT + patience } else { patience };
            match tokio::time::timeout_at(began + until, asking.join_next()).await {
                Ok(None) | Err(_) => break,
                Ok(Some(Ok((name, list)))) => self.take(&mut known, name, list, &raised),
                Ok(Some(Err(error))) => tracing::error!(%error, "asking an upstream broke off"),
            }
        }
        for name in unknown {
            if !known.offers.contains_key(&name) && !known.faults.contains_key(&name) {
                let message = "it has not answered yet; its tools appear as soon as it does";
                known.faults.insert(name, Fault::new(Code::UpstreamTimeout, message));
            }
        }
        self.fill(known).await
    }

    fn raised(&self) -> BTreeMap<UpstreamName, u64> {
        self.upstreams.names().map(|name| (name.clone(), self.doubts.raised(name))).collect()
    }

    fn take(
        &self,
        known: &mut Known,
        name: UpstreamName,
        list: Result<Offer, Fault>,
        raised: &BTreeMap<UpstreamName, u64>,
    ) {
        if list.is_ok() {
            self.doubts.settle(&name, raised.get(&name).copied().unwrap_or_default());
        }
        known.remember(name, list.map(Remembered::new));
    }

    /// Swaps the catalogue for one of all that is known.
    async fn fill(&self, mut known: MutexGuard<'_, Known>) -> Refreshed {
        self.offers.mark(&known);
        let (generation, tools, unchecked) = self.swap(&mut known).await;
        let failures = known.failures().into_iter().chain(unchecked).collect();
        drop(known);
        self.learn_of(self.catalogue()).await;
        Refreshed { generation, tools, failures }
    }

    /// Asks one upstream again and swaps the catalogue if it says something new; if it fails, what
    /// it listed before stays. Says which lists have changed, and how long this holds.
    pub(crate) async fn refresh_one(&self, name: &UpstreamName) -> Result<Heeded, Fault> {
        let _turn = self.doubts.turn(name).await;
        Box::pin(self.ask_again(name)).await
    }

    /// The same for whoever has the turn.
    pub(crate) async fn ask_again(&self, name: &UpstreamName) -> Result<Heeded, Fault> {
        // Asked before anything is locked: one that hangs must not keep the others waiting.
        let raised = self.doubts.raised(name);
        let list = self.upstreams.list_one(name).await;
        let mut known = self.offers.known.lock().await;
        let list = list.map(|offer| Remembered::new(as_before(known.offers.get(name), offer)));
        let ttl = list.as_ref().ok().and_then(|offer| offer.rest.ttl);
        let outcome = list.as_ref().map(|offer| differences(known.offers.get(name), offer));
        let outcome = outcome.map_err(Clone::clone);
        known.remember(name.clone(), list);
        self.offers.mark(&known);
        self.doubts.shown_unasked(name, false);
        let differ = outcome.inspect_err(|_| self.doubts.raise(name))?;
        if !differ.is_empty() || !self.is_pinned(&mut known, name).await {
            self.swap(&mut known).await;
            drop(known);
            self.learn_of(self.catalogue()).await;
        }
        // Last: whoever finds no doubt must find the catalogue of this list.
        self.doubts.settle(name, raised);
        Ok((differ, ttl))
    }

    /// Holds a list that is no other than before against its pins; no if what is held back for it
    /// must be looked at anew.
    async fn is_pinned(&self, known: &mut Known, name: &UpstreamName) -> bool {
        let marked = self.store.pins_mark().await.unwrap_or_default();
        let Some(heard) = known.offers.get(name).filter(|_| marked == known.pins_mark) else {
            return false;
        };
        let mut source = vec![self.source(name, heard.offer.recall(), &known.manifests)];
        let held = pins::hold(self, &mut source, &known.new).await;
        known.new.remove(name);
        known.pins_mark = self.store.pins_mark().await.unwrap_or_default();
        held.failures.is_empty()
    }

    /// Lets go what was held back and has been accepted since.
    pub async fn release_accepted(&self) -> Result<(), Fault> {
        let drifted = |finding: &Finding| finding.rule == DRIFT_RULE;
        if !self.catalogue().held().any(drifted) {
            return Ok(());
        }
        let mut known = self.offers.known.lock().await;
        if self.store.pins_mark().await? == known.pins_mark {
            return Ok(());
        }
        let former = self.catalogue();
        self.swap(&mut known).await;
        drop(known);
        let catalogue = self.catalogue();
        for what in freed(&former, &catalogue) {
            self.tell(Change::List(what));
        }
        self.learn_of(catalogue).await;
        // What was accepted is what they list now, which may be more than they have told us.
        for name in self.holding(drifted) {
            match self.refresh_one(&name).await {
                Ok((differ, _)) => {
                    for what in differ {
                        self.tell(Change::List(what));
                    }
                }
                Err(fault) => {
                    tracing::warn!(upstream.name = name.as_str(), %fault, "its list was not had");
                }
            }
        }
        Ok(())
    }

    /// Makes the catalogue anew by other manifests, of what upstreams listed last; no if they say
    /// nothing else.
    pub(crate) async fn rebuild_with(&self, manifests: Arc<Manifests>) -> bool {
        let mut known = self.offers.known.lock().await;
        if known.manifests == manifests {
            return false;
        }
        known.manifests = manifests;
        self.swap(&mut known).await;
        drop(known);
        self.learn_of(self.catalogue()).await;
        true
    }

    fn holding(&self, why: impl Fn(&Finding) -> bool) -> BTreeSet<UpstreamName> {
        let catalogue = self.catalogue();
        let shelf = catalogue.shelf();
        let lists = [catalogue.entries(), shelf.prompts(), shelf.resources(), shelf.templates()];
        let held = lists.into_iter().flatten().filter(|one| one.quarantined().is_some_and(&why));
        held.map(|one| one.item.key.upstream.clone()).collect()
    }

    /// How it stands with each upstream.
    pub async fn health(&self) -> Vec<Health> {
        let known = self.offers.known.lock().await;
        let one = |name: &UpstreamName| {
            let heard = known.offers.get(name);
            Health {
                name: name.clone(),
                state: match heard {
                    None => State::Missing,
                    Some(heard) if heard.stale => State::Stale,
                    Some(_) => State::Fresh,
                },
                tools: heard.map_or(0, |heard| heard.offer.count),
                fault: known.faults.get(name).cloned(),
                failures: self.upstreams.member(name).map_or(0, |m| m.breaker.failures()),
                ttl: heard.and_then(|heard| heard.offer.rest.ttl),
            }
        };
        self.upstreams.names().map(one).collect()
    }

    /// What each upstream has listed itself since the start, to be shown at the next one.
    pub async fn listed(&self) -> BTreeMap<UpstreamName, Offer> {
        let known = self.offers.known.lock().await;
        let fresh = known.offers.iter().filter(|(_, heard)| !heard.stale);
        fresh.map(|(name, heard)| (name.clone(), heard.offer.recall())).collect()
    }

    /// Swaps the catalogue for one made of the offers; tells of upstreams left out unchecked.
    async fn swap(&self, known: &mut Known) -> (Generation, usize, Vec<(UpstreamName, Fault)>) {
        known.last += 1;
        let generation = Generation(known.last);
        let offers = known.offers.iter();
        let mut sources: Vec<Source> = offers
            .map(|(name, heard)| self.source(name, heard.offer.recall(), &known.manifests))
            .collect();
        let held = pins::hold(self, &mut sources, &known.new).await;
        known.new.clear();
        known.pins_mark = self.store.pins_mark().await.unwrap_or_default();
        let former = self.catalogue();
        let style = Style { naming: self.naming, prefix: &self.settings.wire_prefix };
        let catalogue = former.rebuild_holding(generation, sources, style, held.back);
        remarks::tell(&former, &catalogue);
        let tools = catalogue.entries().len();
        let choice = choice(&self.settings, &catalogue);
        if former.generation() != Generation(0) && choice.mode != self.mode() {
            tracing::info!(
                mode = choice.mode.as_str(),
                why = choice.why,
                "tools are shown in another mode"
            );
        }
        let current = Current { catalogue: Arc::new(catalogue), choice };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        self.in_force.swap_manifests(&known.manifests);
        (generation, tools, held.failures)
    }

    fn source(&self, name: &UpstreamName, offer: Offer, manifests: &Manifests) -> Source {
        let member = self.upstreams.member(name);
        Source {
            protocol: member.map_or("custom", |member| member.connector.protocol()),
            namespace: self.namespaces.get(name).cloned(),
            manifest: manifests.get(name).map(Arc::clone),
            upstream: name.clone(),
            definitions: offer.tools,
            extras: Extras {
                resources: offer.resources,
                templates: offer.templates,
                prompts: offer.prompts,
                capabilities: offer.capabilities,
                instructions: offer.instructions,
                speaks: offer.speaks,
                unheard: offer.unheard,
            },
        }
    }
}

/// Which lists have or lack something now because it is held back no longer, or again.
fn freed(former: &Catalogue, catalogue: &Catalogue) -> Vec<Listed> {
    let held = |list: &[Arc<Entry>]| -> Vec<bool> {
        list.iter().map(|entry| entry.quarantined().is_some()).collect()
    };
    let (was, is) = (former.shelf(), catalogue.shelf());
    let resources = [(was.resources(), is.resources()), (was.templates(), is.templates())];
    [
        (Listed::Tools, former.usable() != catalogue.usable()),
        (Listed::Prompts, held(was.prompts()) != held(is.prompts())),
        (Listed::Resources, resources.iter().any(|(was, is)| held(was) != held(is))),
    ]
    .into_iter()
    .filter_map(|(what, differs)| differs.then_some(what))
    .collect()
}
