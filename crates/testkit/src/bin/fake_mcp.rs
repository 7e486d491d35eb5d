//! A scripted MCP server over stdio. It greets on standard output as careless servers do, asks for
//! roots as soon as it may, and writes every note into the file that `FAKE_MCP_NOTES` names.

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};

use serde_json::Value;
use toolgate_testkit::mcp::{self, Reaction};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "fake-mcp 1.0: ready to serve")?;
    out.flush()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if let Some(answer) = mcp::verbatim(&line) {
            writeln!(out, "{answer}")?;
            out.flush()?;
            continue;
        }
        let message: Value = serde_json::from_str(&line)?;
        for reaction in mcp::react(&message) {
            match reaction {
                Reaction::Send(message) => writeln!(out, "{message}")?,
                Reaction::Note(message) => note(&message)?,
                Reaction::Silence => {}
            }
        }
        if message.get("method").is_some_and(|method| method == "notifications/initialized") {
            writeln!(out, "{}", mcp::roots_list())?;
        }
        out.flush()?;
    }
    Ok(())
}

fn note(message: &Value) -> io::Result<()> {
    let Some(path) = std::env::var_os("FAKE_MCP_NOTES") else { return Ok(()) };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{message}")
}
