//! What a benchmark does when it is asked to end: give up, so that its servers are dropped.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Outcome;

/// Runs the work to its end, or until a signal. If a signal wins, the work is lost.
pub(crate) async fn or_stop<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = work => done,
        () = signals.any() => Err("stopped by a signal".into()),
    }
}

/// The signals that ask a process to end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
