//! Signals that end the command.
#![cfg_attr(
    unix,
    expect(
        clippy::disallowed_methods,
        reason = "the kernel's word on ignored signals is no file of a skill"
    )
)]

/// Waits until somebody wants the command to end: from the keyboard, by `kill`, or by closing the
/// terminal. A signal that the command was started to ignore, as `nohup` does it, stays ignored.
#[cfg(unix)]
pub(crate) async fn wait_for_interrupt() {
    use tokio::signal::unix::{SignalKind, signal};
    let ignored = ignored_signals();
    let wait = async |kind: SignalKind| {
        let is_ignored = ignored & (1 << (kind.as_raw_value() - 1)) != 0;
        match signal(kind) {
            Ok(mut signal) if !is_ignored => drop(signal.recv().await),
            // Without the handler the signal ends the command as it would any other.
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}

/// Reads which signals are ignored, one bit each; none where the kernel does not say.
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
