//! Reads regular files, whatever else may be at their paths.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// What happens to a symlink at the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symlink {
    Follow,
    Reject,
}

/// Opens a regular file. Opening a pipe must not block, so the file is opened without blocking until
/// its type is known.
pub(crate) fn open(path: &Path, symlink: Symlink) -> io::Result<File> {
    // `NOCTTY`, so that a terminal at this path does not become the controlling terminal of the host.
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, symlink == Symlink::Reject);
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"))
    }
}

/// Returns the first bytes of a regular file, at most `max_bytes`.
pub(crate) fn read_start(path: &Path, symlink: Symlink, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, symlink)?
        .take(max_bytes)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
