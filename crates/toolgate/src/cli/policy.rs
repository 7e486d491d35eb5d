//! `toolgate policy`: look over a policy, try cases on it, and ask it why.

mod explain;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use policy::schema::{self, Finding};
use policy::{Rules, cases};
use serde::Deserialize;
use serde_json::json;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::config::{Config, LogLevel, Overrides, Profile, Transport};

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Say what is wrong or odd about the policy
    Check {
        /// A policy file in place of the configured one
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Try cases on the policy
    Test {
        /// The cases, in YAML or JSON
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Show what the policy says about a call, and which rule says so
    Explain(ExplainArgs),
    /// Print the Cedar schema that policies are held against
    Schema,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A tool, by any name it goes by, or a recorded call by its id
    #[arg(value_name = "CALL")]
    pub call: String,
    /// The arguments as a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub arguments: String,
    /// Who calls, as `kind:name` [default: user:local]
    #[arg(long = "as", value_name = "WHO")]
    pub caller: Option<String>,
    /// A role the caller has
    #[arg(long, value_name = "ROLE")]
    pub role: Vec<String>,
    /// A grant the caller holds
    #[arg(long, value_name = "GRANT")]
    pub grant: Vec<String>,
    /// What the caller says it is about
    #[arg(long, value_name = "TEXT")]
    pub intent: Option<String>,
    /// A policy file in place of the configured one
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
}

pub(super) fn run(context: &Context, command: &PolicyCommand) -> Result<(), CliError> {
    match command {
        PolicyCommand::Schema => super::print::stdout(schema::SCHEMA),
        PolicyCommand::Check { file } => check(context, file.as_deref()),
        PolicyCommand::Test { file } => test(context, file),
        PolicyCommand::Explain(args) => explain::run(context, args),
    }
}

/// A policy's text and what it is called.
pub(super) struct Written {
    pub(super) name: String,
    pub(super) text: String,
    /// Under which a gate would read it.
    pub(super) profile: Profile,
}

impl Written {
    /// As a gate would put it in force.
    pub(super) fn rules(&self) -> Result<Rules, String> {
        crate::assemble::governing::read_rules(&self.name, &self.text, self.profile)
    }
}

/// The policy of a file, of the configuration, or of the profile.
pub(super) fn text(config: &Config, file: Option<&Path>) -> Result<Written, CliError> {
    let named = match (file, &config.policy) {
        (Some(file), _) => Some((file.to_owned(), file.display().to_string())),
        (None, Some(path)) => Some((path.as_path().to_owned(), path.shown().to_owned())),
        (None, None) => None,
    };
    let profile = config.profile(Transport::Stdio);
    let Some((path, name)) = named else {
        let (name, rules) = match profile {
            Profile::Dev => ("the policy of profile dev", Rules::permit_all()),
            Profile::Production => ("the policy of profile production", Rules::permit_declared()),
        };
        return Ok(Written { name: name.to_owned(), text: rules.text().to_owned(), profile });
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| CliError::usage(format!("`{name}` cannot be read: {error}")))?;
    Ok(Written { name, text, profile })
}

fn check(context: &Context, file: Option<&Path>) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    let Written { name, text, .. } = text(&loaded.config, file)?;
    let wrong = |message: String| CliError::new(Exit::Config, message);
    let findings = schema::look_over(&name, &text).map_err(|error| wrong(error.to_string()))?;
    let policies = Rules::parse(&name, &text).map_err(|error| wrong(error.to_string()))?.count();
    if context.out.is_json() {
        context.out.json(&json!({"file": name, "policies": policies, "findings": findings}))?;
    } else {
        for finding in &findings {
            let word = if finding.grave { "wrong" } else { "odd  " };
            context.out.line(&format!("{word} {finding}"))?;
        }
    }
    let grave = findings.iter().filter(|finding: &&Finding| finding.grave).count();
    match grave {
        0 if context.out.is_json() => Ok(()),
        0 => context.out.line(&format!("{name}: {policies} policies can be used")),
        _ => Err(wrong(format!("{name}: {grave} mistakes; a gate would not take this policy"))),
    }
}

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    /// The policy they are about, beside this file; else the configured one.
    #[serde(default)]
    policy: Option<PathBuf>,
    cases: Vec<cases::Case>,
}

fn test(context: &Context, file: &Path) -> Result<(), CliError> {
    let loaded = context.start(LogLevel::Warn, Overrides::default())?;
    let name = file.display().to_string();
    let unreadable = |why: String| CliError::usage(format!("`{name}` cannot be read: {why}"));
    let read = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    let Cases { policy, cases } = crate::config::read_data(&read).map_err(unreadable)?;
    let beside = policy.map(|policy| file.parent().unwrap_or_else(|| Path::new("")).join(policy));
    let read = text(&loaded.config, beside.as_deref())?.rules();
    let rules = read.map_err(|why| CliError::new(Exit::Config, why))?;
    let surprises: Vec<cases::Surprise> =
        cases.iter().filter_map(|case| cases::try_case(&rules, case).err()).collect();
    if context.out.is_json() {
        context.out.json(&json!({"cases": cases.len(), "surprises": surprises}))?;
    } else {
        for surprise in &surprises {
            context.out.line(&format!("{}: {}", surprise.case, surprise.message))?;
        }
    }
    match (surprises.len(), cases.len()) {
        (0, _) if context.out.is_json() => Ok(()),
        (0, all) => context.out.line(&format!("{all} cases came out as they should")),
        (odd, all) => {
            Err(CliError::new(Exit::Failure, format!("{odd} of {all} cases came out otherwise")))
        }
    }
}
