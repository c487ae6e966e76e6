//! Files below a directory handle: looked at, listed, read and written without ever leaving it.

pub(crate) mod list;
pub(crate) mod media;
pub(crate) mod open;
pub(crate) mod read;
pub(crate) mod sensitive;
pub(crate) mod temporary;
pub(crate) mod text;
pub(crate) mod write;

use std::io::{Error, ErrorKind};

use crate::{ToolError, ToolErrorCode};

/// Says what a failed system call means for a virtual path. What the system says itself could name
/// a path of this machine.
pub(crate) fn io_error(error: &Error, shown: &str) -> ToolError {
    let (code, message) = match error.kind() {
        ErrorKind::NotFound => (ToolErrorCode::NotFound, format!("path '{shown}' not found")),
        ErrorKind::NotADirectory => (
            ToolErrorCode::NotADirectory,
            format!("a part of '{shown}' is not a directory"),
        ),
        ErrorKind::IsADirectory => (
            ToolErrorCode::IsADirectory,
            format!("'{shown}' is a directory"),
        ),
        ErrorKind::AlreadyExists => (
            ToolErrorCode::AlreadyExists,
            format!("'{shown}' exists already"),
        ),
        ErrorKind::ReadOnlyFilesystem => (
            ToolErrorCode::ReadOnly,
            format!("'{shown}' lies on a file system that may only be read"),
        ),
        ErrorKind::PermissionDenied => (
            ToolErrorCode::PermissionDenied,
            format!("'{shown}' may not be opened, or a link leads out of its directory"),
        ),
        // Too many links, or one that came while the path was walked.
        _ if is_loop(error) => (
            ToolErrorCode::PermissionDenied,
            format!("a link on the way to '{shown}' is not followed"),
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            ToolErrorCode::TooLarge,
            format!("no space is left for '{shown}'"),
        ),
        ErrorKind::InvalidFilename => (
            ToolErrorCode::InvalidPath,
            format!("'{shown}' has a name that the file system does not take"),
        ),
        kind => (
            ToolErrorCode::Internal,
            format!("'{shown}' cannot be used: {kind}"),
        ),
    };
    ToolError::new(code, message).with_path(shown)
}

#[cfg(unix)]
fn is_loop(error: &Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32)
}

#[cfg(not(unix))]
fn is_loop(_error: &Error) -> bool {
    false
}
