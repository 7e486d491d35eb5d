//! `toolgate replay`: recorded calls through the same decisions again, touching nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gateway::{Replayed, Transcript, known_policy, known_tool, replay};
use model::fault::one_line;
use model::{Fault, Record, RecordStatus};
use policy::Rules;
use store::Store;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::records::{self, FilterArgs};
use crate::config::{LogLevel, Overrides};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The record, the call or the run; else every call that has ended and fits the flags
    #[arg(conflicts_with_all = ["tool", "status", "run", "principal", "since", "until"])]
    pub id: Option<String>,
    /// Decide by these Cedar policies instead of those of then
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArgs,
}

pub(super) fn run(context: &Context, args: &ReplayArgs) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    let replayed = context.block_on(async {
        let store = context.existing_store(&loaded.config).await?;
        let replayed = Box::pin(replay_all(&store, args)).await;
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
    let mut desk = Desk { store, given, of_then: BTreeMap::new() };
    let Some(id) = &args.id else { return Box::pin(desk.range(&args.filter)).await };
    let mut replayed = Vec::new();
    for record in transcript(store, id).await? {
        replayed.push(desk.replay(record).await?);
    }
    Ok(replayed)
}

/// Where records, definitions and policies come from.
struct Desk<'s> {
    store: &'s Store,
    /// The policy to decide by, whatever was in force.
    given: Option<Rules>,
    /// Policies that were in force, by hash.
    of_then: BTreeMap<String, Rules>,
}

impl Desk<'_> {
    /// Every call that fits and has ended, oldest first.
    async fn range(&mut self, filter: &FilterArgs) -> Result<Vec<Replayed>, CliError> {
        if filter.is_empty() {
            let error = CliError::usage("nothing says which calls are meant");
            return Err(error.hint("name a record or a run, or a time as in `--since 7d`"));
        }
        let filter = filter.clone().filter(0);
        let (mut replayed, mut last) = (Vec::new(), 0);
        loop {
            let page = self.store.export(&filter, last).await?;
            let Some(end) = page.last().map(|entry| entry.seq) else { return Ok(replayed) };
            for entry in &page {
                let (_, record): (_, Record) = entry.read()?;
                if record.status != RecordStatus::Open {
                    replayed.push(self.replay(record).await?);
                }
            }
            last = end;
        }
    }

    async fn replay(&mut self, record: Record) -> Result<Replayed, CliError> {
        let tool = known_tool(self.store, &record.call).await?;
        let hash = record.call.lineage.policy_hash.clone();
        if self.given.is_none() && !self.of_then.contains_key(&hash) {
            let rules = rules_of(self.store, &record).await?;
            self.of_then.insert(hash.clone(), rules);
        }
        let rules = self.given.as_ref().or_else(|| self.of_then.get(&hash));
        let rules = rules.ok_or_else(|| Fault::internal("a policy that was just read is gone"))?;
        Ok(replay(&Transcript { record, tool }, rules)?)
    }
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
