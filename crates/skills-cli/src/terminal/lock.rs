//! The exclusive use of a terminal, among all commands of its user.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::termios::tcgetpgrp;
use skills_store::lock_with_timeout;

/// The controlling terminal of any process.
const CONTROLLING: &str = "/dev/tty";

/// The exclusive use of a terminal, for a question or for the keys of a program. It ends when it is
/// dropped, or with the process.
pub(crate) struct TerminalLock(File);

impl TerminalLock {
    /// Returns `None` if the terminal is locked.
    ///
    /// # Errors
    /// Fails if the terminal cannot be opened again.
    pub(super) fn try_acquire(terminal: impl AsFd) -> io::Result<Option<Self>> {
        let file = reopen(terminal.as_fd())?;
        Ok(lock_with_timeout(&file, Duration::ZERO)?.then_some(Self(file)))
    }

    /// Waits until the terminal is not locked, after a call of `report`.
    ///
    /// # Errors
    /// Fails if the terminal cannot be opened again.
    pub(crate) fn acquire(terminal: impl AsFd, report: impl FnOnce()) -> io::Result<Self> {
        let file = reopen(terminal.as_fd())?;
        if !lock_with_timeout(&file, Duration::ZERO)? {
            report();
            file.lock()?;
        }
        Ok(Self(file))
    }
}

impl Drop for TerminalLock {
    fn drop(&mut self) {
        // A child that was forked meanwhile has a copy of the descriptor until it executes a
        // program.
        let _ = self.0.unlock();
    }
}

/// Opens the terminal of a descriptor again: the descriptors that a shell passes on are one open
/// file, which has one lock.
fn reopen(terminal: BorrowedFd<'_>) -> io::Result<File> {
    if tcgetpgrp(terminal).is_err() {
        return open(&path_of(terminal)?);
    }
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    let descriptors = [terminal, input.as_fd(), output.as_fd(), errors.as_fd()];
    let controlling = descriptors.into_iter().filter(|fd| tcgetpgrp(fd).is_ok());
    let mut files = controlling.filter_map(|fd| open(&path_of(fd).ok()?).ok());
    // The file of another user after `su`, for example, can only be locked by this name, together
    // with all such terminals. This also excludes other commands.
    let own = files.find(|file| !is_of_all_terminals(file));
    own.map_or_else(|| open(Path::new(CONTROLLING)), Ok)
}

/// Returns true for `/dev/tty`, which is one file for all terminals.
fn is_of_all_terminals(file: &File) -> bool {
    let device = |metadata: io::Result<std::fs::Metadata>| metadata.ok().map(|found| found.rdev());
    device(file.metadata()) == device(std::fs::metadata(CONTROLLING))
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    #[expect(
        clippy::disallowed_methods,
        reason = "the terminal is not a file of a skill"
    )]
    options.open(path)
}

/// Returns a path that opens the terminal of a descriptor, also one that has no name here.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "it fails on other systems")]
fn path_of(terminal: BorrowedFd<'_>) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    Ok(format!("/proc/self/fd/{}", terminal.as_raw_fd()).into())
}

#[cfg(not(target_os = "linux"))]
fn path_of(terminal: BorrowedFd<'_>) -> io::Result<PathBuf> {
    Ok(nix::unistd::ttyname(terminal)?)
}
