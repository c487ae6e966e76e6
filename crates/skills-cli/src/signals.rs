//! Signals that interrupt the command.
#![cfg_attr(
    unix,
    expect(
        clippy::disallowed_methods,
        reason = "the status file of the kernel is not a file of a skill"
    )
)]

use std::io;
use std::time::Duration;

use skills_runtime::{CancellationToken, StopSignal};

use crate::async_runtime;
use crate::run_exit::RunExit;
use crate::terminal::end_program_modes;

/// Runs a future on this thread until it completes or a signal arrives. Returns the signal as the
/// inner error.
pub(crate) fn run_until_interrupt<F: Future>(
    future: F,
) -> io::Result<Result<F::Output, StopSignal>> {
    // One run needs one thread; blocking work has threads of its own.
    let executor = async_runtime::build_current_thread()?;
    let output = executor.block_on(async {
        let _children = handle_child_signals();
        let mut interrupts = Interrupts::listen();
        tokio::select! {
            output = future => Ok(output),
            // Dropping the future kills its processes and removes its temporary files.
            signal = interrupts.next() => Err(signal),
        }
    });
    // Work on blocking threads, such as a compilation, is not awaited.
    executor.shutdown_background();
    Ok(output)
}

/// How long a cancelled future may take after its grace until it is dropped. Killing a tree of
/// processes takes much less.
const MAX_CANCEL_TIME: Duration = Duration::from_secs(5);
/// How long a future may take after a second signal, which wants it to end now.
const MAX_KILL_TIME: Duration = Duration::from_secs(1);

/// The result of a future that signals cancel.
pub(crate) struct Cancellable<T> {
    /// `None` if the future was dropped.
    pub(crate) output: Option<T>,
    /// The first signal that arrived.
    pub(crate) signal: Option<StopSignal>,
}

/// Runs a future on this thread until it completes. A signal cancels the token with this grace, so
/// that programs get the same signal and the future ends with what it has so far. A second one ends
/// the grace. The future is dropped after a third one, a second after the second one, and six
/// seconds after the grace.
pub(crate) fn run_until_cancelled<F: Future>(
    cancellation: &CancellationToken,
    grace: Duration,
    future: F,
) -> io::Result<Cancellable<F::Output>> {
    let executor = async_runtime::build_current_thread()?;
    let result = executor.block_on(async {
        let _children = handle_child_signals();
        let mut interrupts = Interrupts::listen();
        let mut future = std::pin::pin!(future);
        let signal = tokio::select! {
            biased;
            signal = interrupts.next() => signal,
            output = &mut future => return Cancellable {
                output: Some(output),
                signal: None,
            },
        };
        cancellation.cancel_with(signal, grace);
        let mut output = tokio::select! {
            output = &mut future => Some(output),
            _ = interrupts.next() => None,
            () = tokio::time::sleep(grace + MAX_CANCEL_TIME) => None,
        };
        if output.is_none() {
            cancellation.cancel();
            output = tokio::select! {
                output = future => Some(output),
                _ = interrupts.next() => None,
                () = tokio::time::sleep(MAX_KILL_TIME) => None,
            };
        }
        Cancellable {
            output,
            signal: Some(signal),
        }
    });
    executor.shutdown_background();
    // A dropped future left them.
    end_program_modes();
    if let Some(signal) = result.signal {
        exit_at_next_interrupt(RunExit::Interrupted(signal));
    }
    Ok(result)
}

/// Ends the process at a further signal, also while it writes to a pipe that is not read: the
/// handlers stay installed after a future has ended.
fn exit_at_next_interrupt(exit: RunExit) {
    let wait = move || {
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        if let Ok(executor) = executor {
            executor.block_on(wait_for_interrupt());
            end_program_modes();
            std::process::exit(i32::from(exit.code()));
        }
    };
    // Without a thread a further signal does nothing; the command ends by itself.
    let _ = skills_threads::spawn("skills-interrupt", wait);
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
pub(crate) async fn wait_for_interrupt() {
    Interrupts::listen().next().await;
}

/// The signals that interrupt the command, from its creation on.
#[cfg(unix)]
struct Interrupts {
    signals: [Option<tokio::signal::unix::Signal>; 3],
}

#[cfg(unix)]
impl Interrupts {
    /// Installs the handlers. Must be called inside a Tokio runtime.
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        // Read before the first handler is installed: handlers hide which signals were ignored.
        let ignored = ignored_signals();
        let listen = |kind: SignalKind| {
            // Bit 0 of the mask is signal 1.
            let is_ignored = ignored & (1 << (kind.as_raw_value() - 1)) != 0;
            // Without a handler, the signal has its default effect.
            (!is_ignored).then(|| signal(kind).ok()).flatten()
        };
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        Self {
            signals: kinds.map(listen),
        }
    }

    /// Waits for the next signal. Cancel safe.
    async fn next(&mut self) -> StopSignal {
        let [interrupt, terminate, hangup] = &mut self.signals;
        tokio::select! {
            () = receive(interrupt) => StopSignal::Interrupt,
            () = receive(terminate) => StopSignal::Terminate,
            () = receive(hangup) => StopSignal::Hangup,
        }
    }
}

#[cfg(unix)]
async fn receive(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Returns the mask of ignored signals, or 0 if the kernel does not report it.
#[cfg(unix)]
pub(crate) fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(not(unix))]
struct Interrupts;

#[cfg(not(unix))]
impl Interrupts {
    fn listen() -> Self {
        Self
    }

    /// Waits for the next signal. Cancel safe.
    async fn next(&mut self) -> StopSignal {
        // Without a handler the signal ends the process anyway.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        StopSignal::Interrupt
    }
}
