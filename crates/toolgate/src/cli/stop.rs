//! Signals, and how people started us.

use tokio_util::sync::CancellationToken;

/// Cancelled by Ctrl-C or a request to terminate. A second one ends the process at once.
pub(super) fn on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        signal().await;
        told.cancel();
        signal().await;
        tracing::warn!("second signal: ending at once");
        end_now();
    });
    stop
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
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return ctrl_c().await;
    };
    tokio::select! {
        () = ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    ctrl_c().await;
}

async fn ctrl_c() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!(%error, "cannot listen for Ctrl-C");
        std::future::pending::<()>().await;
    }
}
