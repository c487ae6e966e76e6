//! What the user types while a program runs.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::modes::{has_keys, is_in_foreground, resume_program_modes};

/// How often a command looks whether it was brought to the foreground, and whether another one
/// still uses the terminal.
const BACKGROUND_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// Reads keys until it is stopped. Later keys are for questions of this command, or for the shell.
pub(crate) struct Keys {
    terminal: OwnedFd,
    stopped: PipeReader,
    /// Whether the program has a terminal of its own. Without one it gets no keys.
    is_wanted: Arc<AtomicBool>,
}

/// Stops [`Keys`] when it is dropped.
pub(crate) struct StopKeys(#[expect(dead_code, reason = "closed on drop")] PipeWriter);

impl Keys {
    /// Returns the keys of a terminal, as soon as `is_wanted` is set.
    pub(crate) fn new(
        terminal: OwnedFd,
        is_wanted: Arc<AtomicBool>,
    ) -> io::Result<(Self, StopKeys)> {
        let (stopped, stop) = io::pipe()?;
        let keys = Self {
            terminal,
            stopped,
            is_wanted,
        };
        Ok((keys, StopKeys(stop)))
    }

    /// Waits for a key. Returns false if there will be none.
    fn wait(&self) -> io::Result<bool> {
        loop {
            // A command in the background that reads the terminal is stopped by the kernel.
            let is_first = is_in_foreground(&self.terminal) && has_keys();
            let (events, limit) = if is_first {
                (PollFlags::IN, None)
            } else {
                (PollFlags::empty(), Some(&BACKGROUND_INTERVAL))
            };
            let mut ready = [
                PollFd::new(&self.stopped, PollFlags::IN),
                PollFd::new(&self.terminal, events),
            ];
            match poll(&mut ready, limit) {
                Err(Errno::INTR) => continue,
                result => drop(result?),
            }
            if !ready[0].revents().is_empty() {
                return Ok(false);
            }
            if is_first && !ready[1].revents().is_empty() {
                return Ok(true);
            }
            resume_program_modes();
        }
    }
}

impl Read for Keys {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_wanted.load(Ordering::Relaxed) {
            return Ok(0);
        }
        loop {
            if !self.wait()? {
                return Ok(0);
            }
            match rustix::io::read(&self.terminal, &mut *buffer) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                result => return Ok(result?),
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn keys_after_the_end_are_left_to_the_next_reader() {
        let pty = nix::pty::openpty(None, None).unwrap();
        let mut user = std::fs::File::from(pty.master);
        let terminal = || pty.slave.try_clone().unwrap();
        let is_wanted = Arc::<AtomicBool>::default();
        let (mut keys, stop) = Keys::new(terminal(), Arc::clone(&is_wanted)).unwrap();
        let mut buffer = [0; 16];
        user.write_all(b"one\n").unwrap();
        // Without a terminal the program gets no keys.
        assert_eq!(keys.read(&mut buffer).unwrap(), 0);
        is_wanted.store(true, Ordering::Relaxed);
        assert_eq!(keys.read(&mut buffer).unwrap(), 4);
        user.write_all(b"answer\n").unwrap();
        drop(stop);
        assert_eq!(keys.read(&mut buffer).unwrap(), 0);
        let rest = std::fs::File::from(terminal()).read(&mut buffer).unwrap();
        assert_eq!(&buffer[..rest], b"answer\n");
    }
}
