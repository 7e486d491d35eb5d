//! Logging: to standard error, so that standard output stays the answer (and stdio MCP's wire).

use std::io::{self, IsTerminal as _};

use gateway::Redactor;
use tracing_subscriber::EnvFilter;

use super::error::CliError;
use super::print;
use crate::config::LogLevel;

/// The variable that sets the level when `--log` does not. It also takes filters by module.
pub(super) const VARIABLE: &str = "TOOLGATE_LOG";

/// Starts logging with the first of flag, variable, file and default that says anything. Secrets
/// do not reach the log, whoever writes to it.
pub(super) fn start(
    flag: Option<LogLevel>,
    file: Option<LogLevel>,
    default: LogLevel,
    redactor: Redactor,
) -> Result<(), CliError> {
    let variable = std::env::var(VARIABLE).ok().filter(|value| !value.trim().is_empty());
    let filter = match (flag, variable) {
        (None, Some(filter)) => filter,
        (flag, _) => flag.or(file).unwrap_or(default).as_str().to_owned(),
    };
    let filter = EnvFilter::try_new(&filter).map_err(|error| {
        CliError::usage(format!("{VARIABLE} is not a log filter: {error}"))
            .hint("write a level such as `info`, or `warn,toolgate_gateway=debug`")
    })?;
    let color = io::stderr().is_terminal() && print::color_wanted();
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(color)
        .with_writer(move || Redacting { redactor: redactor.clone() })
        .try_init();
    // A library user may log in their own way already, and that way stays.
    drop(started);
    Ok(())
}

/// Standard error without secrets. Each event comes as one write.
struct Redacting {
    redactor: Redactor,
}

impl io::Write for Redacting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().lock().write_all(self.redactor.redact(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}
