//! The binary as a running process: started, waited for, signalled, ended. Nothing here sleeps.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::{Ran, run, toolgate};

/// No test waits longer than this for anything. Reaching it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with a configuration and the data of the gates started in it.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// A second process on the same data, run to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let data = self.data();
        run(toolgate(self.path()).args(arguments).arg("--data").arg(data))
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let Ran { code, stdout, stderr } = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(code, 0, "{stderr}");
        serde_json::from_str(&stdout).unwrap()
    }

    /// The status of the newest record, as another process reads it.
    pub(crate) fn last_status(&self) -> Option<String> {
        let records = self.json(&["records", "list", "--limit", "1"]);
        Some(records.get(0)?.get("status")?.as_str()?.to_owned())
    }

    pub(crate) fn stderr(&self) -> String {
        std::fs::read_to_string(self.path().join("stderr.log")).unwrap()
    }

    /// The binary, piped, with its log in a file of this folder.
    pub(crate) fn start(&self, arguments: &[&str]) -> Gate {
        let mut command = Command::from(toolgate(self.path()));
        let log = File::create(self.path().join("stderr.log")).unwrap();
        command.args(arguments).arg("--data").arg(self.data()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        Gate { child: command.spawn().unwrap() }
    }

    /// A gate that listens, and where it says it does.
    pub(crate) async fn listen(&self, arguments: &[&str]) -> (Gate, Value) {
        let mut gate = self.start(&[arguments, &["--json"]].concat());
        let mut line = String::new();
        let mut stdout = BufReader::new(gate.stdout());
        let read = tokio::time::timeout(PATIENCE, stdout.read_line(&mut line)).await.unwrap();
        assert!(read.unwrap() > 0, "the gate ended: {}", self.stderr());
        (gate, serde_json::from_str(&line).unwrap())
    }
}

pub(crate) struct Gate {
    child: Child,
}

impl Gate {
    pub(crate) fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    pub(crate) fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    pub(crate) fn interrupt(&self) {
        let pid = self.child.id().unwrap().to_string();
        let sent = std::process::Command::new("sh").args(["-c", "kill -INT \"$0\"", &pid]).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    pub(crate) async fn end(mut self) -> ExitStatus {
        tokio::time::timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
    }
}
