//! Signals that interrupt the command.
#![cfg_attr(
    unix,
    expect(
        clippy::disallowed_methods,
        reason = "the status file of the kernel is not a file of a skill"
    )
)]

/// Waits for SIGINT, SIGTERM or SIGHUP. Signals that the parent process set to be ignored stay
/// ignored, as with `nohup`.
#[cfg(unix)]
pub(crate) async fn wait_for_interrupt() {
    use tokio::signal::unix::{SignalKind, signal};
    let ignored = ignored_signals();
    let wait = async |kind: SignalKind| {
        let is_ignored = ignored & (1 << (kind.as_raw_value() - 1)) != 0;
        match signal(kind) {
            Ok(mut signal) if !is_ignored => drop(signal.recv().await),
            // Without a handler, the signal has its default effect.
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}

/// Returns the mask of ignored signals, or 0 if the kernel does not report it.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(not(unix))]
pub(crate) async fn wait_for_interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
