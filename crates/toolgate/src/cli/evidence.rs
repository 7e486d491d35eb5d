//! `toolgate evidence`: the facts that records hold for decisions to cite.

use clap::Subcommand;
use model::evidence::Evidence;
use model::fault::one_line;
use store::{RecordFilter, Store};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::config::{LogLevel, Overrides};

/// A value, in a table.
const VALUE_CHARS: usize = 40;
/// Records searched for one fact.
const SEARCHED_MAX: u32 = 1_000;
/// Records looked through when nobody says how many.
const LIMIT_DEFAULT: u32 = 100;

#[derive(Debug, Subcommand)]
pub enum EvidenceCommand {
    /// List the facts of the latest records, newest first
    List {
        /// How many records to look through
        #[arg(long, default_value_t = LIMIT_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
        /// Only facts of this record or call
        #[arg(long)]
        record: Option<String>,
    },
    /// Show one fact in full
    Show {
        /// The fact, as `ev_…`
        evidence_ref: String,
    },
}

pub(super) fn run(context: &Context, command: EvidenceCommand) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    context.block_on(async {
        let store = context.existing_store(&loaded.config).await?;
        let shown = match command {
            EvidenceCommand::List { record: Some(id), .. } => {
                list(context, &facts_of(&store, &id).await?)
            }
            EvidenceCommand::List { limit, record: None } => {
                list(context, &latest(&store, limit).await?)
            }
            EvidenceCommand::Show { evidence_ref } => {
                let facts = latest(&store, SEARCHED_MAX).await?;
                show(context, &facts, &evidence_ref)
            }
        };
        store.close().await;
        shown
    })
}

async fn latest(store: &Store, limit: u32) -> Result<Vec<Evidence>, CliError> {
    let mut facts = Vec::new();
    for line in store.records(&RecordFilter { limit, ..RecordFilter::default() }).await? {
        facts.extend(facts_of(store, line.record_id.as_str()).await?);
    }
    Ok(facts)
}

async fn facts_of(store: &Store, id: &str) -> Result<Vec<Evidence>, CliError> {
    let result = store.record(id).await?.and_then(|record| record.result);
    Ok(result.map(|result| result.evidence).unwrap_or_default())
}

fn list(context: &Context, facts: &[Evidence]) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(&facts);
    }
    let row = |fact: &Evidence| {
        let value = fact.value.as_ref().map(ToString::to_string).unwrap_or_default();
        vec![
            fact.evidence_ref.clone(),
            fact.source.call_id.to_string(),
            fact.source.upstream.to_string(),
            fact.key.clone(),
            one_line(&value, VALUE_CHARS),
        ]
    };
    let rows: Vec<_> = facts.iter().map(row).collect();
    context.out.table(&["evidence", "call", "upstream", "key", "value"], &rows)
}

fn show(context: &Context, facts: &[Evidence], evidence_ref: &str) -> Result<(), CliError> {
    match facts.iter().find(|fact| fact.evidence_ref == evidence_ref) {
        Some(fact) => context.out.json(fact),
        None => Err(CliError::new(
            Exit::Failure,
            format!("no evidence `{}` in the latest records", one_line(evidence_ref, 80)),
        )
        .hint("`toolgate evidence list` shows the latest")),
    }
}
