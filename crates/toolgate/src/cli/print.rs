//! Output: tables, JSON and lines on standard output, notes and errors on standard error. On a
//! terminal it is made for eyes, else for the next program. A reader that went away ends the
//! command quietly.

use std::io::{self, IsTerminal as _, Write as _};

use model::shown;
use serde::Serialize;

use super::error::CliError;
use super::exit::Exit;

/// Where a command's answer goes, and in which form.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    json: bool,
    quiet: bool,
    look: Look,
}

/// What standard output is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Program,
    Terminal,
    ColorTerminal,
}

impl Out {
    pub fn new(json: bool, quiet: bool) -> Self {
        let look = match (io::stdout().is_terminal(), color_wanted()) {
            (false, _) => Look::Program,
            (true, false) => Look::Terminal,
            (true, true) => Look::ColorTerminal,
        };
        Self { json, quiet, look }
    }

    /// The answer must be JSON.
    pub const fn is_json(self) -> bool {
        self.json
    }

    /// A person is looking.
    pub fn is_terminal(self) -> bool {
        self.look != Look::Program
    }

    /// One JSON value: spread out for eyes, one line for programs.
    pub fn json(self, value: &impl Serialize) -> Result<(), CliError> {
        let text = if self.is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        let text = text.map_err(|error| CliError::new(Exit::Failure, error.to_string()))?;
        stdout(&format!("{}\n", shown::json(&text)))
    }

    /// Rows of cells: aligned under a header for eyes, separated by tabs and bare for programs.
    pub fn table(self, header: &[&str], rows: &[Vec<String>]) -> Result<(), CliError> {
        let text = match self.look {
            Look::Program => tab_separated(rows),
            Look::Terminal => aligned(header, rows, false),
            Look::ColorTerminal => aligned(header, rows, true),
        };
        stdout(&text)
    }

    pub fn line(self, text: &str) -> Result<(), CliError> {
        stdout(&format!("{}\n", plain(text)))
    }

    /// Text over several lines.
    pub fn text(self, text: &str) -> Result<(), CliError> {
        text.lines().try_for_each(|line| self.line(line))
    }

    /// Something worth knowing that is not the answer. Silent with `-q` and `--json`.
    pub fn note(self, text: &str) {
        if !self.quiet && !self.json {
            stderr(&labelled("note", text));
        }
    }
}

/// Text without what could steer a terminal or mislead the eye: control characters become spaces,
/// and whatever else cannot be seen is spelt out.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() => plain.push(' '),
            c if shown::is_hidden(c) => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
    }
    plain
}

pub(super) fn stdout(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Nobody can be told if this fails, so nobody is.
pub(super) fn stderr(text: &str) {
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

/// One message for standard error: `label: text`, with the label in colour on a terminal.
pub(super) fn labelled(label: &str, text: &str) -> String {
    let color = match label {
        "error" => "31",
        "hint" => "36",
        _ => "33",
    };
    if io::stderr().is_terminal() && color_wanted() {
        format!("\x1b[1;{color}m{label}:\x1b[0m {text}\n")
    } else {
        format!("{label}: {text}\n")
    }
}

pub(super) fn color_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn tab_separated(rows: &[Vec<String>]) -> String {
    let row = |cells: &Vec<String>| {
        cells.iter().map(|cell| plain(cell)).collect::<Vec<_>>().join("\t") + "\n"
    };
    rows.iter().map(row).collect()
}

fn aligned(header: &[&str], rows: &[Vec<String>], color: bool) -> String {
    let header = header.iter().map(|cell| cell.to_uppercase()).collect::<Vec<_>>();
    let rows = rows.iter().map(|cells| cells.iter().map(|cell| plain(cell)).collect());
    let rows = rows.collect::<Vec<Vec<String>>>();
    let width = |column: usize| {
        let cells = std::iter::once(&header).chain(&rows).filter_map(|cells| cells.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths = (0..header.len()).map(width).collect::<Vec<_>>();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let head = line(&header);
    let head = if color { format!("\x1b[1m{head}\x1b[0m") } else { head };
    std::iter::once(head).chain(rows.iter().map(line)).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        vec![row(["github", "http"]), row(["a\tb\x1b[2J", "stdio"])]
    }

    #[test]
    fn a_person_gets_columns() {
        let expected = "NAME     TYPE\ngithub   http\na b [2J  stdio\n";
        assert_eq!(aligned(&["name", "type"], &rows(), false), expected);
        let colored = aligned(&["name", "type"], &rows(), true);
        assert!(colored.starts_with("\x1b[1mNAME"), "{colored}");
    }

    #[test]
    fn a_program_gets_tabs_and_no_control_characters() {
        assert_eq!(tab_separated(&rows()), "github\thttp\na b [2J\tstdio\n");
        assert_eq!(tab_separated(&[]), "");
    }
}
