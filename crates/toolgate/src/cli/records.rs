//! `toolgate records`: what was called, by whom, and what came of it.

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use model::fault::one_line;
use model::{Record, RecordStatus};
use store::{RecordFilter, RecordLine};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::config::{LogLevel, Overrides};

/// What came of a call, in a table.
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
        /// Only calls of this tool, as `upstream/tool` or `tool`
        #[arg(long)]
        tool: Option<String>,
        /// Only records in this state
        #[arg(long, value_parser = status_parser())]
        status: Option<RecordStatus>,
    },
    /// Show one record in full
    Show {
        /// The record
        id: String,
    },
}

pub(super) fn run(context: &Context, command: RecordsCommand) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    context.block_on(async {
        let store = context.existing_store(&loaded.config).await?;
        let shown = match command {
            RecordsCommand::List { limit, tool, status } => {
                let filter = RecordFilter { limit, tool, status, ..RecordFilter::default() };
                list(context, &store.records(&filter).await?)
            }
            RecordsCommand::Show { id } => show(context, store.record(&id).await?, &id),
        };
        store.close().await;
        shown
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

const STATUSES: [RecordStatus; 7] = [
    RecordStatus::Open,
    RecordStatus::Completed,
    RecordStatus::Failed,
    RecordStatus::Denied,
    RecordStatus::Cancelled,
    RecordStatus::Deferred,
    RecordStatus::Escalated,
];

fn status_parser() -> impl clap::builder::TypedValueParser<Value = RecordStatus> {
    let words = PossibleValuesParser::new(STATUSES.map(RecordStatus::as_str));
    words.try_map(|word| {
        STATUSES.into_iter().find(|status| status.as_str() == word).ok_or("no such status")
    })
}
