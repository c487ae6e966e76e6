//! Signals that interrupt the command.
#![cfg_attr(
    unix,
    expect(
        clippy::disallowed_methods,
        reason = "the status file of the kernel is not a file of a skill"
    )
)]

use std::io;

/// Runs a future on this thread until it completes or a signal arrives. Returns `None` after a
/// signal.
pub(crate) fn run_until_interrupt<F: Future>(future: F) -> io::Result<Option<F::Output>> {
    // One run needs one thread; blocking work has threads of its own.
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let output = executor.block_on(async {
        let _children = handle_child_signals();
        tokio::select! {
            output = future => Some(output),
            // Dropping the future kills its processes and removes its temporary files.
            () = wait_for_interrupt() => None,
        }
    });
    // Work on blocking threads, such as a compilation, is not awaited.
    executor.shutdown_background();
    Ok(output)
}

/// Resets an inherited SIGCHLD ignore, so children can be reaped. Must be called inside a Tokio
/// runtime.
#[cfg(unix)]
pub(crate) fn handle_child_signals() -> Option<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child()).ok()
}

#[cfg(not(unix))]
pub(crate) fn handle_child_signals() {}

/// Waits for SIGINT, SIGTERM or SIGHUP. Signals that the parent process set to be ignored stay
/// ignored, as with `nohup`.
#[cfg(unix)]
pub(crate) async fn wait_for_interrupt() {
    use tokio::signal::unix::{SignalKind, signal};
    // Read before the first handler is installed, since a signal with a handler is no longer
    // reported as ignored.
    let ignored = ignored_signals();
    let wait = async |kind: SignalKind| {
        // Bit 0 of the mask is signal 1.
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
    // Without a handler the signal ends the process anyway.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
