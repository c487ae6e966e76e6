//! Permission bits of files, which other systems than Unix do not have.

use std::path::Path;

/// Returns true if users other than the owner can read a file.
pub(crate) fn is_readable_by_others(path: &Path) -> bool {
    mode(path) & 0o044 != 0
}

/// Returns true if the mode of a file lets any user execute it; always where files have no mode.
pub(crate) fn has_execute_bit(path: &Path) -> bool {
    cfg!(not(unix)) || mode(path) & 0o111 != 0
}

/// Returns the permission bits of a file, or 0 if they cannot be read.
#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt;
    path.metadata().map_or(0, |metadata| metadata.mode())
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> u32 {
    0
}
