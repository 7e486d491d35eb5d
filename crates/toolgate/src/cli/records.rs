//! `toolgate records`: what was called, whether it is all there, and how it leaves.

mod carry;
mod filter;
mod tend;

use clap::Subcommand;
use model::Record;
use model::fault::one_line;
use store::RecordLine;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::config::{LogLevel, Overrides};

use carry::{CassetteArgs, ExportArgs};
pub(super) use carry::{json_argument, run as of_run};
pub(super) use filter::FilterArgs;
use tend::{PruneArgs, VerifyArgs};

/// What is shown of a result or an error in a table.
const WHAT_CHARS: usize = 60;
/// Records shown when nobody says how many.
const LIMIT_DEFAULT: u32 = 20;

#[derive(Debug, Subcommand)]
pub enum RecordsCommand {
    /// List the latest records, newest first
    List {
        /// How many at most
        #[arg(long, default_value_t = LIMIT_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show one record in full
    Show {
        /// The record
        id: String,
    },
    /// Write entries out as JSON lines or CSV
    Export(ExportArgs),
    /// Check that no entry was changed, moved, removed or cut off
    Verify(VerifyArgs),
    /// Make a cassette of a run, to be played by an upstream of type `cassette`
    Cassette(CassetteArgs),
    /// Export old entries and remove them
    Prune(PruneArgs),
}

pub(super) fn run(context: &Context, command: RecordsCommand) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    let config = &loaded.config;
    context.block_on(async {
        let store = context.existing_store(config).await?;
        let done = match command {
            RecordsCommand::List { limit, filter } => {
                list(context, &store.records(&filter.filter(limit)).await?)
            }
            RecordsCommand::Show { id } => show(context, store.record(&id).await?, &id),
            RecordsCommand::Export(args) => carry::export(&store, &args).await,
            RecordsCommand::Verify(args) => {
                tend::verify(context, &store, &Context::data_folder(config)?, &args).await
            }
            RecordsCommand::Cassette(args) => carry::cassette(context, &store, &args).await,
            RecordsCommand::Prune(args) => tend::prune(context, config, &store, &args).await,
        };
        store.close().await;
        done
    })
}

fn list(context: &Context, lines: &[RecordLine]) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(&lines);
    }
    let row = |line: &RecordLine| {
        let error = line.error.map(|code| code.to_string());
        let what = error.or_else(|| line.summary.clone()).unwrap_or_default();
        vec![
            line.record_id.to_string(),
            line.at.to_string(),
            line.tool.clone(),
            line.status.to_string(),
            line.principal.clone(),
            one_line(&what, WHAT_CHARS),
        ]
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    context.out.table(&["record", "at", "tool", "status", "principal", "what"], &rows)
}

fn show(context: &Context, record: Option<Record>, id: &str) -> Result<(), CliError> {
    match record {
        Some(record) => context.out.json(&record),
        None => Err(CliError::new(Exit::Failure, format!("no record `{}`", one_line(id, 80)))
            .hint("`toolgate records list` shows the latest")),
    }
}
