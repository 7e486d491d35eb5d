//! Tries every upstream by itself, and says what came of it. Nothing is served and nothing recorded.

use std::time::{Duration, Instant};

use catalog::Tally;
use model::{Fault, UpstreamName};
use serde::Serialize;
use upstream::Offer;

use super::programs::command;
use super::{listed, manners, sources};
use crate::cli::error::CliError;
use crate::config::{Config, Target, Transport};

/// What one upstream did.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) upstream: UpstreamName,
    pub(crate) kind: &'static str,
    pub(crate) well: bool,
    /// The command that is started, word for word as the file has it, where one is.
    pub(crate) runs: Option<String>,
    /// The address that is asked, where one is.
    pub(crate) at: Option<String>,
    /// The MCP revision spoken, where one is.
    pub(crate) speaks: Option<String>,
    /// How many it lists.
    pub(crate) tools: usize,
    #[serde(flatten)]
    pub(crate) tally: Tally,
    /// Why tools are held back or left out, and what else is wrong with them.
    pub(crate) concerns: Vec<String>,
    /// Of the calls on record, the share that ended in an error of the protocol.
    pub(crate) protocol_error_ratio: Option<f64>,
    pub(crate) took_ms: u128,
    /// What is wrong with it.
    pub(crate) problem: Option<String>,
    /// The last lines of its standard error, without secrets we know of.
    pub(crate) said: Vec<String>,
}

pub(crate) async fn examine(config: &Config) -> Result<Vec<Finding>, CliError> {
    let sources = sources(config, None, config.profile(Transport::Stdio))?;
    let (upstreams, pins) = (&sources.upstreams, listed::pins(config).await?);
    let (redactor, manners) = (super::redactor(config), manners::on_record(config).await?);
    let began = Instant::now();
    let mut asking = upstreams.ask_each(upstreams.names());
    let mut findings = Vec::new();
    while let Some(done) = asking.join_next().await {
        let Ok((name, list)) = done else { continue };
        let took_ms = began.elapsed().as_millis();
        let connector = upstreams.member(&name).map(|member| &member.connector);
        let said = connector.map(|connector| connector.said()).unwrap_or_default();
        let none = Offer::default();
        let offer = list.as_ref().unwrap_or(&none);
        let own = listed::own_catalogue(config, &sources, &name, offer, &pins);
        let concern = |found: &model::Finding| redactor.redact(&found.message).into_owned();
        let manners = manners.get(name.as_str()).copied().unwrap_or_default();
        findings.push(Finding {
            tally: own.tally(),
            concerns: own.concerns().map(concern).chain(manners.concern()).collect(),
            protocol_error_ratio: manners.ratio(),
            kind: config.upstreams.get(&name).map_or("", |upstream| upstream.target.kind()),
            well: list.is_ok(),
            runs: config.upstreams.get(&name).and_then(|upstream| command(&upstream.target)),
            at: config.upstreams.get(&name).and_then(|upstream| address(&upstream.target)),
            speaks: connector.and_then(|connector| connector.speaks()),
            tools: offer.tools.len(),
            took_ms,
            problem: list.err().map(|fault: Fault| redactor.redact(&fault.message).into_owned()),
            said: said.iter().map(|line| redactor.redact(line).into_owned()).collect(),
            upstream: name,
        });
    }
    if tokio::time::timeout(Duration::from_secs(5), upstreams.close()).await.is_err() {
        tracing::warn!("an upstream did not close");
    }
    findings.sort_by(|one, other| one.upstream.cmp(&other.upstream));
    Ok(findings)
}

fn address(target: &Target) -> Option<String> {
    matches!(target, Target::Http { .. } | Target::Sse { .. }).then(|| target.shown())
}
