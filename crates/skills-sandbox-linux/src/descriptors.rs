//! Descriptors for a child: owned by the host process, used by the child by their numbers.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::pipe2;
use skills_sandbox::SandboxError;

/// Owns descriptors that the child uses by their numbers.
#[derive(Default)]
pub(crate) struct Descriptors(Vec<OwnedFd>);

impl Descriptors {
    pub(crate) fn keep(&mut self, descriptor: OwnedFd) -> RawFd {
        let number = descriptor.as_raw_fd();
        self.0.push(descriptor);
        number
    }

    /// Keeps copies, since the cgroup of a cancelled run is dropped while its child waits in the
    /// queue of the spawner thread; the numbers must not be reused for other files until then.
    pub(crate) fn keep_copies(&mut self, files: &[OwnedFd]) -> Result<Vec<RawFd>, SandboxError> {
        files
            .iter()
            .map(|file| Ok(self.keep(file.try_clone().map_err(pipe_error)?)))
            .collect()
    }

    /// Returns them.
    pub(crate) fn into_owned(self) -> Vec<OwnedFd> {
        self.0
    }
}

/// Creates a pipe. Its ends close on exec and are above the three standard descriptors, even in a
/// host that closed those: the child moves its streams to 0, 1 and 2, and must not overwrite a
/// descriptor that it still needs.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).map_err(pipe_error)?;
    Ok((above_standard(reader)?, above_standard(writer)?))
}

/// Creates the pair of sockets for descriptors, and returns the child's end and the parent's. They
/// are streams: the kernel queues any number of bytes, and a read ends at each descriptor.
pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let (child_end, parent_end) =
        socketpair(AddressFamily::Unix, SockType::Stream, None, flags).map_err(pipe_error)?;
    Ok((above_standard(child_end)?, above_standard(parent_end)?))
}

#[expect(
    unsafe_code,
    reason = "the wrapper returns the new descriptor as a bare number"
)]
pub(crate) fn above_standard(descriptor: OwnedFd) -> Result<OwnedFd, SandboxError> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    let copy = fcntl(&descriptor, FcntlArg::F_DUPFD_CLOEXEC(3)).map_err(pipe_error)?;
    // SAFETY: the descriptor was just created, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

pub(crate) fn pipe_error(error: impl Into<io::Error>) -> SandboxError {
    SandboxError::setup("creating pipes", error.into())
}
