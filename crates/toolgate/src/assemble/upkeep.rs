//! What a running gate does for its store beside calls: a sign of life, checkpoints, retention,
//! tools that were accepted, and what upstreams listed last.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gateway::Gateway;
use model::{Clock, Fault, Generation};
use store::Store;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::archive;
use super::known::Known;
use super::watched::Watched;
use crate::config::Records;

/// Between two looks.
const TICK: Duration = Duration::from_secs(1);
/// Between two signs of life; several fit into a lease.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// Between two looks whether tools that are held back were accepted.
const ACCEPTED: Duration = Duration::from_secs(2);
/// Between two looks for entries that are too old.
const PRUNE: Duration = Duration::from_hours(1);

/// Until the first sweep of answered keys: a gate for one call has other things to do.
const SWEEP_FIRST: Duration = Duration::from_mins(1);

/// What is looked after besides.
pub(super) struct After {
    pub(super) known: Known,
    pub(super) watched: Watched,
}

/// Runs until the handle is dropped. Whatever it is at then is finished by the store or not begun.
pub(super) fn start(
    gateway: Arc<Gateway>,
    store: Store,
    records: &Records,
    data: &Path,
    After { known, watched }: After,
) -> AbortOnDropHandle<()> {
    let archive = records.archive.as_ref().map(|path| path.as_path().to_owned());
    let upkeep = Upkeep {
        gateway,
        store,
        records: records.clone(),
        archive: archive.unwrap_or_else(|| data.join(archive::FOLDER)),
        kept: (Generation(0), String::new()),
        known,
        watched,
    };
    AbortOnDropHandle::new(tokio::spawn(upkeep.run()))
}

struct Upkeep {
    gateway: Arc<Gateway>,
    store: Store,
    records: Records,
    archive: PathBuf,
    /// The last generation and the last policy that were kept.
    kept: (Generation, String),
    known: Known,
    watched: Watched,
}

impl Upkeep {
    #[expect(clippy::infinite_loop, reason = "ends with its handle")]
    async fn run(mut self) {
        let checkpoint = Duration::from_secs(self.records.checkpoint_seconds);
        let now = Instant::now();
        let (mut alive, mut looked, mut signed, mut pruned) = (now, now, now, None::<Instant>);
        let mut sweep = now + SWEEP_FIRST;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let now = ticks.tick().await;
            self.store.catch_up().await;
            self.watched.look(&self.gateway).await;
            self.keep_lineage().await;
            if now.duration_since(looked) >= ACCEPTED {
                tell("a look at accepted tools", self.gateway.release_accepted().await);
                looked = now;
            }
            if self.store.is_shared() && now.duration_since(alive) >= SIGN_OF_LIFE {
                tell("a sign of life", self.store.adopt_unfinished().await);
                alive = now;
            }
            if now.duration_since(signed) >= checkpoint {
                tell("a checkpoint", self.store.checkpoint().await);
                signed = now;
            }
            if now >= sweep {
                tell("a sweep of answered keys", self.store.forget_answers().await);
                sweep = now + PRUNE;
            }
            if pruned.is_none_or(|last| now.duration_since(last) >= PRUNE) {
                self.prune().await;
                pruned = Some(now);
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

    async fn prune(&self) {
        let pruned =
            archive::prune(&self.store, &self.records, &self.archive, Clock::System.now()).await;
        match pruned {
            Ok(0) => {}
            Ok(entries) => tracing::info!(entries, "old entries were exported and removed"),
            Err(error) => tracing::warn!(%error, "old entries were not removed"),
        }
        if self.records.keep_days.is_some() || self.records.keep_mb.is_some() {
            let kept = self.gateway.keep_lineage().await;
            let swept =
                if kept.is_ok() { self.store.prune_lineage().await.map(drop) } else { kept };
            tell("a sweep of old definitions", swept);
        }
    }
}

/// A database that is gone is no reason to stop: the next round may find it back.
fn tell<T>(what: &str, done: Result<T, Fault>) {
    if let Err(fault) = done {
        let detail = fault.log.as_deref().unwrap_or_default();
        tracing::warn!(%fault, detail, "{what} could not be given");
    }
}
