//! Reads from and writes to the master side of a terminal, which does not block.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, ReadBuf};

/// Reads what a program writes to its terminal. The end comes when no process has it open, also not
/// this one.
pub(super) struct TerminalReader(AsyncFd<OwnedFd>);

impl TerminalReader {
    pub(super) fn new(master: AsyncFd<OwnedFd>) -> Self {
        Self(master)
    }
}

impl AsyncRead for TerminalReader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            let read = ready.try_io(|master| {
                let free = buffer.initialize_unfilled();
                Ok(rustix::io::read(master.get_ref(), free)?)
            });
            return Poll::Ready(match read {
                Ok(Ok(length)) => {
                    buffer.advance(length);
                    Ok(())
                }
                // That is how the kernel reports the end.
                Ok(Err(error)) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => Ok(()),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(Err(error)) => Err(error),
                Err(_would_block) => continue,
            });
        }
    }
}

/// Types an input stream into a terminal until one of them ends, on a thread of its own.
pub(super) fn forward_input(master: OwnedFd, mut input: Box<dyn Read + Send>) -> io::Result<()> {
    let mut master = TerminalWriter(master);
    skills_threads::spawn("program-input", move || io::copy(&mut input, &mut master))?;
    Ok(())
}

/// Writes to a terminal that does not block.
struct TerminalWriter(OwnedFd);

impl Write for TerminalWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.0, bytes) {
                Err(Errno::AGAIN) => {
                    let mut master = [PollFd::new(&self.0, PollFlags::OUT)];
                    match poll(&mut master, None) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                result => return Ok(result?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
