//! `toolgate claims`: idempotency keys, and the word of a person about those in doubt.

use clap::{Args, Subcommand, ValueEnum};
use model::{Answer, Record};
use store::{ClaimLine, ClaimState};

use super::approvals::approver;
use super::context::Context;
use super::error::CliError;
use super::records::json_argument;
use crate::config::{LogLevel, Overrides};

#[derive(Debug, Subcommand)]
pub enum ClaimsCommand {
    /// List keys, newest first
    List {
        /// Only keys in this state
        #[arg(long)]
        state: Option<State>,
    },
    /// It took no effect, or may be made again: free the key
    Release {
        /// The record of the call in doubt
        record: String,
    },
    /// It took effect: whoever asks with the key again gets this answer
    Confirm(ConfirmArgs),
}

#[derive(Debug, Args)]
pub struct ConfirmArgs {
    /// The record of the call in doubt
    pub record: String,
    /// What came of it, as a JSON object; else a sentence that says who confirmed it
    #[arg(long, value_name = "JSON")]
    pub answer: Option<String>,
}

/// The states of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum State {
    /// Taken, and nothing sent yet
    Claimed,
    /// The upstream may have seen the call
    Dispatched,
    /// Answered
    Done,
    /// Cut off after it was sent
    Unknown,
}

pub(super) fn run(context: &Context, command: ClaimsCommand) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    context.block_on(async {
        let store = context.existing_store(&loaded.config).await?;
        let done = match command {
            ClaimsCommand::List { state } => {
                list(context, &store.claims(state.map(ClaimState::from)).await?)
            }
            ClaimsCommand::Release { record } => {
                let record = store.release_claim(&record, &approver()).await?;
                settled(context, &record, "the key is free")
            }
            ClaimsCommand::Confirm(args) => {
                let answer = answer(&args)?;
                let record = store.confirm_claim(&args.record, &approver(), answer).await?;
                settled(context, &record, "the same call made again gets this answer")
            }
        };
        store.close().await;
        done
    })
}

fn answer(args: &ConfirmArgs) -> Result<Answer, CliError> {
    match &args.answer {
        Some(text) => json_argument(text).map(Answer::structured),
        None => Ok(Answer::text(format!("this call took effect, as {} has confirmed", approver()))),
    }
}

fn settled(context: &Context, record: &Record, what: &str) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(record);
    }
    context.out.line(&format!("{} {}; {what}", record.record_id, record.status))
}

fn list(context: &Context, lines: &[ClaimLine]) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(&lines);
    }
    let row = |line: &ClaimLine| {
        vec![
            line.record_id.to_string(),
            line.state.as_str().to_owned(),
            line.key.clone(),
            line.scope.clone(),
            line.expires_at.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    context.out.table(&["record", "state", "key", "scope", "expires"], &rows)
}

impl From<State> for ClaimState {
    fn from(state: State) -> Self {
        match state {
            State::Claimed => Self::Claimed,
            State::Dispatched => Self::Dispatched,
            State::Done => Self::Done,
            State::Unknown => Self::Unknown,
        }
    }
}
