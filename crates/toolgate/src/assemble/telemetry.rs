//! Who hears of calls beside the records.

use auth::Credentials;
use upstream::{Otlp, Spans};

use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::Telemetry;

/// The way to the collector, if one is configured. Nothing is contacted before the first call.
pub(super) fn spans(telemetry: &Telemetry) -> Result<Option<Spans>, CliError> {
    let Some(collector) = &telemetry.otlp else { return Ok(None) };
    let headers = collector.headers.iter().map(|(name, value)| (name.clone(), value.0.clone()));
    let bad = |why: String| CliError::new(Exit::Config, format!("`telemetry.otlp`: {why}"));
    let credentials = Credentials::from_headers(headers).map_err(|error| bad(error.to_string()))?;
    let otlp = Otlp::new(collector.url.as_str(), collector.service.as_str(), &credentials);
    Ok(Some(otlp.map_err(|fault| bad(fault.message))?.start()))
}
