//! Opens directories and regular files below a directory handle.

use std::io::Read;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use crate::error::{DiscoveryError, Repr};

/// Opens a directory by its path: the one place where a path, not a handle, leads to files.
pub(crate) fn open_root(path: &Path) -> Result<Dir, DiscoveryError> {
    Dir::open_ambient_dir(path, ambient_authority()).map_err(DiscoveryError::from_io)
}

/// Opens a regular file of at most `max_bytes` bytes. Never blocks on a FIFO, never leaves `directory`.
pub(crate) fn open_regular(directory: &Dir, path: &Path, max_bytes: u64) -> Result<File, DiscoveryError> {
    let mut options = OpenOptions::new();
    options.read(true);
    never_block(&mut options);
    let file = directory.open_with(path, &options).map_err(DiscoveryError::from_io)?;
    let metadata = file.metadata().map_err(DiscoveryError::from_io)?;
    if !metadata.is_file() {
        return Err(Repr::NotRegular.into());
    }
    if metadata.len() > max_bytes {
        return Err(Repr::TooLarge { bytes: metadata.len(), limit: max_bytes }.into());
    }
    Ok(file)
}

/// Reads `file` until `buffer` holds `length` bytes or the file ends; says whether it ended.
pub(crate) fn fill(file: &mut File, buffer: &mut Vec<u8>, length: usize) -> Result<End, DiscoveryError> {
    let wanted = length.saturating_sub(buffer.len()) as u64;
    let read = file.take(wanted).read_to_end(buffer).map_err(DiscoveryError::from_io)? as u64;
    Ok(if read < wanted { End::Reached } else { End::NotReached })
}

/// Whether a file was read to its end.
#[derive(PartialEq)]
pub(crate) enum End {
    Reached,
    NotReached,
}

/// Opening a FIFO for reading waits for a writer; what was opened is checked afterwards, on the handle.
#[cfg(unix)]
fn never_block(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
}

#[cfg(not(unix))]
fn never_block(_options: &mut OpenOptions) {}
