//! `toolgate cards`: the catalogue as the tool array a model provider takes.

use std::sync::Arc;

use catalog::limits::TOP_K_MAX;
use catalog::providers::{self, Provider};
use catalog::{Catalogue, Entry, Query};
use clap::Subcommand;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::assemble;
use crate::config::{LogLevel, Overrides};

#[derive(Debug, Subcommand)]
pub enum CardsCommand {
    /// Print the array, with the cache breakpoint where the provider wants it
    Render {
        /// Whose array: `anthropic` or `openai`
        #[arg(long, value_name = "NAME")]
        provider: Provider,
        /// Only the cards that match these words, best first; else all, by name
        #[arg(long, value_name = "WORDS")]
        query: Option<String>,
        /// How many cards at most [default: all, or 20 with --query, which gives no more than 50]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        max: Option<u16>,
    },
}

pub(super) fn run(context: &Context, command: &CardsCommand) -> Result<(), CliError> {
    let CardsCommand::Render { provider, query, max } = command;
    let loaded = context.start_upstreams(LogLevel::Warn, Overrides::default())?;
    let catalogue = context.block_on(assemble::catalogue(&loaded.config))?;
    let entries = chosen(&catalogue, query.as_deref(), max.map(usize::from))?;
    // Meant for prompts: cleaned as the gate cleans what it lists.
    let redactor = assemble::redactor(&loaded.config);
    context.out.json(&context::menu(providers::render(*provider, &entries), &redactor).into_inner())
}

fn chosen(
    catalogue: &Catalogue,
    query: Option<&str>,
    max: Option<usize>,
) -> Result<Vec<Arc<Entry>>, CliError> {
    let Some(words) = query else {
        let listed = catalogue.entries().iter().filter(|entry| entry.quarantined().is_none());
        return Ok(listed.take(max.unwrap_or(usize::MAX)).map(Arc::clone).collect());
    };
    if let Some(max) = max.filter(|max| *max > TOP_K_MAX) {
        let message = format!("`--max {max}` with `--query`: a search gives at most {TOP_K_MAX}");
        return Err(CliError::usage(message).hint("leave out `--query` for all cards, by name"));
    }
    let query = Query::Words(words.to_owned());
    let found = catalogue
        .browse(&query, max.unwrap_or(20), &|_| true)
        .map_err(|fault| CliError::new(Exit::Failure, fault.message))?;
    let entries = found.cards.iter().filter_map(|card| catalogue.resolve(&card.id));
    Ok(entries.map(Arc::clone).collect())
}
