//! `toolgate replay`: a recorded call or run through the same decisions again, touching nothing.

use std::path::PathBuf;

use clap::Args;
use gateway::{Replayed, Transcript, known_policy, known_tool, replay};
use model::Record;
use model::fault::one_line;
use policy::Rules;
use store::Store;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::records;
use crate::config::{LogLevel, Overrides};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The record, the call or the run
    pub id: String,
    /// Decide by these Cedar policies instead of those of then
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
}

pub(super) fn run(context: &Context, args: &ReplayArgs) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    let replayed = context.block_on(async {
        let store = context.existing_store(&loaded.config).await?;
        let replayed = replay_all(&store, args).await;
        store.close().await;
        replayed
    })?;
    show(context, &replayed)?;
    match replayed.iter().filter(|call| call.difference.is_some()).count() {
        0 => Ok(()),
        differ => Err(CliError::new(
            Exit::Failure,
            format!("{differ} of {} calls came out differently", replayed.len()),
        )),
    }
}

async fn replay_all(store: &Store, args: &ReplayArgs) -> Result<Vec<Replayed>, CliError> {
    let given = args.policy.as_ref().map(read).transpose()?;
    let mut replayed = Vec::new();
    for record in transcript(store, &args.id).await? {
        let rules = match &given {
            Some(rules) => rules.clone(),
            None => rules_of(store, &record).await?,
        };
        let tool = known_tool(store, &record.call.lineage).await?;
        replayed.push(replay(&Transcript { record, tool }, &rules)?);
    }
    Ok(replayed)
}

async fn transcript(store: &Store, id: &str) -> Result<Vec<Record>, CliError> {
    if let Some(record) = store.record(id).await? {
        return Ok(vec![record]);
    }
    let run = records::of_run(store, id).await?;
    if run.is_empty() {
        let message = format!("no record and no run `{}`", one_line(id, 80));
        return Err(CliError::new(Exit::Failure, message)
            .hint("`toolgate records list` shows the latest records"));
    }
    Ok(run)
}

/// The policy that was in force then.
async fn rules_of(store: &Store, record: &Record) -> Result<Rules, CliError> {
    let hash = &record.call.lineage.policy_hash;
    let Some(text) = known_policy(store, hash).await? else {
        let message = format!("the policy of `{}` was not kept", record.record_id);
        return Err(CliError::new(Exit::Failure, message).hint("name one with --policy FILE"));
    };
    Rules::parse("the policy of then", &text)
        .map_err(|error| CliError::new(Exit::Failure, error.to_string()))
}

fn read(path: &PathBuf) -> Result<Rules, CliError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        CliError::usage(format!("`{}` cannot be read: {error}", path.display()))
    })?;
    Rules::parse(&path.display().to_string(), &text)
        .map_err(|error| CliError::new(Exit::Config, error.to_string()))
}

fn show(context: &Context, replayed: &[Replayed]) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(&replayed);
    }
    let row = |call: &Replayed| {
        let (verdict, why) = match &call.difference {
            None => ("equal".to_owned(), call.notes.join("; ")),
            Some(difference) => {
                let part = serde_json::to_value(difference.part).unwrap_or_default();
                (part.as_str().unwrap_or_default().to_owned(), difference.message.clone())
            }
        };
        vec![call.record_id.to_string(), call.tool.clone(), verdict, why]
    };
    let rows: Vec<Vec<String>> = replayed.iter().map(row).collect();
    context.out.table(&["record", "tool", "replay", "what"], &rows)
}
