//! Which upstreams may offer something else than what was last held against the pins: those shown
//! from a copy, and those that rang since they were asked. Under `hold`, a call waits for the list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::join_all;
use model::{Fault, UpstreamName};
use tokio::sync::{Mutex, MutexGuard};
use upstream::Ring;

use crate::changes::Change;
use crate::gateway::Gateway;
use crate::settings::DriftRule;

/// The doubts about each upstream, shared with the bells they ring.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubts(Arc<BTreeMap<UpstreamName, Doubt>>);

#[derive(Debug)]
struct Doubt {
    /// Counts the reasons; the first is that nobody has asked it yet.
    raised: AtomicU64,
    /// How many of them the last list has answered.
    settled: AtomicU64,
    /// Shown from a copy, and not yet asked since the start.
    unasked: AtomicBool,
    /// One at a time asks it.
    turn: Mutex<()>,
}

impl Default for Doubt {
    fn default() -> Self {
        let unasked = AtomicBool::new(false);
        Self {
            raised: AtomicU64::new(1),
            settled: AtomicU64::new(0),
            unasked,
            turn: Mutex::new(()),
        }
    }
}

impl Doubt {
    fn stands(&self) -> bool {
        self.settled.load(Ordering::Acquire) != self.raised.load(Ordering::Acquire)
    }
}

impl Doubts {
    pub(crate) fn new<'a>(upstreams: impl Iterator<Item = &'a UpstreamName>) -> Self {
        Self(Arc::new(upstreams.map(|name| (name.clone(), Doubt::default())).collect()))
    }

    /// Takes in what an upstream rings for, before anybody else can act on it.
    pub(crate) fn hear(&self, upstream: &UpstreamName, ring: &Ring) {
        match ring {
            Ring::Changed(_) | Ring::Lost | Ring::Asleep | Ring::Reopened => self.raise(upstream),
            Ring::Updated { .. } | Ring::Task { .. } | Ring::Visited { .. } => {}
        }
    }

    pub(crate) fn raise(&self, upstream: &UpstreamName) {
        if let Some(doubt) = self.0.get(upstream) {
            doubt.raised.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// How many reasons there are now; to be handed to `settle` with the list that is asked for next.
    pub(crate) fn raised(&self, upstream: &UpstreamName) -> u64 {
        self.0.get(upstream).map_or(0, |doubt| doubt.raised.load(Ordering::Acquire))
    }

    /// A list was had that was asked for when there were so many reasons. What was rung for
    /// meanwhile still stands.
    pub(crate) fn settle(&self, upstream: &UpstreamName, raised: u64) {
        if let Some(doubt) = self.0.get(upstream) {
            doubt.settled.store(raised, Ordering::Release);
        }
    }

    pub(crate) fn shown_unasked(&self, upstream: &UpstreamName, unasked: bool) {
        if let Some(doubt) = self.0.get(upstream) {
            doubt.unasked.store(unasked, Ordering::Release);
        }
    }

    pub(crate) async fn turn(&self, upstream: &UpstreamName) -> Option<MutexGuard<'_, ()>> {
        Some(self.0.get(upstream)?.turn.lock().await)
    }

    fn any(&self) -> bool {
        self.0.values().any(Doubt::stands)
    }

    fn about(&self, upstream: &UpstreamName) -> bool {
        self.0.get(upstream).is_some_and(Doubt::stands)
    }

    fn unasked(&self) -> Vec<UpstreamName> {
        let unasked = self.0.iter().filter(|(_, doubt)| doubt.unasked.load(Ordering::Acquire));
        unasked.map(|(name, _)| name.clone()).collect()
    }
}

/// Where something is that is asked for, as far as the one who asks may know.
#[derive(Debug)]
pub(crate) enum Found {
    At(UpstreamName),
    Hidden,
    Nowhere,
}

impl Gateway {
    /// Waits until what `find` finds may be gone by: its upstream is not held, or its list was held
    /// against the pins since the last reason to doubt it. What is not found may be in the list of
    /// an upstream that nobody has asked yet, if it is one of which the caller sees something: nobody
    /// is asked for the sake of somebody who may not know of it.
    pub(crate) async fn compare(
        &self,
        find: impl Fn() -> Found,
        sees: impl Fn(&UpstreamName) -> bool,
    ) -> Result<(), Fault> {
        let mut asked = BTreeSet::new();
        let doubted = |name: &UpstreamName| self.is_doubted(name);
        while self.doubts.any() {
            match find() {
                // With its list, the name may come to mean a tool of another upstream.
                Found::At(name) if doubted(&name) && asked.insert(name.clone()) => {
                    self.ask_in_turn(&name, &doubted).await?;
                }
                Found::Nowhere if asked.is_empty() => {
                    asked.extend(self.doubts.unasked().into_iter().filter(|name| sees(name)));
                    let still = |name: &UpstreamName| self.doubts.unasked().contains(name);
                    // Who does not answer now has nothing by this name.
                    join_all(asked.iter().map(|name| self.ask_in_turn(name, &still))).await;
                    if asked.is_empty() {
                        return Ok(());
                    }
                }
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Whether a call would wait for the list of this upstream first.
    pub(crate) fn is_doubted(&self, upstream: &UpstreamName) -> bool {
        self.settings.drift.of(upstream) == DriftRule::Hold && self.doubts.about(upstream)
    }

    /// Asks for the list, unless somebody else has had it by the time it is our turn.
    async fn ask_in_turn(
        &self,
        name: &UpstreamName,
        wanted: &impl Fn(&UpstreamName) -> bool,
    ) -> Result<(), Fault> {
        let _turn = self.doubts.turn(name).await;
        let Some(member) = self.upstreams.member(name).filter(|_| wanted(name)) else {
            return Ok(());
        };
        let (differ, _) = member.breaker.guard(Box::pin(self.ask_again(name))).await?;
        for what in differ {
            self.tell(Change::List(what));
        }
        Ok(())
    }
}
