//! Reading, listing and writing of files below a directory handle, without leaving it.
//!
//! Messages have paths in single quotes, the established wording of tool results.

pub(crate) mod list;
pub(crate) mod media;
pub(crate) mod open;
pub(crate) mod read;
pub(crate) mod sensitive;
pub(crate) mod temporary;
pub(crate) mod text;
pub(crate) mod write;

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::{ToolError, ToolErrorCode};

/// Converts an I/O error to a tool error with a virtual path. The text of the system error is not
/// used, since it could contain a host path.
pub(crate) fn io_error(error: &Error, display_path: &str) -> ToolError {
    let (code, message) = match error.kind() {
        ErrorKind::NotFound => (
            ToolErrorCode::NotFound,
            format!("path '{display_path}' not found"),
        ),
        ErrorKind::NotADirectory => (
            ToolErrorCode::NotADirectory,
            format!("cannot open '{display_path}': a parent is not a directory"),
        ),
        ErrorKind::IsADirectory => (
            ToolErrorCode::IsADirectory,
            format!("'{display_path}' is a directory"),
        ),
        ErrorKind::AlreadyExists => (
            ToolErrorCode::AlreadyExists,
            format!("'{display_path}' already exists"),
        ),
        ErrorKind::ReadOnlyFilesystem => (
            ToolErrorCode::ReadOnly,
            format!("cannot write '{display_path}': read-only file system"),
        ),
        // cap-std reports a path that leaves its directory with this kind.
        ErrorKind::PermissionDenied => (
            ToolErrorCode::PermissionDenied,
            format!(
                "cannot open '{display_path}': permission denied, or a symlink leaves its directory"
            ),
        ),
        // Too many symlinks, or a symlink that appeared during the walk.
        _ if is_loop(error) => (
            ToolErrorCode::PermissionDenied,
            format!("cannot open '{display_path}': its path contains a symlink"),
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            ToolErrorCode::TooLarge,
            format!("cannot write '{display_path}': no space left"),
        ),
        ErrorKind::InvalidFilename => (
            ToolErrorCode::InvalidPath,
            format!("invalid path '{display_path}': rejected by the file system"),
        ),
        kind => (
            ToolErrorCode::Internal,
            format!("cannot access '{display_path}': {kind}"),
        ),
    };
    code.error_at(display_path, message)
}

/// Returns a path with further components.
pub(crate) fn join_parts(
    base: &Path,
    parts: impl IntoIterator<Item = impl AsRef<Path>>,
) -> PathBuf {
    let mut path = base.to_owned();
    path.extend(parts);
    path
}

#[cfg(unix)]
fn is_loop(error: &Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32)
}

#[cfg(not(unix))]
fn is_loop(_error: &Error) -> bool {
    false
}
