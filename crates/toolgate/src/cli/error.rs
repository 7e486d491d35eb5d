//! The one error of the command line: what went wrong, what to do about it, and the exit code.

use std::io;

use model::Fault;
use serde::Serialize;
use serde_json::{Value, json};

use super::exit::Exit;
use super::print;
use crate::config::{ConfigError, Problem};

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    pub exit: Exit,
    pub message: String,
    pub hint: Option<String>,
    /// What is wrong with the configuration, line by line; empty for every other error.
    pub problems: Vec<Problem>,
}

impl CliError {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, problems: Vec::new() }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Ends the command without another word.
    pub(super) fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Tells the person at the terminal, or the program with `--json`.
    pub(super) fn report(&self, json: bool) {
        if self.message.is_empty() {
            return;
        }
        let text = if json { format!("{}\n", self.to_json()) } else { self.to_text() };
        print::stderr(&text);
    }

    fn to_text(&self) -> String {
        let errors = self.message.lines().filter(|_| !self.problems.is_empty());
        let mut lines = errors.map(|line| print::labelled("error", line)).collect::<Vec<_>>();
        if lines.is_empty() {
            lines.push(print::labelled("error", &self.message));
        }
        lines.extend(self.hint.as_ref().map(|hint| print::labelled("hint", hint)));
        lines.concat()
    }

    fn to_json(&self) -> Value {
        let told = Told {
            code: self.exit.as_str(),
            exit: self.exit.code(),
            message: &self.message,
            hint: self.hint.as_deref(),
            problems: &self.problems,
        };
        json!({"error": told})
    }
}

/// An error as programs read it.
#[derive(Serialize)]
struct Told<'a> {
    code: &'static str,
    exit: u8,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    problems: &'a [Problem],
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self { problems: error.problems.clone(), ..Self::new(Exit::Config, error.to_string()) }
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        let detail = fault.log.map(|log| format!(" ({log})")).unwrap_or_default();
        Self::new(Exit::Failure, format!("{}{detail}", fault.message))
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The reader of our output went away: nobody is left to tell.
            io::ErrorKind::BrokenPipe => Self::silent(Exit::Ok),
            _ => Self::new(Exit::Failure, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_for_people_and_for_programs() {
        let error = CliError::new(Exit::Busy, "port 8642 is in use").hint("pass --port 0");
        assert_eq!(error.to_text(), "error: port 8642 is in use\nhint: pass --port 0\n");
        let expected = json!({"error": {
            "code": "busy", "exit": 5, "message": "port 8642 is in use", "hint": "pass --port 0",
        }});
        assert_eq!(error.to_json(), expected);
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let error = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((error.exit, error.message.as_str()), (Exit::Ok, ""));
    }
}
