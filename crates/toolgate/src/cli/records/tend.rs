//! Looking after the history: is it whole, and may old parts of it go?

use std::path::{Path, PathBuf};

use clap::Args;
use store::{ChainReport, Damage, PublicKey, Store, Witnesses};

use crate::assemble::archive;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::{Config, Records};

/// What may be behind a word of a key that is not at hand.
const STRANGER: &str =
    "if another gate on this database signed it, name the `checkpoint.pub` of each gate with --key";

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A public key kept elsewhere, as in `checkpoint.pub` of the data folder; once for each gate
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Checkpoints kept elsewhere, as in `checkpoints.jsonl` of the data folder
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct PruneArgs {
    /// Remove entries older than this many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    keep_days: Option<u32>,
    /// Remove the oldest entries while all take more than this
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    keep_mb: Option<u64>,
}

pub(super) async fn verify(
    context: &Context,
    store: &Store,
    data: &Path,
    args: &VerifyArgs,
) -> Result<(), CliError> {
    let mut witnesses = Witnesses::beside(data);
    if !args.key.is_empty() {
        witnesses.keys = args.key.iter().map(|path| public_key(path)).collect::<Result<_, _>>()?;
    }
    if let Some(path) = &args.against {
        witnesses.add(&read(path)?);
    }
    let report = store.verify_against(&witnesses).await?;
    if context.out.is_json() {
        context.out.json(&report)?;
    }
    match (report.first_bad, report.damage) {
        (Some(seq), Some(damage)) => {
            let sound = report.entries + report.purged;
            let message = format!("entry {seq} {}; the {sound} before it are sound", told(damage));
            let error = CliError::new(Exit::Failure, message);
            let stranger = damage == Damage::Forged && report.unknown_keys > 0;
            Err(if stranger { error.hint(STRANGER) } else { error })
        }
        _ if context.out.is_json() => Ok(()),
        _ => context.out.line(&sound(&report)),
    }
}

pub(super) async fn prune(
    context: &Context,
    config: &Config,
    store: &Store,
    args: &PruneArgs,
) -> Result<(), CliError> {
    let folder = match &config.records.archive {
        Some(path) => path.as_path().to_owned(),
        None => Context::data_folder(config)?.join(archive::FOLDER),
    };
    let PruneArgs { keep_days, keep_mb } = *args;
    let limits = Records { keep_days, keep_mb, ..config.records.clone() };
    let now = model::Clock::System.now();
    let removed = archive::prune(store, &limits, &folder, now).await?;
    if context.out.is_json() {
        return context.out.json(&serde_json::json!({"removed": removed}));
    }
    let whither =
        if removed > 0 { format!("; they lie in {}", folder.display()) } else { String::new() };
    context.out.line(&format!("{removed} entries removed{whither}"))
}

const fn told(damage: Damage) -> &'static str {
    match damage {
        Damage::Changed => "was changed",
        Damage::Deleted => "was deleted",
        Damage::Moved => "stands in another one's place",
        Damage::Truncated => "and all after it were cut off",
        Damage::Forged => "has a checkpoint or purge that no key at hand has signed",
    }
}

fn sound(report: &ChainReport) -> String {
    let ChainReport { entries, purged, checkpoints, unknown_keys, head, .. } = report;
    let removed = (*purged > 0).then(|| format!("{purged} older ones were removed"));
    let unknown = (*unknown_keys > 0)
        .then(|| format!("{unknown_keys} checkpoints are signed by keys that are not here"));
    let sound = format!("{entries} entries are sound, {checkpoints} checkpoints bear them out");
    let parts = [Some(sound), removed, unknown, Some(format!("head {head}"))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn public_key(path: &Path) -> Result<PublicKey, CliError> {
    let bad = || CliError::usage(format!("`{}` holds no public key", path.display()));
    PublicKey::read(&read(path)?).ok_or_else(bad)
}

fn read(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path)
        .map_err(|error| CliError::usage(format!("`{}` cannot be read: {error}", path.display())))
}
