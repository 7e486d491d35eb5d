//! Signals, and how people started us.

use tokio_util::sync::CancellationToken;

/// Cancelled by Ctrl-C or a request to terminate. A second one ends the process at once.
///
/// From its return on signals are ours: whoever reads our first line may send one.
pub(super) fn on_signal() -> std::io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let told = stop.clone();
    let mut signals = Signals::listen()?;
    tokio::spawn(async move {
        signals.next().await;
        told.cancel();
        signals.next().await;
        tracing::warn!("second signal: ending at once");
        end_now();
    });
    Ok(stop)
}

/// The command line that leads to this binary again, for hints that can be pasted.
pub(super) fn own_command() -> &'static str {
    // Cargo sets this for what it runs; then the binary is usually not on the path.
    if std::env::var_os("CARGO").is_some() { "cargo run --release --" } else { "toolgate" }
}

#[expect(clippy::exit, reason = "the person asked twice; nothing may hold the process up")]
fn end_now() {
    std::process::exit(130);
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        // Both arms are cancel safe; a signal that loses is kept for the next look.
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
