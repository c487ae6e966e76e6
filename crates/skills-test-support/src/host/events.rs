//! Detects whether the system reports changes of files.
#![expect(unsafe_code, reason = "system calls")]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// The timeout for an event, in milliseconds.
const TIMEOUT_MS: i32 = 10_000;

/// Watches a directory, creates a file in it, and waits for the event.
pub(super) fn inotify() -> io::Result<()> {
    let directory = tempfile::tempdir()?;
    let path = CString::new(directory.path().as_os_str().as_bytes())?;
    // SAFETY: the descriptor is new, so nothing else owns it; the path is valid.
    let watch = unsafe {
        let watch = libc::inotify_init1(libc::IN_CLOEXEC);
        if watch < 0 {
            return Err(io::Error::last_os_error());
        }
        let watch = OwnedFd::from_raw_fd(watch);
        if libc::inotify_add_watch(watch.as_raw_fd(), path.as_ptr(), libc::IN_CREATE) < 0 {
            return Err(io::Error::last_os_error());
        }
        watch
    };
    fs::write(directory.path().join("file"), "")?;
    let mut poll = libc::pollfd {
        fd: watch.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the structure is valid, and there is one.
    match unsafe { libc::poll(&raw mut poll, 1, TIMEOUT_MS) } {
        1 => Ok(()),
        0 => Err(io::Error::other("a new file was not reported")),
        _ => Err(io::Error::last_os_error()),
    }
}
