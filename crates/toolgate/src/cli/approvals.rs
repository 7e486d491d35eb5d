//! `toolgate approvals`: the calls that wait for a human, and the human's answer.

use clap::{Args, Subcommand};
use model::fault::one_line;
use model::{Approval, ApprovalState};
use store::{Store, Verdict};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::config::{LogLevel, Overrides};

#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List what waits
    List,
    /// Show one question in full
    Show {
        /// The approval
        id: String,
    },
    /// Let the call go ahead, once
    Approve(AnswerArgs),
    /// Refuse the call
    Reject(AnswerArgs),
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The approval
    pub id: String,
    /// Why; kept in the record
    #[arg(long)]
    pub reason: Option<String>,
}

pub(super) fn run(context: &Context, command: ApprovalsCommand) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    context.block_on(async {
        let store = context.existing_store(&loaded.config).await?;
        let done = match command {
            ApprovalsCommand::List => {
                list(context, &store.approvals(Some(ApprovalState::Pending)).await?)
            }
            ApprovalsCommand::Show { id } => match store.approval(&id).await? {
                Some(approval) => context.out.json(&approval),
                None => Err(CliError::new(
                    Exit::Failure,
                    format!("no approval `{}`", one_line(&id, 80)),
                )),
            },
            ApprovalsCommand::Approve(args) => answer(context, &store, args, true).await,
            ApprovalsCommand::Reject(args) => answer(context, &store, args, false).await,
        };
        store.close().await;
        done
    })
}

fn list(context: &Context, approvals: &[Approval]) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(&approvals);
    }
    let row = |approval: &Approval| {
        vec![
            approval.approval_id.to_string(),
            approval.gate.clone(),
            approval.tool.clone(),
            approval.requested_by.clone(),
            approval.expires_at.to_string(),
            approval.args.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = approvals.iter().map(row).collect();
    context.out.table(&["approval", "gate", "tool", "asked by", "expires", "arguments"], &rows)
}

async fn answer(
    context: &Context,
    store: &Store,
    args: AnswerArgs,
    approved: bool,
) -> Result<(), CliError> {
    let verdict = Verdict { approved, approver: approver(), reason: args.reason };
    let approval = store.answer(&args.id, verdict).await?;
    if context.out.is_json() {
        return context.out.json(&approval);
    }
    let next = if approved { "; the same call made again will now go through, once" } else { "" };
    context.out.line(&format!("{} {}{next}", approval.approval_id, approval.state.as_str()))
}

/// The person at this terminal, as far as the system knows.
pub(super) fn approver() -> String {
    let name = std::env::var("USER").ok().filter(|name| !name.is_empty());
    format!("cli:{}", name.unwrap_or_else(|| "unknown".to_owned()))
}
