//! The modes of the user's terminal while a program with a terminal of its own runs.
//!
//! The terminal of the program echoes, edits lines and ends them, so that of the user must not do
//! so again. `Ctrl-C` and `Ctrl-Z` stay signals to this command.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::Duration;

use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcgetpgrp, tcsetattr,
};

use super::lock::TerminalLock;

/// The modes of the user's terminal.
#[derive(Clone)]
pub(crate) struct UserModes(Termios);

impl UserModes {
    /// Returns the modes of a terminal; `None` if it has none, or while another command uses it:
    /// they may be those for its program, or those that a shell sets while this command is in the
    /// background.
    pub(crate) fn of(terminal: &OwnedFd) -> Option<Self> {
        Self::with_lock(terminal).map(|(modes, _)| modes)
    }

    /// Returns the modes, which no other command changes while the lock is held.
    fn with_lock(terminal: &OwnedFd) -> Option<(Self, TerminalLock)> {
        if !is_in_foreground(terminal) {
            return None;
        }
        let lock = TerminalLock::try_acquire(terminal).ok()??;
        let modes = tcgetattr(terminal).ok()?;
        Some((Self(modes), lock))
    }

    /// Sets them for a terminal: that of a program echoes and edits lines as the user wants.
    pub(crate) fn set_for(&self, terminal: impl AsFd) {
        // Otherwise it keeps the default modes.
        let _ = tcsetattr(terminal, OptionalActions::Now, &self.0);
    }
}

/// Which modes a program changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModeChanges {
    /// Whether the program gets the keys.
    pub(crate) keys: bool,
    /// Whether the program's output is printed on the terminal.
    pub(crate) output: bool,
}

/// A terminal with modes for a program.
struct Changed {
    terminal: OwnedFd,
    changes: ModeChanges,
    /// The modes to restore, while those for the program are set. Another command that saved modes
    /// meanwhile would save and restore those for the program.
    of_user: Option<(UserModes, TerminalLock)>,
}

/// The terminal of the user, while a program runs.
struct ProgramModes {
    changed: Mutex<Option<Changed>>,
    /// Whether no more programs start.
    is_ended: AtomicBool,
}

/// Of the whole process, so that the modes are restored however it ends.
static MODES: ProgramModes = ProgramModes::new();

/// How often the modes are tried to be restored while another thread changes them, and the pause
/// between two attempts. A panic can come while this thread does.
const LEAVE_ATTEMPTS: u32 = 50;
const LEAVE_PAUSE: Duration = Duration::from_millis(2);

/// Sets the modes for a program, unless they are set, the command is in the background, or another
/// command uses the terminal: it belongs to another program then.
pub(crate) fn enter_program_modes(terminal: OwnedFd, changes: ModeChanges) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            leave_program_modes();
            report(info);
        }));
    });
    MODES.enter(terminal, changes);
}

/// Restores the modes of the user.
pub(crate) fn leave_program_modes() {
    MODES.leave();
}

/// Restores the modes of the user, and keeps them for the rest of the process.
pub(crate) fn end_program_modes() {
    MODES.end();
}

/// Restores the modes of the user until [`resume_program_modes`] is called.
pub(crate) fn suspend_program_modes() {
    if let Some(changed) = &mut *MODES.lock() {
        changed.restore();
    }
}

/// Sets the modes for a program again, if the command is in the foreground and no other one uses
/// the terminal.
pub(super) fn resume_program_modes() {
    MODES.resume();
}

/// Returns false while the keys of the terminal belong to another command.
pub(super) fn has_keys() -> bool {
    MODES.has_keys()
}

/// Returns true unless a shell runs the command in the background.
pub(crate) fn is_in_foreground(terminal: impl AsFd) -> bool {
    // A terminal that does not control this process has no such group.
    tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
}

impl ProgramModes {
    const fn new() -> Self {
        Self {
            changed: Mutex::new(None),
            is_ended: AtomicBool::new(false),
        }
    }

    fn enter(&self, terminal: OwnedFd, changes: ModeChanges) {
        self.lock().get_or_insert(Changed {
            terminal,
            changes,
            of_user: None,
        });
        self.resume();
    }

    fn resume(&self) {
        let mut changed = self.lock();
        if let Some(changed) = &mut *changed {
            changed.apply();
        }
        // Read last: the end may have waited for this thread in vain.
        if self.is_ended.load(Ordering::SeqCst)
            && let Some(mut changed) = changed.take()
        {
            changed.restore();
        }
    }

    fn leave(&self) {
        let changed = self.lock_to_leave().and_then(|mut changed| changed.take());
        if let Some(mut changed) = changed {
            changed.restore();
        }
    }

    fn end(&self) {
        self.is_ended.store(true, Ordering::SeqCst);
        self.leave();
    }

    fn has_keys(&self) -> bool {
        let changed = self.lock();
        changed
            .as_ref()
            .is_none_or(|changed| changed.of_user.is_some())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Changed>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state, unless it is in use all the time.
    fn lock_to_leave(&self) -> Option<MutexGuard<'_, Option<Changed>>> {
        for _ in 0..LEAVE_ATTEMPTS {
            match self.changed.try_lock() {
                Ok(changed) => return Some(changed),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LEAVE_PAUSE),
            }
        }
        None
    }
}

impl Changed {
    fn apply(&mut self) {
        // Another group that sets modes is stopped by the kernel.
        if !is_in_foreground(&self.terminal) {
            return;
        }
        if self.of_user.is_none() {
            self.of_user = UserModes::with_lock(&self.terminal);
        }
        if let Some((UserModes(of_user), _)) = &self.of_user {
            let of_program = program_modes(of_user.clone(), self.changes);
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &of_program);
        }
    }

    fn restore(&mut self) {
        // The lock is released after it.
        if let Some((of_user, _lock)) = self.of_user.take()
            && is_in_foreground(&self.terminal)
        {
            of_user.set_for(&self.terminal);
        }
    }
}

fn program_modes(mut modes: Termios, changes: ModeChanges) -> Termios {
    if changes.output {
        modes.output_modes -= OutputModes::OPOST;
    }
    if changes.keys {
        modes.input_modes -= InputModes::ICRNL
            | InputModes::IGNCR
            | InputModes::INLCR
            | InputModes::ISTRIP
            | InputModes::IXON
            | InputModes::IXOFF;
        modes.local_modes -=
            LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::IEXTEN;
        // This command would end without restoring the modes. The program gets the key, and its
        // terminal sends it the signal.
        modes.special_codes[SpecialCodeIndex::VQUIT] = 0;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    }
    modes
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    const CHANGES: ModeChanges = ModeChanges {
        keys: true,
        output: true,
    };

    /// Returns the terminal of a user, and the side that keeps it open.
    fn terminal() -> (OwnedFd, OwnedFd) {
        let pty = nix::pty::openpty(None, None).unwrap();
        (pty.slave, pty.master)
    }

    fn has_echo(terminal: &OwnedFd) -> bool {
        let modes = tcgetattr(terminal).unwrap();
        modes.local_modes.contains(LocalModes::ECHO)
    }

    /// In the order in which the second one would restore the modes of the first one.
    #[test]
    fn two_runs_on_one_terminal_leave_the_modes_of_the_user() {
        let (terminal, _user) = terminal();
        let copy = || terminal.try_clone().unwrap();
        let (first, second) = (ProgramModes::new(), ProgramModes::new());
        first.enter(copy(), CHANGES);
        second.enter(copy(), CHANGES);
        assert!(!has_echo(&terminal) && first.has_keys() && !second.has_keys());
        assert!(UserModes::of(&terminal).is_none());
        first.leave();
        assert!(has_echo(&terminal));
        second.resume();
        assert!(!has_echo(&terminal) && second.has_keys());
        second.leave();
        assert!(has_echo(&terminal));
    }

    #[test]
    fn modes_are_restored_while_another_thread_uses_them_or_after_its_panic() {
        let (terminal, _user) = terminal();
        let modes = ProgramModes::new();
        let (locked, is_locked) = std::sync::mpsc::channel();
        modes.enter(terminal.try_clone().unwrap(), CHANGES);
        std::thread::scope(|scope| {
            let user = std::thread::Builder::new().spawn_scoped(scope, || {
                let _changed = modes.lock();
                locked.send(()).unwrap();
                std::thread::sleep(LEAVE_PAUSE * 5);
            });
            is_locked.recv().unwrap();
            modes.leave();
            user.unwrap().join().unwrap();
        });
        assert!(has_echo(&terminal));

        modes.enter(terminal.try_clone().unwrap(), CHANGES);
        assert!(!has_echo(&terminal));
        std::thread::scope(|scope| {
            let user = std::thread::Builder::new().spawn_scoped(scope, || {
                let _changed = modes.lock();
                panic!("a defect");
            });
            assert!(user.unwrap().join().is_err());
        });
        modes.leave();
        assert!(has_echo(&terminal));
    }

    #[test]
    fn a_program_that_starts_after_the_end_changes_no_modes() {
        let (terminal, _user) = terminal();
        let modes = ProgramModes::new();
        modes.end();
        modes.enter(terminal.try_clone().unwrap(), CHANGES);
        modes.resume();
        assert!(has_echo(&terminal));
    }
}
