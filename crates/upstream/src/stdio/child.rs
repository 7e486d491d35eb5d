//! One child process and the pipe to it. Dropping it ends the process.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Code, Fault};
use protocol::frame::{Line, Lines};
use protocol::peer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::Config;
use crate::connector::Bell;
use crate::errand::Errand;
use crate::limits;
use crate::mcp::Reply;
use crate::mcp::talk::{self, Heard};
use crate::multiplex::Pending;

/// What a child may know of our environment without being told.
const PASSED_ON: &[&str] =
    &["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

#[derive(Debug)]
pub(super) struct Child {
    pending: Arc<Pending>,
    outbox: mpsc::Sender<Vec<u8>>,
    alive: Arc<AtomicBool>,
    process: Mutex<Option<tokio::process::Child>>,
    writing: AbortOnDropHandle<()>,
    _listening: [AbortOnDropHandle<()>; 2],
}

impl Child {
    pub(super) fn start(config: &Config, bell: Option<Bell>) -> Result<Self, Fault> {
        let mut process = command(config).spawn().map_err(|error| {
            Fault::new(
                Code::UpstreamUnavailable,
                format!("cannot start `{}`: {error}", config.command),
            )
        })?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(Fault::internal("a child was started without pipes"));
        };
        let (outbox, inbox) = mpsc::channel(limits::OUTBOX_FRAMES);
        let pending = Arc::new(Pending::default());
        let alive = Arc::new(AtomicBool::new(true));
        let ear = Ear { pending: Arc::clone(&pending), outbox: outbox.clone(), bell };
        let reading = read(stdout, ear, Arc::clone(&alive));
        let listening = [
            AbortOnDropHandle::new(tokio::spawn(reading)),
            AbortOnDropHandle::new(tokio::spawn(log(stderr, config.command.clone()))),
        ];
        let writing = AbortOnDropHandle::new(tokio::spawn(write(stdin, inbox)));
        let process = Mutex::new(Some(process));
        Ok(Self { pending, outbox, alive, process, writing, _listening: listening })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Sends one request and waits for its answer. Losing this future cancels the request.
    pub(super) async fn ask(
        &self,
        errand: Option<&Errand>,
        frame: impl FnOnce(i64) -> Vec<u8>,
    ) -> Result<Reply, Fault> {
        let outbox = self.outbox.clone();
        let cancel = move |id| {
            // Nobody can wait here; if the queue is full the child is stuck and learns nothing anyway.
            if outbox.try_send(peer::cancelled(id, "the caller gave up")).is_err() {
                tracing::debug!(id, "a cancellation could not be delivered");
            }
        };
        let ticket = self.pending.enter(errand, cancel)?;
        // INVARIANT: `alive` falls before everybody waiting is told, so whoever comes later sees it.
        if !self.is_alive() {
            return Err(gone());
        }
        self.outbox.send(frame(ticket.id)).await.map_err(|_closed| gone())?;
        ticket.answer().await
    }

    pub(super) fn tell(&self, frame: Vec<u8>) -> Result<(), Fault> {
        self.outbox.try_send(frame).map_err(|_full_or_closed| gone())
    }

    /// Ends the process: closes its input, gives it a moment to leave, then ends its whole group.
    pub(super) async fn stop(&self) {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut process) = process else { return };
        let group = process.id();
        self.writing.abort();
        if tokio::time::timeout(limits::STOP_GRACE, process.wait()).await.is_err() {
            tracing::debug!("a child process did not leave by itself");
        }
        end_group(group);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        end_group(process.as_ref().and_then(tokio::process::Child::id));
    }
}

/// Ends what the child started, too: launchers such as `npx` leave the real server behind.
#[cfg(unix)]
fn end_group(leader: Option<u32>) {
    let leader = leader.and_then(|id| i32::try_from(id).ok());
    if let Some(group) = leader.and_then(rustix::process::Pid::from_raw)
        && let Err(error) =
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL)
    {
        tracing::trace!(%error, "no process was left in the group");
    }
}

#[cfg(not(unix))]
fn end_group(_leader: Option<u32>) {}

fn command(config: &Config) -> Command {
    let mut command = Command::new(&config.command);
    command.args(&config.args).env_clear();
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    for (name, value) in &config.env {
        command.env(name, value.reveal());
    }
    if let Some(cwd) = &config.cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command
}

/// Where what a child says goes.
struct Ear {
    pending: Arc<Pending>,
    outbox: mpsc::Sender<Vec<u8>>,
    bell: Option<Bell>,
}

async fn read(mut stdout: ChildStdout, ear: Ear, alive: Arc<AtomicBool>) {
    let mut lines = Lines::new(limits::MESSAGE_BYTES_MAX);
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
        for line in lines.push(buffer.get(..count).unwrap_or_default()) {
            match line {
                Line::Complete(line) => ear.take(&line),
                Line::TooLong => tracing::warn!("an upstream sent a message over the size limit"),
            }
        }
    }
    alive.store(false, Ordering::Release);
    ear.pending.fail_all();
}

impl Ear {
    fn take(&self, line: &[u8]) {
        let messages = match peer::read(line) {
            Ok(messages) => messages,
            // Banners and logs on standard output are common; they are not for us.
            Err(refusal) => {
                return tracing::debug!(reason = refusal.error.message, "noise on stdout");
            }
        };
        for message in messages {
            let heard = self.pending.deliver(message, self.bell.as_ref());
            if !matches!(heard, Heard::Done) {
                self.answer(heard);
            }
        }
    }

    /// Waits for the answer to a question apart, so that reading goes on.
    fn answer(&self, heard: Heard) {
        let outbox = self.outbox.clone();
        tokio::spawn(async move {
            if let Some(frame) = talk::reply(heard).await
                && outbox.send(frame).await.is_err()
            {
                tracing::debug!("an answer to an upstream's question came too late");
            }
        });
    }
}

async fn write(mut stdin: ChildStdin, mut inbox: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut frame) = inbox.recv().await {
        frame.push(b'\n');
        if stdin.write_all(&frame).await.is_err() {
            return;
        }
    }
}

async fn log(mut stderr: ChildStderr, command: String) {
    let mut lines = Lines::new(limits::STDERR_LINE_BYTES_MAX);
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        for line in lines.push(buffer.get(..count).unwrap_or_default()) {
            if let Line::Complete(line) = line {
                let text = model::fault::one_line(&String::from_utf8_lossy(&line), 400);
                tracing::debug!(upstream.command = command, "{text}");
            }
        }
    }
}

fn gone() -> Fault {
    Fault::new(Code::UpstreamUnavailable, "the upstream's process has ended")
}
