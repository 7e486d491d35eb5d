//! Letting go of what is too old, once in a while.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gateway::{Gateway, Shift};
use model::Clock;
use store::Store;

use super::{tell, ticks};
use crate::assemble::archive;
use crate::cli::exit::Exit;
use crate::config::Records;

/// Between two looks for entries that are too old.
const PRUNE: Duration = Duration::from_hours(1);

pub(super) struct Retention {
    gateway: Arc<Gateway>,
    store: Store,
    records: Records,
    archive: PathBuf,
}

impl Retention {
    pub(super) fn new(
        gateway: &Arc<Gateway>,
        store: &Store,
        records: &Records,
        data: &Path,
    ) -> Self {
        let archive = records.archive.as_ref().map(|path| path.as_path().to_owned());
        Self {
            gateway: Arc::clone(gateway),
            store: store.clone(),
            records: records.clone(),
            archive: archive.unwrap_or_else(|| data.join(archive::FOLDER)),
        }
    }

    /// An export takes as long as it takes; a gate that closes does not wait for its end. What was begun is
    /// as good as not begun, or gone on with by the next.
    pub(super) async fn run(self, shift: Shift) {
        if self.records.keep_days.is_none() && self.records.keep_mb.is_none() {
            return;
        }
        let mut ticks = ticks(PRUNE);
        while shift.until_ended(ticks.tick()).await.is_some() {
            shift.until_ended(self.prune()).await;
        }
    }

    async fn prune(&self) {
        let now = Clock::System.now();
        match archive::prune(&self.store, &self.records, &self.archive, now).await {
            Ok(0) => {}
            Ok(entries) => tracing::info!(entries, "old entries were exported and removed"),
            Err(error) if error.exit == Exit::Busy => {
                tracing::debug!("another process is removing old entries");
            }
            Err(error) => tracing::warn!(%error, "old entries were not removed"),
        }
        // What is in force is noted first.
        let swept = match self.gateway.keep_lineage().await {
            Ok(()) => self.store.prune_lineage().await.map(drop),
            unkept => unkept,
        };
        tell("a sweep of old definitions", swept);
    }
}
