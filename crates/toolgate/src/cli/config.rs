//! `toolgate config`: whether the configuration is good, and what it may say.

use std::path::PathBuf;

use clap::Subcommand;
use model::UpstreamName;
use serde::Serialize;

use super::args::Globals;
use super::context::Context;
use super::error::CliError;
use crate::assemble;
use crate::config::{
    Config, ConfigError, ConfigPath, Loaded, Mode, Overrides, Problem, Profile, Transport,
    Upstream, files,
};

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a configuration file and say what it amounts to
    Check {
        /// The file; else that of --config, else `toolgate.yaml`
        file: Option<PathBuf>,
    },
    /// Print the JSON Schema of the configuration file
    Schema,
}

pub(super) fn run(context: &Context, command: ConfigCommand) -> Result<(), CliError> {
    match command {
        ConfigCommand::Check { file } => check(context, file),
        ConfigCommand::Schema => context.out.json(&Config::json_schema()),
    }
}

fn check(context: &Context, file: Option<PathBuf>) -> Result<(), CliError> {
    let globals = context.globals();
    let config = file.or_else(|| globals.config.clone());
    let context = Context::new(Globals { config, ..globals.clone() });
    let loaded = context.load(Overrides::default())?;
    present(&loaded)?;
    assemble::check(&loaded.config, loaded.config.transport.unwrap_or(Transport::Http))?;
    let summary = Summary::of(&loaded);
    if context.out.is_json() {
        return context.out.json(&summary);
    }
    loaded.notes.iter().for_each(|note| context.out.note(note));
    context.out.line(&summary.headline())?;
    let row = |upstream: &UpstreamSummary| {
        let enabled = if upstream.enabled { "on" } else { "off" };
        [&upstream.name, upstream.kind, enabled, &upstream.target].map(str::to_owned).to_vec()
    };
    let rows = summary.upstreams.iter().map(row).collect::<Vec<_>>();
    context.out.table(&["upstream", "type", "state", "target"], &rows)
}

/// The files the configuration refers to must exist; reading it alone does not look.
fn present(loaded: &Loaded) -> Result<(), ConfigError> {
    let name = loaded.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    let missing = files(&loaded.config).into_iter().filter(|(_, path)| !path.as_path().is_file());
    let problem = |(key, path): (String, &ConfigPath)| Problem {
        file: name.clone(),
        line: None,
        column: None,
        message: format!("`{key}`: there is no file `{}`", path.shown()),
    };
    let problems = missing.map(problem).collect::<Vec<_>>();
    if problems.is_empty() { Ok(()) } else { Err(ConfigError { problems }) }
}

/// What a configuration amounts to, in words fit for output.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    ok: bool,
    file: Option<String>,
    name: &'a str,
    mode: Mode,
    transport: Option<Transport>,
    host: &'a str,
    port: u16,
    profile: Profile,
    upstreams: Vec<UpstreamSummary>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct UpstreamSummary {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    enabled: bool,
    target: String,
}

impl<'a> Summary<'a> {
    fn of(loaded: &'a Loaded) -> Self {
        let config = &loaded.config;
        let transport = config.transport.unwrap_or(Transport::Http);
        Self {
            ok: true,
            file: loaded.file.as_ref().map(|file| file.display().to_string()),
            name: config.name.shown(),
            mode: config.mode,
            transport: config.transport,
            host: config.host.shown(),
            port: config.port(transport),
            profile: config.profile(transport),
            upstreams: upstreams(config),
            notes: &loaded.notes,
        }
    }

    fn headline(&self) -> String {
        let file = self.file.as_deref().unwrap_or("no file");
        let count = self.upstreams.len();
        let plural = if count == 1 { "" } else { "s" };
        format!(
            "{file}: good; {} mode, {} profile, {count} upstream{plural}",
            self.mode, self.profile
        )
    }
}

fn upstreams(config: &Config) -> Vec<UpstreamSummary> {
    let summary = |(name, upstream): (&UpstreamName, &Upstream)| UpstreamSummary {
        name: name.as_str().to_owned(),
        kind: upstream.target.kind(),
        enabled: upstream.enabled,
        target: upstream.target.shown(),
    };
    config.upstreams.iter().map(summary).collect()
}
