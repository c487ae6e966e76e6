//! Files below a directory handle: looked at, listed, read and written without ever leaving it.

pub(crate) mod guard;
pub(crate) mod list;
pub(crate) mod media;
pub(crate) mod open;
pub(crate) mod read;
pub(crate) mod temporary;
pub(crate) mod text;
pub(crate) mod write;

use std::io::{Error, ErrorKind};

use crate::{Code, ToolError};

/// Says what a failed system call means for a virtual path. What the system says itself could name
/// a path of this machine.
pub(crate) fn failure(error: &Error, shown: &str) -> ToolError {
    let (code, message) = match error.kind() {
        ErrorKind::NotFound => (Code::NotFound, format!("path '{shown}' not found")),
        ErrorKind::NotADirectory => (
            Code::NotADirectory,
            format!("a part of '{shown}' is not a directory"),
        ),
        ErrorKind::IsADirectory => (Code::IsADirectory, format!("'{shown}' is a directory")),
        ErrorKind::AlreadyExists => (Code::AlreadyExists, format!("'{shown}' exists already")),
        ErrorKind::ReadOnlyFilesystem => (
            Code::ReadOnly,
            format!("'{shown}' lies on a file system that may only be read"),
        ),
        ErrorKind::PermissionDenied => (
            Code::PermissionDenied,
            format!("'{shown}' may not be opened, or a link leads out of its directory"),
        ),
        // Too many links, or one that came while the path was walked.
        _ if is_loop(error) => (
            Code::PermissionDenied,
            format!("a link on the way to '{shown}' is not followed"),
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            (Code::TooLarge, format!("no space is left for '{shown}'"))
        }
        ErrorKind::InvalidFilename => (
            Code::InvalidPath,
            format!("'{shown}' has a name that the file system does not take"),
        ),
        kind => (Code::Internal, format!("'{shown}' cannot be used: {kind}")),
    };
    ToolError::new(code, message).at(shown)
}

#[cfg(unix)]
fn is_loop(error: &Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32)
}

#[cfg(not(unix))]
fn is_loop(_error: &Error) -> bool {
    false
}
