//! The window of the user's terminal, and signals about it.

use std::os::fd::OwnedFd;
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::tcgetwinsize;
use skills_runtime::{ProgramTerminal, TerminalSize};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::modes::{end_program_modes, resume_program_modes, suspend_program_modes};
use crate::signals::ignored_signals;

/// The exit code of a command that `SIGQUIT` ended.
const QUIT_CODE: i32 = 128 + 3;

/// Returns the size of a terminal; `None` if it has none, such as a serial line.
pub(crate) fn window_size(terminal: &OwnedFd) -> Option<TerminalSize> {
    let size = tcgetwinsize(terminal).ok()?;
    let is_known = size.ws_row > 0 && size.ws_col > 0;
    is_known.then_some(TerminalSize {
        rows: size.ws_row,
        columns: size.ws_col,
    })
}

/// Gives a program's terminal the size of the user's, and restores the modes of the user while the
/// command is stopped, from the return of this function on. Has an effect once per process.
pub(crate) fn follow_window(terminal: OwnedFd, of_program: ProgramTerminal) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // The handlers stay: without a program the command does what it would do without them.
        let (are_installed, installed) = channel();
        let follow = move || {
            let executor = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            if let Ok(executor) = executor {
                executor.block_on(handle_signals(&terminal, &of_program, are_installed));
            }
        };
        // Without a thread the size stays.
        if skills_threads::spawn("skills-window", follow).is_ok() {
            let _ = installed.recv();
        }
    });
}

async fn handle_signals(
    terminal: &OwnedFd,
    of_program: &ProgramTerminal,
    are_installed: Sender<()>,
) {
    // Bit 0 of the mask is signal 1.
    let ignores_stop = ignored_signals() & (1 << (Signal::TSTP.as_raw() - 1)) != 0;
    let mut resized = listen(SignalKind::window_change());
    let mut continued = listen(SignalKind::from_raw(Signal::CONT.as_raw()));
    let mut quit = listen(SignalKind::quit());
    let mut stopped = (!ignores_stop)
        .then(|| listen(SignalKind::from_raw(Signal::TSTP.as_raw())))
        .flatten();
    drop(are_installed);
    // It may have changed before the handlers were installed.
    resize(terminal, of_program);
    loop {
        tokio::select! {
            () = receive(&mut resized) => resize(terminal, of_program),
            () = receive(&mut stopped) => {
                suspend_program_modes();
                // Only this process: the shell sent the signal to the others. This thread may go on
                // for a moment, so the modes are set again after `SIGCONT`.
                let _ = kill_process(getpid(), Signal::STOP);
            }
            () = receive(&mut continued) => {
                resume_program_modes();
                resize(terminal, of_program);
            }
            () = receive(&mut quit) => {
                end_program_modes();
                std::process::exit(QUIT_CODE);
            }
        }
    }
}

fn resize(terminal: &OwnedFd, of_program: &ProgramTerminal) {
    if let Some(size) = window_size(terminal)
        && size != of_program.size()
    {
        of_program.resize(size);
    }
}

fn listen(kind: SignalKind) -> Option<Signals> {
    signal(kind).ok()
}

async fn receive(signals: &mut Option<Signals>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}
