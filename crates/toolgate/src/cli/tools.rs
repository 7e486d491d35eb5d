//! `toolgate tools`: what is in the catalogue, as its cards and definitions, and how it is found.

mod offer;

use std::sync::Arc;

use catalog::{Catalogue, Entry, Look, Query, Tally, cards};
use clap::Subcommand;
use model::Finding;
use model::fault::one_line;
use search::{Explanation, Reason, Via};
use serde_json::{Value, json};

use super::context::Context;
use super::drift;
use super::error::CliError;
use super::exit::Exit;
use crate::assemble;
use crate::config::{LogLevel, Overrides};

/// A description in a table.
const DESCRIPTION_CHARS: usize = 72;
/// What a browse gives at most.
const TOP_MAX: i64 = 50;
const _: () = assert!(catalog::limits::TOP_K_MAX == 50, "help and bound say the same");
/// What was found out about the tools, below their list.
const CONCERNS_MAX: usize = 20;

#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List the tools
    List {
        /// Show all names that each tool goes by
        #[arg(long)]
        ids: bool,
    },
    /// Show one tool with its schema
    Show {
        /// The tool, by any name it goes by
        name: String,
    },
    /// Show the namespace that a name is taken to be in
    Namespace {
        /// A tool's name, as its upstream writes it
        name: String,
    },
    /// Show which upstreams would offer a tool of this name, and why others would not
    Explain {
        /// A tool's name, as its upstream writes it
        name: String,
    },
    /// Find tools for a query, as a model would
    Search {
        /// What is wanted, in plain words or by name
        query: String,
        /// Show where each score comes from
        #[arg(long)]
        explain: bool,
        /// How many tools, at most 50
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=TOP_MAX))]
        top: u16,
    },
    /// Show how the tools differ from what was accepted
    Diff,
    /// Accept tools as their upstreams list them now
    Accept {
        /// The tools, by any name that means one of them
        tools: Vec<String>,
        /// Accept everything that differs
        #[arg(long)]
        all: bool,
        /// Accept only if what differs is still what `tools diff` showed with this hash
        #[arg(long, value_name = "HASH")]
        hash: Option<String>,
    },
}

pub(super) fn run(context: &Context, command: ToolsCommand) -> Result<(), CliError> {
    match &command {
        ToolsCommand::Namespace { name } => return offer::namespace(context, name),
        ToolsCommand::Explain { name } => return offer::explain(context, name),
        _ => {}
    }
    let loaded = context.start_upstreams(LogLevel::Warn, Overrides::default())?;
    let catalogue = || context.block_on(assemble::catalogue(&loaded.config));
    match command {
        ToolsCommand::Namespace { .. } | ToolsCommand::Explain { .. } => Ok(()),
        ToolsCommand::List { ids: true } => offer::ids(context, &catalogue()?),
        ToolsCommand::List { ids: false } => list(context, &catalogue()?),
        ToolsCommand::Show { name } => show(context, &catalogue()?, &name),
        ToolsCommand::Diff => context.block_on(drift::diff(context, &loaded.config)),
        ToolsCommand::Accept { tools, all, hash } => {
            let wanted = drift::Acceptance { tools: &tools, all, hash: hash.as_deref() };
            context.block_on(drift::accept(context, &loaded.config, wanted))
        }
        ToolsCommand::Search { query, explain: wants_why, top } => {
            let catalogue = catalogue()?;
            let heard = context.block_on(async {
                Ok(assemble::meaning(&loaded.config, &catalogue).await.hear(&query).await)
            })?;
            let meaning = heard.meaning.as_ref();
            let look = Look {
                meaning: meaning.map(|(meant, vector)| (meant.as_ref(), vector.as_slice())),
                ..Look::new(usize::from(top), &|_| true)
            };
            heard.note.iter().for_each(|note| context.out.note(note));
            if wants_why {
                return explain(context, &catalogue, &query, &look);
            }
            search(context, &catalogue, query, &look)
        }
    }
}

fn list(context: &Context, catalogue: &Catalogue) -> Result<(), CliError> {
    if context.out.is_json() {
        let named = |tool: &Arc<Entry>| json!({"shown_name": tool.shown_name, "item": tool.item, "held_back": tool.quarantined()});
        return context.out.json(&catalogue.entries().iter().map(named).collect::<Vec<_>>());
    }
    let row = |tool: &Arc<Entry>| {
        let capability = tool.capability.as_ref();
        let mode = capability.map_or("undeclared", |capability| capability.approval_mode.as_str());
        let state = if tool.quarantined().is_some() { "held back" } else { mode };
        let description = one_line(&tool.item.description, DESCRIPTION_CHARS);
        vec![tool.shown_name.clone(), tool.item.namespace.clone(), state.to_owned(), description]
    };
    let rows: Vec<Vec<String>> = catalogue.entries().iter().map(row).collect();
    context.out.table(&["tool", "namespace", "mode", "description"], &rows)?;
    let Tally { usable, held, left_out } = catalogue.tally();
    if held + left_out > 0 {
        context.out.note(&format!("{usable} usable, {held} held back, {left_out} left out"));
    }
    let concerns: Vec<&Finding> = catalogue.concerns().collect();
    for Finding { message, .. } in concerns.iter().take(CONCERNS_MAX) {
        context.out.note(&one_line(message, 400));
    }
    if let Some(more) = concerns.len().checked_sub(CONCERNS_MAX).filter(|more| *more > 0) {
        context.out.note(&format!("and {more} more; `toolgate doctor --json` has them all"));
    }
    Ok(())
}

/// The definition, what is known of it, and why it is held back if it is.
fn show(context: &Context, catalogue: &Catalogue, name: &str) -> Result<(), CliError> {
    let Some(tool) = catalogue.resolve(name) else {
        let message = format!("no tool is called `{}`", one_line(name, 100));
        return Err(
            CliError::new(Exit::Failure, message).hint("`toolgate tools list` shows them all")
        );
    };
    context.out.json(&json!({
        "name": tool.shown_name,
        "item": tool.item,
        "definition": tool.definition(),
        "capability": tool.capability,
        "manifest": tool.manifest,
        "held_back": tool.quarantined(),
    }))
}

/// The cards a model would get.
fn search(
    context: &Context,
    catalogue: &Catalogue,
    query: String,
    look: &Look<'_>,
) -> Result<(), CliError> {
    let found = catalogue.browse_as(&Query::Words(query), look);
    let found = found.map_err(|fault| CliError::new(Exit::Failure, fault.message))?;
    if context.out.is_json() {
        return context.out.json(&found);
    }
    let cards = cards::render_text(&found.cards);
    cards
        .lines()
        .chain(found.alike.iter().map(String::as_str))
        .try_for_each(|line| context.out.line(line))?;
    if !found.unmatched.is_empty() {
        context.out.note(&format!("no tool has: {}", found.unmatched.join(", ")));
    }
    context.out.note(&found.hint);
    Ok(())
}

/// Each tool's score in its parts, and the words that led to it.
fn explain(
    context: &Context,
    catalogue: &Catalogue,
    query: &str,
    look: &Look<'_>,
) -> Result<(), CliError> {
    let told = catalogue.explain(query, look);
    if context.out.is_json() {
        let rows: Vec<Value> = told.iter().map(|(tool, why)| explained(tool, why)).collect();
        return context.out.json(&rows);
    }
    let row = |(tool, why): &(Arc<Entry>, Explanation)| {
        let parts =
            [why.score, why.from_words, why.from_meaning, why.from_names + why.from_coverage];
        let words: Vec<String> = why.reasons.iter().map(reason).collect();
        let name = std::iter::once(tool.shown_name.clone());
        name.chain(parts.map(|part| format!("{part:.3}"))).chain([words.join("; ")]).collect()
    };
    let rows: Vec<Vec<String>> = told.iter().map(row).collect();
    context.out.table(&["tool", "score", "words", "meaning", "name", "matched"], &rows)
}

fn reason(reason: &Reason) -> String {
    let fields: Vec<&str> = reason.fields.iter().map(|field| field.as_str()).collect();
    let via = match reason.via {
        Via::Itself => String::new(),
        via => format!(" ({} of `{}`)", via.as_str(), reason.spoken),
    };
    format!("{}{via} in {}", reason.matched, fields.join(", "))
}

fn explained(tool: &Entry, why: &Explanation) -> Value {
    let reasons = why.reasons.iter().map(|reason| {
        let fields: Vec<&str> = reason.fields.iter().map(|field| field.as_str()).collect();
        json!({
            "spoken": reason.spoken,
            "matched": reason.matched,
            "via": reason.via.as_str(),
            "fields": fields,
        })
    });
    json!({
        "tool": tool.shown_name,
        "score": why.score,
        "from_words": why.from_words,
        "from_meaning": why.from_meaning,
        "from_names": why.from_names,
        "from_coverage": why.from_coverage,
        "from_use": why.from_use,
        "reasons": reasons.collect::<Vec<_>>(),
    })
}
