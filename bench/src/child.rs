//! Processes started for the benchmark: each says where it listens, and none outlives it.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{self, ChildStdout, Command};

use crate::Outcome;

/// How long a server may take until it listens.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// How long a server may take to end when it is asked to.
const STOP_PATIENCE: Duration = Duration::from_secs(20);
/// Lines of a failed server's log that are shown.
const LOG_LINES_SHOWN: usize = 20;

/// A running server. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Child {
    process: process::Child,
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
}

/// Starts a server and waits until it has said on stdout where it listens. What it writes to stderr
/// goes to `NAME.log` in the folder.
pub(crate) async fn start(mut command: Command, name: &str, folder: &Path) -> Outcome<Child> {
    let log = folder.join(format!("{name}.log"));
    command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(File::create(&log)?);
    let mut process =
        command.spawn().map_err(|error| format!("`{name}` cannot be started: {error}"))?;
    let (Some(stdout), Some(pid)) = (process.stdout.take(), process.id()) else {
        return Err(format!("`{name}` ended at once").into());
    };
    let mut lines = BufReader::new(stdout).lines();
    let address = tokio::time::timeout(START_PATIENCE, listening(&mut lines)).await;
    let Ok(Ok(Some(address))) = address else { return Err(never_listened(name, log)) };
    tokio::spawn(drain(lines));
    Ok(Child { process, address, pid })
}

impl Child {
    /// Asks it to end, so that it can keep what it counted, and waits until it is gone.
    pub(crate) async fn stop(mut self) -> Outcome<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let asked = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
        if asked && tokio::time::timeout(STOP_PATIENCE, self.process.wait()).await.is_ok() {
            return Ok(());
        }
        Ok(self.process.kill().await?)
    }
}

async fn listening(lines: &mut Lines<BufReader<ChildStdout>>) -> Outcome<Option<SocketAddr>> {
    while let Some(line) = lines.next_line().await? {
        if let Some(address) = address_in(&line) {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

/// A server that goes on talking must not be stopped by a full pipe.
async fn drain(mut lines: Lines<BufReader<ChildStdout>>) {
    while let Ok(Some(_)) = lines.next_line().await {}
}

/// The address in the first `http://` URL of a line.
fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = |char: char| !(char.is_ascii_hexdigit() || "[].:".contains(char));
    rest.split(end).next()?.parse().ok()
}

fn never_listened(name: &str, log: PathBuf) -> Box<dyn std::error::Error + Send + Sync> {
    let log = fs::read_to_string(log).unwrap_or_default();
    let lines = log.lines().collect::<Vec<_>>();
    let shown = lines.get(lines.len().saturating_sub(LOG_LINES_SHOWN)..).unwrap_or_default();
    format!("`{name}` never said where it listens; its log ends with\n{}", shown.join("\n")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_within_a_line() {
        let check = |line: &str, expected: Option<&str>| {
            let expected = expected.map(|address| address.parse().unwrap());
            assert_eq!(address_in(line), expected, "{line}");
        };
        check("http://127.0.0.1:8642/mcp", Some("127.0.0.1:8642"));
        check("listening on http://127.0.0.1:80", Some("127.0.0.1:80"));
        check("at `http://[::1]:8642/mcp`, ready", Some("[::1]:8642"));
        check("http://127.0.0.1/mcp", None);
        check("127.0.0.1:8642", None);
        check("", None);
    }
}
