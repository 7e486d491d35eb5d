//! The targets of a run: one echo, and before it everything that is compared.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::process::Command;

use crate::Outcome;
use crate::child::{self, Child};
use crate::toolgate;

/// What is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The upstream itself: the floor.
    Echo,
    /// Bytes forwarded and nothing else: the limit for an intermediary.
    Proxy,
    /// A manifest declares the tool as a read: its closing record is durable.
    ToolgateRead,
    /// The same, with `records.reads: skip`: what the record costs.
    ToolgateUnrecorded,
    /// Nothing is declared, so a write is assumed: its opening record is durable as well.
    ToolgateWrite,
}

/// One process under load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
}

/// The processes of a run and the folder their files are in.
#[derive(Debug)]
pub(crate) struct Fleet {
    children: Vec<Child>,
    folder: TempDir,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [
        Self::Echo,
        Self::Proxy,
        Self::ToolgateRead,
        Self::ToolgateUnrecorded,
        Self::ToolgateWrite,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Proxy => "proxy",
            Self::ToolgateRead => "toolgate-read",
            Self::ToolgateUnrecorded => "toolgate-unrecorded",
            Self::ToolgateWrite => "toolgate-write",
        }
    }

    pub(crate) const fn is_toolgate(self) -> bool {
        matches!(self, Self::ToolgateRead | Self::ToolgateUnrecorded | Self::ToolgateWrite)
    }
}

impl Fleet {
    /// An empty fleet. Its files lie below `parent` and go with it.
    pub(crate) fn new(parent: &Path) -> Outcome<Self> {
        let folder = tempfile::Builder::new().prefix("run-").tempdir_in(parent)?;
        Ok(Self { children: Vec::new(), folder })
    }

    /// Starts the targets, and the echo behind them in any case.
    pub(crate) async fn start(
        &mut self,
        kinds: &[Kind],
        toolgate: Option<PathBuf>,
    ) -> Outcome<Vec<Target>> {
        let mut targets = vec![self.launch(Kind::Echo, role(&["echo"])?).await?];
        let echo = targets.first().map(|echo| echo.address).ok_or("no echo was started")?;
        for kind in kinds.iter().copied().filter(|kind| *kind != Kind::Echo) {
            let command = match &toolgate {
                Some(binary) if kind.is_toolgate() => {
                    toolgate::command(binary, kind, echo, self.folder.path())?
                }
                _ => role(&["proxy", &echo.to_string()])?,
            };
            targets.push(self.launch(kind, command).await?);
        }
        targets.retain(|target| kinds.contains(&target.kind));
        Ok(targets)
    }

    /// Ends every process and removes their files.
    pub(crate) async fn stop(self) -> Outcome<()> {
        for child in self.children {
            child.stop().await?;
        }
        Ok(self.folder.close()?)
    }

    async fn launch(&mut self, kind: Kind, command: Command) -> Outcome<Target> {
        let child = child::start(command, kind.name(), self.folder.path()).await?;
        let target = Target { kind, address: child.address, pid: child.pid };
        self.children.push(child);
        Ok(target)
    }
}

/// This very program in another role.
fn role(arguments: &[&str]) -> Outcome<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("role").args(arguments);
    Ok(command)
}
