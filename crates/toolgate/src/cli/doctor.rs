//! `toolgate doctor`: tries every upstream, and shows what it says and what is wrong with it; or
//! shows what is left to do before others may depend on the gate.

use catalog::Tally;
use clap::Args;
use model::fault::one_line;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::assemble::doctor::{self, Finding};
use crate::assemble::hardening::{self, Point};
use crate::assemble::watched;
use crate::config::{Config, LogLevel, Overrides};

/// What is wrong with the tools of one upstream, on a terminal.
const CONCERNS_MAX: usize = 20;

#[derive(Clone, Copy, Debug, Args)]
pub struct DoctorArgs {
    /// Show what is left to do before others may depend on this gate, and touch no upstream
    #[arg(long)]
    checklist: bool,
}

pub(super) fn run(context: &Context, args: DoctorArgs) -> Result<(), CliError> {
    if args.checklist {
        let loaded = context.start(LogLevel::Error, Overrides::default())?;
        return checklist(context, &hardening::checklist(&loaded.config));
    }
    let loaded = context.start_upstreams(LogLevel::Error, Overrides::default())?;
    manifests(&loaded.config)?;
    let findings = context.block_on(doctor::examine(&loaded.config))?;
    if context.out.is_json() {
        context.out.json(&findings)?;
    } else {
        findings.iter().try_for_each(|finding| show(context, finding))?;
    }
    policy(&loaded.config)?;
    let ill = findings.iter().filter(|finding| !finding.well).count();
    if ill == 0 {
        return Ok(());
    }
    let message = format!("{ill} of {} upstreams cannot be used", findings.len());
    Err(CliError::new(Exit::Unavailable, message)
        .hint("what they wrote is above; try the command or the address by hand"))
}

/// A manifest with a mistake: a gate does not start with it, and one that runs keeps the former.
fn manifests(config: &Config) -> Result<(), CliError> {
    let read = watched::read(&config.upstreams);
    read.map(|_| ()).map_err(|error| {
        let message = format!("a manifest cannot be used: {}", error.message);
        CliError::new(Exit::Config, message).hint(
            "a gate that runs keeps the last good manifests; `toolgate manifest check` says more",
        )
    })
}

/// A policy with a mistake: a gate does not start with it, and one that runs keeps the former.
fn policy(config: &Config) -> Result<(), CliError> {
    let read = super::policy::text(config, None)?.rules();
    read.map(|_| ()).map_err(|why| {
        CliError::new(Exit::Config, format!("the policy cannot be used: {why}"))
            .hint("a gate that runs keeps the last good policy; `toolgate policy check` says more")
    })
}

fn checklist(context: &Context, points: &[Point]) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(&points);
    }
    points.iter().try_for_each(|point| {
        let state = if point.done { "done" } else { "open" };
        context.out.line(&format!("{state}  {}: {}", point.what, point.how))
    })
}

fn show(context: &Context, finding: &Finding) -> Result<(), CliError> {
    let Finding { upstream, kind, tools, tally, speaks, problem, said, runs, at, concerns, .. } =
        finding;
    let Tally { usable, held, left_out } = tally;
    let of_them = match held + left_out {
        0 => String::new(),
        _ => format!(" ({usable} usable, {held} held back, {left_out} left out)"),
    };
    let spoken = speaks.as_ref().map(|revision| format!(", MCP {revision}")).unwrap_or_default();
    let line = match problem {
        None => format!("well  {upstream} ({kind}{spoken}): {tools} tools{of_them}"),
        Some(problem) => format!("ill   {upstream} ({kind}{spoken}): {problem}"),
    };
    context.out.line(&line)?;
    if let Some(command) = runs {
        context.out.line(&format!("      $ {command}"))?;
    }
    if let Some(address) = at {
        context.out.line(&format!("      at {address}"))?;
    }
    for concern in concerns.iter().take(CONCERNS_MAX) {
        context.out.line(&format!("      - {}", one_line(concern, 400)))?;
    }
    if let Some(more) = concerns.len().checked_sub(CONCERNS_MAX).filter(|more| *more > 0) {
        context.out.line(&format!("      - and {more} more, with --json"))?;
    }
    said.iter().try_for_each(|line| context.out.line(&format!("        {line}")))
}
