//! `toolgate tools`: what is in the catalogue, as its cards and definitions.

use std::sync::Arc;

use catalog::{Catalogue, Entry};
use clap::Subcommand;
use model::fault::one_line;
use serde_json::json;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::assemble;
use crate::config::{LogLevel, Overrides};

/// A description in a table.
const DESCRIPTION_CHARS: usize = 72;

#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List the tools
    List,
    /// Show one tool with its schema
    Show {
        /// The tool, by any name it goes by
        name: String,
    },
}

pub(super) fn run(context: &Context, command: ToolsCommand) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    let catalogue = context.block_on(assemble::catalogue(&loaded.config))?;
    match command {
        ToolsCommand::List => list(context, &catalogue),
        ToolsCommand::Show { name } => show(context, &catalogue, &name),
    }
}

fn list(context: &Context, catalogue: &Catalogue) -> Result<(), CliError> {
    if context.out.is_json() {
        let named = |tool: &Arc<Entry>| json!({"shown_name": tool.shown_name, "item": tool.item});
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
    context.out.table(&["tool", "namespace", "mode", "description"], &rows)
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
        "definition": tool.definition,
        "capability": tool.capability,
        "manifest": tool.manifest,
        "held_back": tool.quarantined(),
    }))
}
