//! Retention: what is too old is exported to a file, and only then removed.

mod file;

use std::path::Path;

use model::Timestamp;
use store::{Purgeable, RecordFilter, Store};

use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::Records;
use file::ArchiveFile;

/// Where exports go when nobody says otherwise.
pub(crate) const FOLDER: &str = "archive";

const DAY_MS: i64 = 24 * 3_600_000;

/// Removes what the settings let go, and says how many entries that were.
pub(crate) async fn prune(
    store: &Store,
    records: &Records,
    archive: &Path,
    now: Timestamp,
) -> Result<i64, CliError> {
    if records.keep_days.is_none() && records.keep_mb.is_none() {
        return Ok(0);
    }
    let Some(turn) = store.turn_to_prune().await? else {
        return Err(CliError::new(Exit::Busy, "another process is removing old entries")
            .hint("a gate does so once an hour; try again in a while"));
    };
    let removed = let_go(store, records, archive, now).await;
    turn.end().await;
    removed
}

async fn let_go(
    store: &Store,
    records: &Records,
    archive: &Path,
    now: Timestamp,
) -> Result<i64, CliError> {
    let mut removed = 0;
    if let Some(days) = records.keep_days {
        let age_ms = i64::from(days).saturating_mul(DAY_MS);
        let before = Timestamp::from_millis(now.as_millis().saturating_sub(age_ms));
        removed += remove(store, store.older_than(before).await?, archive).await?;
    }
    if let Some(megabytes) = records.keep_mb {
        let (entries, bytes) = store.entries_size().await?;
        let bound = megabytes.saturating_mul(1024 * 1024);
        if bytes > bound {
            let keep = u128::from(entries) * u128::from(bound) / u128::from(bytes.max(1));
            let keep = u64::try_from(keep).unwrap_or(u64::MAX);
            removed += remove(store, store.beyond(keep).await?, archive).await?;
        }
    }
    // What was removed is removed, whatever comes of the rest; that is looked for again.
    if let Err(fault) = store.prune_approvals().await {
        tracing::warn!(%fault, "questions that are over are still kept");
    }
    Ok(removed)
}

/// Exports, makes sure the export is on disk, then removes.
async fn remove(
    store: &Store,
    purgeable: Option<Purgeable>,
    archive: &Path,
) -> Result<i64, CliError> {
    let Some(purgeable) = purgeable else { return Ok(0) };
    export(store, purgeable.upto_seq, archive).await?;
    let entries = purgeable.entries;
    store.purge(purgeable).await?;
    Ok(entries)
}

async fn export(store: &Store, upto_seq: i64, archive: &Path) -> Result<(), CliError> {
    let bad = |error: std::io::Error| {
        let message = format!("`{}` cannot be written: {error}", archive.display());
        CliError::new(Exit::Unavailable, message)
    };
    let mut file = ArchiveFile::begin(archive, upto_seq).map_err(bad)?;
    let mut last = 0;
    while last < upto_seq {
        let page = store.export(&RecordFilter::default(), last).await?;
        let Some(end) = page.last().map(|entry| entry.seq) else { break };
        for entry in page.iter().filter(|entry| entry.seq <= upto_seq) {
            file.line(entry).map_err(bad)?;
        }
        last = end;
    }
    // A disk may take its time, and nobody else waits for it.
    let finished = tokio::task::spawn_blocking(move || file.finish()).await;
    finished.map_err(std::io::Error::other).and_then(|finished| finished).map_err(bad)
}
