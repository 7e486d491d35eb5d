//! The real binary as a child: started with a wish for its end, and never outliving us.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use store::failpoint::RECONNECTING;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::ending::Ending;

#[derive(Debug)]
pub(super) struct Gate {
    child: Child,
    pub(super) address: String,
    /// Where it says that it has passed the place it was told of.
    passed: PathBuf,
}

const START_PATIENCE: Duration = Duration::from_mins(1);
/// How long a gate under load may take until it comes by a place.
const PASS_PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

impl Gate {
    pub(super) async fn start(
        toolgate: &Path,
        config: &Path,
        data: &Path,
        ending: &Ending,
    ) -> Result<Self, String> {
        let mut command = command(toolgate, ending);
        let passed = data.with_extension("passed");
        drop(std::fs::remove_file(&passed));
        command.env("TOOLGATE_PASSED", &passed);
        command.args(["up", "--json", "--port", "0", "--log", "error"]);
        command.arg("--config").arg(config).arg("--data").arg(data);
        match ending {
            Ending::At(place, count) => {
                command.env("TOOLGATE_CRASH_AT", format!("{place}:{count}"))
            }
            Ending::Failing(place, count) => {
                // Every other time nobody can be asked whether it was written.
                let alone = if count.is_multiple_of(2) { "" } else { RECONNECTING };
                command.env("TOOLGATE_FAIL_AT", format!("{place}:{count},{alone}"))
            }
            Ending::Killed(_) | Ending::Cramped(_) => &mut command,
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().map_err(|error| error.to_string())?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(START_PATIENCE, lines.next_line()).await;
        let Ok(Ok(Some(line))) = line else {
            return Ok(Self { child, address: String::new(), passed });
        };
        let told: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        let url = told["url"].as_str().ok_or("it does not say where it listens")?;
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        Ok(Self { child, address, passed })
    }

    /// Waits until it has come by the place of this ending, where it has one.
    pub(super) async fn has_passed(&self, ending: &Ending) -> Result<(), String> {
        let Some(place) = ending.place() else { return Ok(()) };
        let passing = tokio::time::timeout(PASS_PATIENCE, async {
            while !self.passed.exists() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        });
        passing.await.map_err(|_late| format!("the gate never came by `{place}`"))
    }

    /// SIGKILL, and wait until it is gone.
    pub(super) async fn kill(mut self) -> Result<(), String> {
        self.child.kill().await.map_err(|error| error.to_string())
    }

    /// Whether it has ended by itself.
    pub(super) fn is_dead(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Lets files grow again.
    pub(super) async fn more_room(&self) -> Result<(), String> {
        let pid = self.child.id().ok_or("it has ended")?.to_string();
        let status = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited:"]).status();
        let status = status.await.map_err(|error| format!("prlimit: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("prlimit: {status}")) }
    }
}

/// A limit on file size is set by a shell, with its signal ignored, so that writes fail instead.
fn command(toolgate: &Path, ending: &Ending) -> Command {
    let Ending::Cramped(blocks) = ending else { return Command::new(toolgate) };
    let mut command = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
    command.arg("-c").arg(script).arg(toolgate);
    command
}
