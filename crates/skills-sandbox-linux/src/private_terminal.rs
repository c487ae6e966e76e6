//! The terminal of a program, opened by the host process.
//!
//! The program gets the slave side only, and it is a terminal of its own: the kernel lets no
//! process change the modes, the size or the input of another terminal through it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, unlockpt};
use nix::sys::termios::{InputFlags, SetArg, tcgetattr, tcsetattr};
use skills_process::{InputEnd, OutputEnd};
use skills_sandbox::{ProgramTerminal, SandboxError, TerminalSize, TerminalStreams};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A new terminal. The master side does not block.
pub(crate) struct PrivateTerminal {
    master: OwnedFd,
    /// A further descriptor of the slave side.
    slave: OwnedFd,
    pub(crate) streams: TerminalStreams,
}

impl PrivateTerminal {
    /// Opens a terminal of the requested size, and returns it with its slave side.
    ///
    /// # Errors
    /// Fails if the host has no terminals, or none is left.
    pub(crate) fn open(requested: &ProgramTerminal) -> Result<(Self, OwnedFd), SandboxError> {
        let opened = open_pair(requested.size())
            .and_then(|(master, slave)| Ok((master, slave.try_clone()?, slave)));
        let (master, kept, slave) =
            opened.map_err(|error| SandboxError::setup("opening a terminal", error))?;
        requested.opened(slave.as_fd());
        let terminal = Self {
            master,
            slave: kept,
            streams: requested.program_streams(),
        };
        Ok((terminal, slave))
    }

    /// Returns a further descriptor of the master side.
    pub(crate) fn try_clone(&self) -> io::Result<OwnedFd> {
        self.master.try_clone()
    }

    /// Returns where the program's input is written, if it is the terminal.
    pub(crate) fn input_end(&self) -> io::Result<InputEnd> {
        self.try_clone().map(InputEnd::Terminal)
    }

    /// Registers the master side with Tokio, to read what the program prints.
    #[expect(
        unsafe_code,
        reason = "registering a descriptor with Tokio is unsafe in general"
    )]
    pub(crate) fn into_output_end(self) -> io::Result<OutputEnd> {
        // SAFETY: an `OwnedFd` is open as long as it lives, always names the same descriptor, and
        // the `AsyncFd` owns it.
        let registered =
            unsafe { AsyncFd::<OwnedFd>::register_with_interest(self.master, Interest::READABLE) };
        Ok(OutputEnd::Terminal {
            master: registered.map_err(io::Error::from)?,
            slave: Some(self.slave),
        })
    }
}

/// Awaits a run, while its terminal gets the size of that of the caller.
pub(crate) async fn with_size<T>(
    run: impl Future<Output = T>,
    terminal: Option<(&ProgramTerminal, &OwnedFd)>,
) -> T {
    let Some((requested, master)) = terminal else {
        return run.await;
    };
    tokio::select! {
        biased;
        result = run => result,
        // A terminal that cannot be resized keeps its size.
        never = requested.follow_size(|size| drop(set_size(master, size))) => match never {},
    }
}

fn open_pair(size: TerminalSize) -> io::Result<(OwnedFd, OwnedFd)> {
    // Never that of the host process, and not inherited by other programs that it starts.
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let master = posix_openpt(flags | OFlag::O_NONBLOCK)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let master = OwnedFd::from(master);
    let slave = open_slave(&master, flags)?;
    let mut modes = tcgetattr(&slave)?;
    // Backspace removes a whole character.
    modes.input_flags |= InputFlags::IUTF8;
    tcsetattr(&slave, SetArg::TCSANOW, &modes)?;
    set_size(&master, size)?;
    Ok((master, slave))
}

/// Opens the slave side without its path, which may be that of another terminal in a container.
#[expect(unsafe_code, reason = "this command of a terminal has no safe form")]
fn open_slave(master: &OwnedFd, flags: OFlag) -> io::Result<OwnedFd> {
    // SAFETY: the command takes flags and returns a new descriptor, which nothing else owns.
    unsafe {
        let slave = libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags.bits());
        if slave < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(slave))
    }
}

#[expect(unsafe_code, reason = "this command of a terminal has no safe form")]
fn set_size(master: &OwnedFd, size: TerminalSize) -> io::Result<()> {
    let size = libc::winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the command reads a local structure.
    let result = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
