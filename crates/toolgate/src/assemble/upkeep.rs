//! What a running gate does for its store beside calls: a sign of life, checkpoints, retention,
//! tools that were accepted, and what upstreams listed last.
//!
//! What may take long, and what must not wait for it, are tasks of their own.

mod retention;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gateway::{Gateway, Shift};
use model::{Fault, Generation};
use store::Store;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use super::known::Known;
use super::watched::Watched;
use crate::config::Records;
use retention::Retention;

/// Between two looks.
const TICK: Duration = Duration::from_secs(1);
/// Between two signs of life; several fit into a lease.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// Between two looks whether tools that are held back were accepted.
const ACCEPTED: Duration = Duration::from_secs(2);
/// Between two looks whether another process has removed old entries.
const PURGED: Duration = Duration::from_secs(30);
/// Until the first sweep of answered keys: a gate for one call has other things to do.
const SWEEP_FIRST: Duration = Duration::from_mins(1);
/// Between two of them.
const SWEEP: Duration = Duration::from_hours(1);

/// What is looked after besides.
pub(super) struct After {
    pub(super) known: Known,
    pub(super) watched: Watched,
}

/// Runs until the gate closes, which waits for what is under way, or until the set is dropped.
pub(super) fn start(
    gateway: &Arc<Gateway>,
    store: &Store,
    records: &Records,
    data: &Path,
    After { known, watched }: After,
) -> JoinSet<()> {
    let upkeep = Upkeep {
        gateway: Arc::clone(gateway),
        store: store.clone(),
        checkpoint: Duration::from_secs(records.checkpoint_seconds),
        kept: (Generation(0), String::new()),
        known,
        watched,
    };
    let retention = Retention::new(gateway, store, records, data);
    let mut tasks = JoinSet::new();
    tasks.spawn(upkeep.run(gateway.shift()));
    tasks.spawn(retention.run(gateway.shift()));
    if store.is_shared() {
        tasks.spawn(stay_alive(store.clone(), gateway.shift()));
    }
    tasks
}

/// A gate that is not heard of for half a minute is dead to the others, who then doubt its calls: this
/// waits for nothing else there is to do.
async fn stay_alive(store: Store, shift: Shift) {
    let mut signs = ticks(SIGN_OF_LIFE);
    while shift.until_ended(signs.tick()).await.is_some() {
        tell("a sign of life", store.adopt_unfinished().await);
    }
}

struct Upkeep {
    gateway: Arc<Gateway>,
    store: Store,
    /// Between two checkpoints.
    checkpoint: Duration,
    /// The last generation and the last policy that were kept.
    kept: (Generation, String),
    known: Known,
    watched: Watched,
}

impl Upkeep {
    async fn run(mut self, shift: Shift) {
        let now = Instant::now();
        let (mut looked, mut followed, mut signed) = (now, now, now);
        let mut sweep = now + SWEEP_FIRST;
        let mut ticks = ticks(TICK);
        while let Some(now) = shift.until_ended(ticks.tick()).await {
            self.store.catch_up().await;
            // What waits for upstreams is not waited for at the end.
            let Some(()) = shift.until_ended(self.watched.look(&self.gateway)).await else {
                return;
            };
            self.keep_lineage().await;
            if now.duration_since(looked) >= ACCEPTED {
                let accepted = shift.until_ended(self.gateway.release_accepted()).await;
                let Some(accepted) = accepted else { return };
                tell("a look at accepted tools", accepted);
                looked = now;
            }
            if now.duration_since(followed) >= PURGED {
                tell("a look at what was removed", self.store.follow_purges().await);
                followed = now;
            }
            if now.duration_since(signed) >= self.checkpoint {
                tell("a checkpoint", self.store.checkpoint().await);
                signed = now;
            }
            if now >= sweep {
                tell("a sweep of answered keys", self.store.forget_answers().await);
                sweep = now + SWEEP;
            }
        }
    }

    async fn keep_lineage(&mut self) {
        let now = (self.gateway.catalogue().generation(), self.gateway.rules().hash().to_owned());
        if now != self.kept && self.gateway.keep_lineage().await.is_ok() {
            self.known.keep(&self.gateway.listed().await);
            self.kept = now;
        }
    }
}

/// The first at once. Whoever is late is not hurried.
fn ticks(period: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// A database that is gone is no reason to stop: the next round may find it back.
fn tell<T>(what: &str, done: Result<T, Fault>) {
    if let Err(fault) = done {
        let detail = fault.log.as_deref().unwrap_or_default();
        tracing::warn!(%fault, detail, "{what} could not be given");
    }
}
