//! The modes of the user's terminal while a program with a terminal of its own runs.
//!
//! The terminal of the program echoes, edits lines and ends them, so that of the user must not do so
//! again. `Ctrl-C` and `Ctrl-Z` stay signals to this command.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcgetpgrp, tcsetattr,
};

/// The modes of the user's terminal.
#[derive(Clone)]
pub(crate) struct UserModes(Termios);

impl UserModes {
    /// Returns the modes of a terminal; `None` if it has none, or those that a shell sets while the
    /// command is in the background.
    pub(crate) fn of(terminal: &OwnedFd) -> Option<Self> {
        let modes = is_in_foreground(terminal).then(|| tcgetattr(terminal).ok());
        modes.flatten().map(Self)
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
    /// The modes to restore, while those for the program are set.
    of_user: Option<UserModes>,
}

/// The terminal of the user, while a program runs. Of the whole process, so that the modes are restored
/// however it ends.
static CHANGED: Mutex<Option<Changed>> = Mutex::new(None);

/// Sets the modes for a program, unless they are set or the command is in the background: the
/// terminal belongs to another program then.
pub(crate) fn enter_program_modes(terminal: OwnedFd, changes: ModeChanges) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            leave_program_modes();
            report(info);
        }));
    });
    let mut changed = lock();
    let changed = changed.get_or_insert(Changed {
        terminal,
        changes,
        of_user: None,
    });
    changed.apply();
}

/// Restores the modes of the user.
pub(crate) fn leave_program_modes() {
    // A panic can come while the lock is held.
    let Ok(mut changed) = CHANGED.try_lock() else {
        return;
    };
    if let Some(mut changed) = changed.take() {
        changed.restore();
    }
}

/// Restores the modes of the user until [`resume_program_modes`] is called.
pub(super) fn suspend_program_modes() {
    if let Some(changed) = &mut *lock() {
        changed.restore();
    }
}

/// Sets the modes for a program again, if the command is in the foreground.
pub(super) fn resume_program_modes() {
    if let Some(changed) = &mut *lock() {
        changed.apply();
    }
}

/// Returns true unless a shell runs the command in the background.
pub(crate) fn is_in_foreground(terminal: impl AsFd) -> bool {
    // A terminal that does not control this process has no such group.
    tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
}

impl Changed {
    fn apply(&mut self) {
        if self.of_user.is_none() {
            self.of_user = UserModes::of(&self.terminal);
        }
        // Another group that sets modes is stopped by the kernel.
        if let Some(UserModes(of_user)) = &self.of_user
            && is_in_foreground(&self.terminal)
        {
            let of_program = program_modes(of_user.clone(), self.changes);
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &of_program);
        }
    }

    fn restore(&mut self) {
        let of_user = self.of_user.take();
        if let Some(of_user) = of_user.filter(|_| is_in_foreground(&self.terminal)) {
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

fn lock() -> MutexGuard<'static, Option<Changed>> {
    CHANGED.lock().unwrap_or_else(PoisonError::into_inner)
}
