//! What the policy says about one call, rule by rule: one that could be made, or one that was.

use model::fault::one_line;
use model::{CallId, Caller, Clock, Decision, DecisionAction, DecisionId, Grant, Method};
use policy::{Facts, cases, decide, may_list};
use serde_json::{Map, Value, json};

use super::{ExplainArgs, text};
use crate::assemble;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::{Config, LogLevel, Overrides};

pub(super) fn run(context: &Context, args: &ExplainArgs) -> Result<(), CliError> {
    let loaded = context.start_upstreams(LogLevel::Warn, Overrides::default())?;
    let recorded = ["rec_", "call_"].iter().any(|prefix| args.call.starts_with(prefix));
    if recorded {
        return context.block_on(of_record(context, &loaded.config, &args.call));
    }
    context.block_on(of_tool(context, &loaded.config, args))
}

async fn of_record(context: &Context, config: &Config, id: &str) -> Result<(), CliError> {
    let store = context.existing_store(config).await?;
    let record = store.record(id).await?;
    store.close().await;
    let Some(record) = record else {
        return Err(CliError::new(Exit::Failure, format!("no record `{}`", one_line(id, 80))));
    };
    match &record.decision {
        Some(decision) => show(context, &record.call.asked_name, None, decision),
        None => context.out.line("the call was refused before any policy was asked"),
    }
}

async fn of_tool(context: &Context, config: &Config, args: &ExplainArgs) -> Result<(), CliError> {
    let read = text(config, args.policy.as_deref())?.rules();
    let rules = read.map_err(|why| CliError::new(Exit::Config, why))?;
    let caller = caller(args)?;
    let arguments: Value = serde_json::from_str(&args.arguments)
        .map_err(|error| CliError::usage(format!("the arguments are not JSON: {error}")))?;
    let catalogue = assemble::catalogue(config).await?;
    let Some(tool) = catalogue.resolve(&args.call) else {
        let message = format!("no tool `{}`", one_line(&args.call, 80));
        return Err(CliError::new(Exit::Failure, message).hint("`toolgate tools list` shows all"));
    };
    let now = Clock::System.now();
    let facts = Facts {
        call_id: &CallId::fresh(now),
        decision_id: &DecisionId::fresh(now),
        caller: &caller,
        method: &Method::CallTool,
        item: &tool.item,
        capability: tool.capability.as_ref(),
        declared: tool.declared,
        args: &arguments,
        written: None,
        params: &Map::new(),
        intent: args.intent.as_deref(),
        spent: None,
        at: now,
    };
    let listed = may_list(&rules, &Facts { args: &Value::Null, ..facts });
    show(context, &tool.shown_name, Some(listed), &decide(&rules, &facts).decision)
}

fn caller(args: &ExplainArgs) -> Result<Caller, CliError> {
    let who = args.caller.as_deref().unwrap_or("user:local");
    let principal = cases::read_principal(who).map_err(CliError::usage)?;
    Ok(Caller {
        roles: args.role.clone(),
        grants: args.grant.iter().map(|text| Grant::read(text)).collect(),
        ..Caller::new(principal)
    })
}

fn show(
    context: &Context,
    tool: &str,
    listed: Option<bool>,
    decision: &Decision,
) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(&json!({"tool": tool, "listed": listed, "decision": decision}));
    }
    let answer = match (decision.action, &decision.gate) {
        (DecisionAction::Allow, _) => "allowed".to_owned(),
        (DecisionAction::Deny, _) => "refused".to_owned(),
        (DecisionAction::RequireApproval, gate) => {
            format!("asks a human at gate {}", gate.as_deref().unwrap_or_default())
        }
    };
    let rules = match decision.matched_rule_ids.as_slice() {
        [] => "none".to_owned(),
        ids => ids.join(", "),
    };
    let mut lines = vec![
        format!("{tool}: {answer}"),
        format!("  why    {}", decision.reason),
        format!("  rules  {rules}"),
        format!("  mode   {}", decision.effective_mode),
    ];
    if listed == Some(false) {
        lines.push("  list   hidden: for this caller the tool does not exist".to_owned());
    }
    if !decision.obligations.is_empty() {
        lines.push(format!("  owes   {}", decision.obligations.join(", ")));
    }
    lines.iter().try_for_each(|line| context.out.line(line))
}
