//! One child process and the pipe to it. Dropping it ends the process and all it started.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use model::{Code, Fault};
use protocol::frame::{Line, Lines};
use protocol::peer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::Config;
use super::absent::cannot_start;
use super::family::{Family, MARK};
use super::noise::Noise;
use super::said::Said;
use super::usage::Usage;
use crate::connector::{Bell, Ring};
use crate::errand::Errand;
use crate::limits;
use crate::mcp::Reply;
use crate::mcp::talk::{self, Heard};
use crate::multiplex::Pending;

/// What a child may know of our environment without being told.
const PASSED_ON: &[&str] =
    &["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// The number of the question for a sign of life; no call has it.
const SIGN_OF_LIFE: i64 = 0;

#[derive(Debug)]
pub(super) struct Child {
    life: Arc<Life>,
    outbox: mpsc::Sender<Vec<u8>>,
    keeping: Mutex<Option<JoinHandle<()>>>,
    _writing: AbortOnDropHandle<()>,
    _listening: [AbortOnDropHandle<()>; 2],
}

/// What all who deal with a child share.
#[derive(Debug)]
struct Life {
    pending: Arc<Pending>,
    usage: Arc<Usage>,
    /// Calls given up since it last said anything.
    given_up: AtomicU32,
    alive: AtomicBool,
    /// It said its last word: its output has ended, or is not to be borne.
    silent: CancellationToken,
    /// All it wrote to its standard error has been read.
    complained: CancellationToken,
    /// It is to leave.
    leave: CancellationToken,
    /// Why it is gone.
    fate: OnceLock<String>,
    /// Its fate is known.
    ended: CancellationToken,
}

impl Child {
    pub(super) fn start(
        config: &Config,
        bell: Option<Bell>,
        said: &Arc<Said>,
    ) -> Result<Self, Fault> {
        let mut family = Family::new(Arc::clone(&config.guard));
        let spawned = command(config, &family.mark).spawn();
        let mut process = spawned.map_err(|error| cannot_start(config, &error))?;
        family.led_by(process.id());
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(Fault::internal("a child was started without pipes"));
        };
        let (outbox, inbox) = mpsc::channel(limits::OUTBOX_FRAMES);
        let life = Arc::new(Life {
            pending: Arc::default(),
            usage: Arc::default(),
            given_up: AtomicU32::new(0),
            alive: AtomicBool::new(true),
            silent: CancellationToken::new(),
            complained: CancellationToken::new(),
            leave: CancellationToken::new(),
            fate: OnceLock::new(),
            ended: CancellationToken::new(),
        });
        let ear = Ear {
            life: Arc::clone(&life),
            outbox: outbox.clone(),
            bell: bell.clone(),
            noise: Noise::new(),
        };
        let listening = [
            AbortOnDropHandle::new(tokio::spawn(read(stdout, ear))),
            AbortOnDropHandle::new(tokio::spawn({
                let (command, said) = (config.command.clone(), Arc::clone(said));
                let complained = life.complained.clone();
                async move {
                    log(stderr, command, said).await;
                    complained.cancel();
                }
            })),
        ];
        let writing = write(stdin, inbox, life.leave.clone());
        let writing = AbortOnDropHandle::new(tokio::spawn(writing));
        let keeper = Keeper { process, family, life: Arc::clone(&life), bell };
        let keeping = Mutex::new(Some(tokio::spawn(keeper.keep(config.idle))));
        Ok(Self { life, outbox, keeping, _writing: writing, _listening: listening })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.life.alive.load(Ordering::Acquire)
    }

    /// Counts as used from now on, until what is returned is dropped.
    pub(super) fn hold(&self) -> super::usage::InUse {
        self.life.usage.enter()
    }

    /// Sends one request and waits for its answer. Losing this future cancels the request.
    pub(super) async fn ask(
        &self,
        errand: Option<&Errand>,
        frame: impl FnOnce(i64) -> Vec<u8>,
    ) -> Result<Reply, Fault> {
        let _in_use = errand.map(|_| self.hold());
        let (outbox, life) = (self.outbox.clone(), Arc::clone(&self.life));
        let cancel = move |id| {
            life.doubt(&outbox);
            // Nobody can wait here; if the queue is full the child is stuck and learns nothing anyway.
            if outbox.try_send(peer::cancelled(id, "the caller gave up")).is_err() {
                tracing::debug!(id, "a cancellation could not be delivered");
            }
        };
        let ticket = self.life.pending.enter(errand, cancel)?;
        // INVARIANT: `alive` falls before everybody waiting is told, so whoever comes later sees it.
        if !self.is_alive() || self.outbox.send(frame(ticket.id)).await.is_err() {
            return Err(self.life.end().await);
        }
        match ticket.answer().await {
            Err(fault) if fault.code == Code::UpstreamUnavailable => Err(self.life.end().await),
            answered => answered,
        }
    }

    pub(super) fn tell(&self, frame: Vec<u8>) -> Result<(), Fault> {
        self.outbox.try_send(frame).map_err(|_full_or_closed| self.life.gone())
    }

    /// Ends the process: closes its input, gives it a moment to leave, then ends its whole family.
    pub(super) async fn stop(&self) {
        let keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.life.leave.cancel();
        if let Some(keeping) = keeping
            && let Err(error) = keeping.await
        {
            tracing::error!(%error, "keeping a child broke off");
        }
    }
}

impl Drop for Child {
    /// The keeper ends the family, and reaps.
    fn drop(&mut self) {
        self.life.silent.cancel();
    }
}

impl Life {
    /// A child that lets callers wait in vain again and again is asked for a sign of life, and ended
    /// without one. As long as somebody still waits, it may be busy with that.
    fn doubt(self: &Arc<Self>, outbox: &mpsc::Sender<Vec<u8>>) {
        let given_up = self.given_up.fetch_add(1, Ordering::AcqRel) + 1;
        if !given_up.is_multiple_of(limits::GIVEN_UP_BORNE) || self.usage.underway() > 1 {
            return;
        }
        let (life, outbox) = (Arc::clone(self), outbox.clone());
        tokio::spawn(async move {
            // Whatever it answers, it answers.
            if outbox.try_send(peer::request(SIGN_OF_LIFE, "ping", &serde_json::json!({}))).is_err()
            {
                tracing::debug!("a child does not even take a question");
            }
            tokio::time::sleep(limits::SIGN_OF_LIFE).await;
            if life.given_up.load(Ordering::Acquire) >= limits::GIVEN_UP_BORNE {
                drop(life.fate.set("it no longer answered".to_owned()));
                life.alive.store(false, Ordering::Release);
                life.silent.cancel();
            }
        });
    }

    /// The same as soon as it is known how it ended: its last pipe may close before it is reaped.
    async fn end(&self) -> Fault {
        let reaped = self.ended.cancelled();
        if tokio::time::timeout(limits::STOP_GRACE, reaped).await.is_err() {
            tracing::debug!("a child has gone silent and does not end");
        }
        // Whoever hears of its end may want to know what it complained of.
        if tokio::time::timeout(limits::LAST_WORDS, self.complained.cancelled()).await.is_err() {
            tracing::debug!("a child's standard error was held open after its end");
        }
        self.gone()
    }

    fn gone(&self) -> Fault {
        let why = self.fate.get().map_or("it left no reason", String::as_str);
        Fault::new(Code::UpstreamUnavailable, format!("the upstream's process has ended: {why}"))
    }
}

/// Owns the process from its start to its end, and sees to it that nothing of it is left.
struct Keeper {
    process: tokio::process::Child,
    family: Family,
    life: Arc<Life>,
    bell: Option<Bell>,
}

impl Keeper {
    async fn keep(mut self, idle: Option<std::time::Duration>) {
        let life = Arc::clone(&self.life);
        let (ring, grace) = tokio::select! {
            _ended = self.process.wait() => (Some(Ring::Lost), limits::LAST_WORDS),
            () = life.silent.cancelled() => (Some(Ring::Lost), limits::LAST_WORDS),
            () = life.usage.idle(idle) => (Some(Ring::Asleep), limits::STOP_GRACE),
            () = life.leave.cancelled() => (None, limits::STOP_GRACE),
        };
        life.alive.store(false, Ordering::Release);
        if ring == Some(Ring::Asleep) {
            life.leave.cancel();
        }
        let left = tokio::time::timeout(grace, self.process.wait()).await;
        self.family.end();
        let status = match left {
            Ok(status) => status,
            Err(_still_there) => self.process.wait().await,
        };
        let why = match status {
            Ok(status) => status.to_string(),
            Err(error) => format!("its end could not be waited for: {error}"),
        };
        drop(life.fate.set(why));
        life.ended.cancel();
        // What it wrote before its end is still in the pipe, and may be an answer.
        if tokio::time::timeout(limits::LAST_WORDS, life.silent.cancelled()).await.is_err() {
            tracing::debug!("a child's output was held open after its end");
        }
        life.pending.fail_all();
        if let (Some(ring), Some(bell)) = (ring, &self.bell) {
            bell.ring(ring);
        }
    }
}

fn command(config: &Config, mark: &str) -> Command {
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
    command.env(MARK, mark);
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
    life: Arc<Life>,
    outbox: mpsc::Sender<Vec<u8>>,
    bell: Option<Bell>,
    noise: Noise,
}

async fn read(mut stdout: ChildStdout, mut ear: Ear) {
    let mut lines = Lines::new(limits::MESSAGE_BYTES_MAX);
    let mut buffer = vec![0; limits::READ_BYTES];
    while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
        for line in lines.push(buffer.get(..count).unwrap_or_default()) {
            let borne = match line {
                Line::Complete(line) => ear.take(&line),
                Line::TooLong => Err(format!("a message over {} bytes", limits::MESSAGE_BYTES_MAX)),
            };
            if let Err(why) = borne {
                tracing::warn!(why, "an upstream is not to be borne");
                drop(ear.life.fate.set(why));
                ear.life.alive.store(false, Ordering::Release);
                return ear.life.silent.cancel();
            }
        }
    }
    ear.life.alive.store(false, Ordering::Release);
    ear.life.silent.cancel();
}

impl Ear {
    /// Takes a line in, unless it is one too many; then says why.
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        self.life.given_up.store(0, Ordering::Release);
        let messages = match peer::read(line) {
            Ok(messages) => messages,
            // Banners and logs on standard output are common; they are not for us.
            Err(_) if self.noise.hear(line.len()) => {
                let most = limits::NOISE_BYTES_MAX;
                return Err(format!("it printed {most} bytes and no message among them"));
            }
            Err(refusal) => {
                tracing::debug!(reason = refusal.error.message, "noise on stdout");
                return Ok(());
            }
        };
        self.noise.message();
        for message in messages {
            let heard = self.life.pending.deliver(message, self.bell.as_ref());
            if !matches!(heard, Heard::Done) {
                self.answer(heard);
            }
        }
        Ok(())
    }

    /// Waits for the answer to a question apart, so that reading goes on.
    fn answer(&self, heard: Heard) {
        let (outbox, silent) = (self.outbox.clone(), self.life.silent.clone());
        tokio::spawn(async move {
            // A child that is gone waits for no answer.
            let reply = silent.run_until_cancelled(talk::reply(heard)).await;
            if let Some(Some((frame, _place))) = reply
                && outbox.send(frame).await.is_err()
            {
                tracing::debug!("an answer to an upstream's question came too late");
            }
        });
    }
}

/// Writes until the child is to leave; its closed input tells it so.
async fn write(
    mut stdin: ChildStdin,
    mut inbox: mpsc::Receiver<Vec<u8>>,
    leave: CancellationToken,
) {
    while let Some(Some(mut frame)) = leave.run_until_cancelled(inbox.recv()).await {
        frame.push(b'\n');
        if stdin.write_all(&frame).await.is_err() {
            return;
        }
    }
}

async fn log(mut stderr: ChildStderr, command: String, said: Arc<Said>) {
    let mut lines = Lines::new(limits::STDERR_LINE_BYTES_MAX);
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        for line in lines.push(buffer.get(..count).unwrap_or_default()) {
            if let Line::Complete(line) = line {
                let text = said.hear(&line);
                tracing::debug!(upstream.command = command, "{text}");
            }
        }
    }
    if let Some(line) = lines.end() {
        said.hear(&line);
    }
}
