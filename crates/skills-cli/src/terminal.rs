//! The terminal of the user: what a program may do with it, its modes while a program runs, and its
//! keys.

mod filter;
#[cfg(unix)]
mod keys;
#[cfg(unix)]
mod lock;
#[cfg(unix)]
mod modes;
mod screen;
#[cfg(unix)]
mod window;

pub(crate) use filter::TerminalFilter;
#[cfg(unix)]
pub(crate) use keys::{Keys, StopKeys};
#[cfg(unix)]
pub(crate) use lock::TerminalLock;
#[cfg(unix)]
pub(crate) use modes::{
    ModeChanges, UserModes, enter_program_modes, is_in_foreground, suspend_program_modes,
};
pub(crate) use modes::{end_program_modes, leave_program_modes};
#[cfg(unix)]
pub(crate) use window::{follow_window, window_size};

/// There are no modes to restore.
#[cfg(not(unix))]
mod modes {
    pub(crate) fn leave_program_modes() {}
    pub(crate) fn end_program_modes() {}
}
